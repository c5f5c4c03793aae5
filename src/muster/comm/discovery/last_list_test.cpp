#include "muster/comm/discovery/last_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::comm {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

const TimePoint kStart{seconds(100)};
constexpr Duration kLease = seconds(3);

struct LastListTest : testing::Test {
  std::vector<Entry> note(const char* version, const char* begun, std::vector<Entry> entries,
                          Duration later) {
    list.note(version, begun, entries, kLease, kStart + later);
    return entries;
  }

  LastList list;
  Entry adam = local_entry("adam", "actor");
  Entry zoe = local_entry("zoe", "actor");
};

TEST_F(LastListTest, SortsByNameAndKeepsTheVersion) {
  EXPECT_THAT(note("7", "x", {zoe, adam}, seconds(0)), ElementsAre(adam, zoe));
  EXPECT_EQ(list.version(), "7");
  EXPECT_EQ(list.begun(), "x");
}

TEST_F(LastListTest, WhoeverLeavesIsGoneAtOnce) {
  note("1", "x", {adam, zoe}, seconds(0));
  EXPECT_THAT(note("2", "x", {zoe}, seconds(0)), ElementsAre(zoe));
}

TEST_F(LastListTest, WhatAnEmptiedServerForgotStaysForALease) {
  note("1", "x", {adam, zoe}, seconds(0));
  EXPECT_THAT(note("1", "y", {}, seconds(1)), ElementsAre(adam, zoe));
  const Entry back = local_entry("zoe", "actor");
  EXPECT_THAT(note("2", "y", {back}, seconds(2)), ElementsAre(adam, back));
  EXPECT_THAT(note("3", "y", {back}, seconds(5)), ElementsAre(back));
}

}  // namespace
}  // namespace muster::comm
