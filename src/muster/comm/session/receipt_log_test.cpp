#include "muster/comm/session/receipt_log.h"

#include <string>

#include <gtest/gtest.h>

namespace muster::comm {
namespace {

const PeerId kA(0);
const PeerId kB(1);

SessionId session(std::uint64_t number) { return {InstanceId(1), number}; }

TEST(ReceiptLog, TellsOnceWhoOwedAReceiptThatWillNotCome) {
  ReceiptLog log;
  for (std::uint64_t i = 0; i < 1000; ++i) log.add(session(i), i % 2 == 0 ? kA : kB);
  log.settle(session(10), kA);
  EXPECT_EQ(log.take_lost(session(12)), std::nullopt) << "it may still come";
  log.lose(kA, "a");
  EXPECT_EQ(log.take_lost(session(10)), std::nullopt) << "it came";
  EXPECT_EQ(log.take_lost(session(11)), std::nullopt) << "b may still send it";
  EXPECT_EQ(log.take_lost(session(12)), Name("a"));
  EXPECT_EQ(log.take_lost(session(12)), std::nullopt);
}

TEST(ReceiptLog, TellsARepeatedReceiptFromOneThatNobodyWaitsFor) {
  ReceiptLog log;
  log.add(session(1), kA);
  EXPECT_EQ(log.settle(session(1), kA), ReceiptLog::Receipt::awaited);
  EXPECT_EQ(log.settle(session(1), kA), ReceiptLog::Receipt::repeated);
  EXPECT_EQ(log.settle(session(2), kA), ReceiptLog::Receipt::unknown);
  EXPECT_EQ(log.settle(session(1), kB), ReceiptLog::Receipt::unknown);
}

TEST(ReceiptLog, KeepsApartWhatAPeerOwesAfterItCameBack) {
  ReceiptLog log;
  log.add(session(1), kA);
  log.lose(kA, "a");
  log.add(session(2), kA);
  EXPECT_EQ(log.take_lost(session(2)), std::nullopt);
  EXPECT_EQ(log.take_lost(session(1)), Name("a"));
}

TEST(ReceiptLog, NamesEachOfThoseWhoOweReceiptsOfABroadcast) {
  ReceiptLog log;
  log.add(session(1), kA);
  log.add(session(1), kB);
  log.lose(kA, "a");
  log.lose(kB, "b");
  EXPECT_EQ(log.take_lost(session(1)), Name("a"));
  EXPECT_EQ(log.take_lost(session(1)), Name("b"));
  EXPECT_EQ(log.take_lost(session(1)), std::nullopt);
}

TEST(ReceiptLog, NamesEachOfHundredsThatAreLostTogether) {
  ReceiptLog log;
  constexpr std::uint32_t kPeers = 1000;
  for (std::uint32_t peer = 0; peer < kPeers; ++peer) log.add(session(peer), PeerId(peer));
  for (std::uint32_t peer = 0; peer < kPeers; ++peer)
    log.lose(PeerId(peer), "peer " + std::to_string(peer));
  for (std::uint32_t peer = 0; peer < kPeers; ++peer)
    EXPECT_EQ(log.take_lost(session(peer)), Name("peer " + std::to_string(peer)));
  EXPECT_FALSE(log.has_lost()) << "all was told";
}

TEST(ReceiptLog, HasNothingToTellOfAPeerThatOwedNothing) {
  ReceiptLog log;
  log.add(session(1), kA);
  log.settle(session(1), kA);
  log.lose(kA, "a");
  EXPECT_FALSE(log.has_lost());
}

TEST(ReceiptLog, StaysSmallWhenNobodyEverSendsReceipts) {
  ReceiptLog log;
  const std::uint64_t count = ReceiptLog::kSessions * (ReceiptLog::kMostBlocks + 1000);
  for (std::uint64_t i = 0; i < count; ++i) log.add(session(i), kA);
  EXPECT_EQ(log.blocks(), ReceiptLog::kMostBlocks);
  log.lose(kA, "a");
  EXPECT_EQ(log.blocks(), 0u);
  EXPECT_EQ(log.take_lost(session(0)), std::nullopt) << "long forgotten";
  EXPECT_EQ(log.take_lost(session(count - 1)), Name("a"));
  EXPECT_EQ(log.take_lost(session(count / 2)), Name("a"));
}

}  // namespace
}  // namespace muster::comm
