#include "muster/comm/message/session_ids.h"

#include <span>

#include <gtest/gtest.h>

namespace muster::comm {
namespace {

SessionId id(std::uint64_t number) { return {InstanceId(7), number}; }

TEST(SessionIds, HoldsAnyNumberInOrder) {
  SessionIds ids;
  EXPECT_TRUE(ids.empty());
  for (std::uint64_t i = 1; i < 5; ++i) {
    ids.push_back(id(i));
    ASSERT_EQ(ids.size(), i);
    EXPECT_EQ(ids.front(), id(1));
    EXPECT_EQ(ids.back(), id(i));
    std::uint64_t next = 1;
    for (const SessionId& one : ids) EXPECT_EQ(one, id(next++));
    EXPECT_EQ(next, i + 1);
  }
}

TEST(SessionIds, IsASpanAndAVectorToThoseWhoWantOne) {
  SessionIds ids;
  ids.push_back(id(1));
  ids.push_back(id(2));
  const std::span<const SessionId> span = ids;
  EXPECT_EQ(span.size(), 2u);
  const std::vector<SessionId> vector = ids;
  EXPECT_EQ(vector, (std::vector{id(1), id(2)}));
}

TEST(SessionIds, CopiesAndMovesWithItsOwnMemory) {
  SessionIds one;
  one.push_back(id(1));
  const SessionIds copy = one;
  one.push_back(id(2));
  EXPECT_EQ(copy.size(), 1u);
  EXPECT_EQ(copy[0], id(1));
  const SessionIds moved = std::move(one);
  EXPECT_EQ(moved[1], id(2));
}

}  // namespace
}  // namespace muster::comm
