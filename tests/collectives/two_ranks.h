#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/collectives/planes.h"

namespace muster::comm::collective::shared {

using Bytes = std::vector<std::byte>;

// One that is lent in the first call already, where ranks may lend.
inline constexpr std::size_t kBlock = std::size_t{256} << 10;

inline Call call_of(collective::Operation operation, std::size_t count, const std::byte* input,
                    std::byte* output) {
  Call call;
  call.operation = operation;
  call.element = Element::u8;
  call.count = count;
  call.input = input;
  call.output = output;
  return call;
}

/// Two ranks, threads of this process.
class TwoRanks : public testing::Test {
 protected:
  void make(bool lends) {
    first_ = plane_of(file_.get(), 0, 2, lends);
    second_ = plane_of(file_.get(), 1, 2, lends, [this] {
      if (const auto step = std::exchange(before_second_speaks_, nullptr)) step();
    });
  }
  /// Both do it, and it goes well.
  void run_on_both(const Call& first, const Call& second) const {
    const auto run = [](SharedPlane& plane, const Call& call) {
      const auto result = plane.run(call, 0, std::chrono::seconds(30));
      EXPECT_TRUE(result) << result.error().message();
    };
    std::thread thread([&] { run(*first_, first); });
    run(*second_, second);
    thread.join();
  }

  const FileDescriptor file_ = segment_for(2);
  std::function<void()> before_second_speaks_;  // the next time
  std::shared_ptr<SharedPlane> first_;
  std::shared_ptr<SharedPlane> second_;
};

}  // namespace muster::comm::collective::shared
