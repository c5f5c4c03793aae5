#include "muster/service/protocol/failure.h"

#include <gtest/gtest.h>

namespace muster::service {
namespace {

using engine::Wrong;

TEST(Failure, KeepsItsKindOnTheWay) {
  for (const Wrong wrong : {Wrong::value, Wrong::type, Wrong::index, Wrong::zero_division,
                            Wrong::linalg, Wrong::memory, Wrong::overflow, Wrong::timeout}) {
    const Failure read = read_failure(failure_text(wrong, "[inv] singular: row 3"));
    EXPECT_EQ(read.wrong, wrong);
    EXPECT_EQ(read.text, "[inv] singular: row 3");
  }
}

TEST(Failure, IsFoundInTheReportOfTheScheduler) {
  const Failure read = read_failure(
      "[inv] task 3 of session 7 failed on worker 1 (tried 4 times): LinAlgError: singular");
  EXPECT_EQ(read.wrong, Wrong::linalg);
  EXPECT_EQ(read.text,
            "singular\n  in [inv] task 3 of session 7 failed on worker 1 (tried 4 times)");
}

TEST(Failure, OfNoKnownKindIsARuntimeError) {
  const Failure read = read_failure("graph 3 was refused: chunk 4 was released");
  EXPECT_EQ(read.wrong, Wrong::other);
  EXPECT_EQ(kind_of(read.wrong), "RuntimeError");
  EXPECT_EQ(read.text, "graph 3 was refused: chunk 4 was released");
}

}  // namespace
}  // namespace muster::service
