#include "muster/base/result.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Error, CarriesItsCodeAndASentence) {
  const Result<int> result = fail(std::errc::timed_out, "no reply within 3 s");
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is(std::errc::timed_out));
  EXPECT_EQ(result.error().within("join").message(), "join: no reply within 3 s");
}

TEST(Error, NamesASystemCall) {
  EXPECT_EQ(system_error(ENOENT, "open '/x'").message(), "open '/x': No such file or directory");
}

}  // namespace
}  // namespace muster
