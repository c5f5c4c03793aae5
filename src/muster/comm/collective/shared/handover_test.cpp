#include "muster/comm/collective/shared/handover.h"

#include <string>

#include <gtest/gtest.h>

#include "muster/comm/collective/shared/segment.h"
#include "muster/comm/errc.h"
#include "tests/support/no_descriptors.h"

namespace muster::comm::collective::shared {
namespace {

Result<Handover> open_for(int ranks) {
  auto segment = Segment::create(ranks);
  if (!segment) return fail(segment.error());
  return Handover::open(*std::move(segment), ranks);
}

Result<void> ask_no_more(Duration /*pause*/) { return fail(Errc::timeout, "it was asked again"); }

TEST(Handover, GivesTheSegmentToThoseWhoKnowTheSecret) {
  auto handover = open_for(2);
  ASSERT_TRUE(handover) << handover.error().message();
  const auto serve = [&](Duration pause) -> Result<void> {
    static_cast<void>(handover->serve(pause));
    return {};
  };
  const auto fetched = fetch_segment(handover->counter(), 1, serve);
  ASSERT_TRUE(fetched) << fetched.error().message();
  EXPECT_TRUE(Segment::map(FileDescriptor(::dup(fetched->get())), 1, 2));
  EXPECT_TRUE(handover->serve(Duration::zero())) << "somebody is still to come";
}

TEST(Handover, GivesNothingToThoseWhoDoNot) {
  auto handover = open_for(2);
  ASSERT_TRUE(handover) << handover.error().message();
  Counter counter = handover->counter();
  ++counter.token[1];
  int left = 20;
  const auto serve = [&](Duration pause) -> Result<void> {
    EXPECT_FALSE(handover->serve(pause));
    return --left > 0 ? Result<void>{} : ask_no_more(pause);
  };
  const auto fetched = fetch_segment(counter, 1, serve);
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().message(), "it was asked again");
}

TEST(Handover, IsTriedAgainAfterAPauseWhereNobodyListens) {
  Counter gone;
  {
    const auto handover = open_for(2);
    ASSERT_TRUE(handover) << handover.error().message();
    gone = handover->counter();
  }
  int asked = 0;
  const auto fetched = fetch_segment(gone, 1, [&](Duration pause) -> Result<void> {
    EXPECT_GT(pause, Duration::zero());
    return ++asked < 3 ? Result<void>{} : ask_no_more(pause);
  });
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().message(), "it was asked again");
}

TEST(Handover, IsNotTriedAgainWhereThatCannotHelp) {
  Counter counter;
  counter.socket = std::string(500, 'x');  // no socket has such a name
  const auto fetched = fetch_segment(counter, 1, ask_no_more);
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code(), std::errc::invalid_argument);
  EXPECT_TRUE(fetched.error().message().starts_with("fetch the group's memory from rank 0: "))
      << fetched.error().message();
}

TEST(Handover, SaysThatNoDescriptorIsFree) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "UBSan looks at objects through a pipe, and takes its absence for a bad object";
#endif
  auto handover = open_for(2);
  ASSERT_TRUE(handover) << handover.error().message();
  const test::NoDescriptors none;
  const auto fetched = fetch_segment(handover->counter(), 1, ask_no_more);
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code(), std::errc::too_many_files_open) << fetched.error().message();
}

}  // namespace
}  // namespace muster::comm::collective::shared
