#include "muster/comm/collective/shared/tally.h"

#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

namespace muster::comm::collective::shared {
namespace {

Signature call_of(std::uint64_t count) {
  Signature signature;
  signature.operation = Operation::allreduce;
  signature.root = static_cast<std::int16_t>(count % 100);
  signature.count = count;
  return signature;
}

TEST(Tally, HasNothingAtFirst) { EXPECT_EQ(Tally().read(), Finished()); }

TEST(Tally, SaysHowManyCallsThereWereAndWhatTheLastOneWas) {
  Tally tally;
  for (std::uint64_t i = 1; i <= 3; ++i) tally.count(call_of(i));
  EXPECT_EQ(tally.read(), (Finished{3, std::bit_cast<SignatureWords>(call_of(3))}));
}

TEST(Tally, WhoReadsItSeesOneCallAndNotPartsOfTwo) {
  Tally tally;
  const std::jthread counts([&](const std::stop_token& stop) {
    for (std::uint64_t i = 1; !stop.stop_requested(); ++i) tally.count(call_of(i));
  });
  while (tally.read().calls == 0) std::this_thread::yield();
  for (int i = 0; i < 100'000; ++i) {
    const Finished finished = tally.read();
    ASSERT_EQ(finished.last, std::bit_cast<SignatureWords>(call_of(finished.calls)));
  }
}

}  // namespace
}  // namespace muster::comm::collective::shared
