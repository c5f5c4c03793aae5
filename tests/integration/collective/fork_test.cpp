#include <algorithm>
#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "tests/integration/collective/demand.h"
#include "tests/integration/collective/processes.h"
#include "tests/integration/collective/ranks.h"
#include "tests/support/child.h"

// A child process has a copy of all that its parent has of a group, and must not touch it.

namespace muster::comm {
namespace {

constexpr Duration kSoon = std::chrono::seconds(30);

class ForkOn : public OnPlanes {};

/// In a child process of a rank, which goes on when that has ended.
void in_child(const std::function<void()>& body) {
  test::Child child([&] { as_process(body); });
  demand(child.wait() == 0, "the child ends well");
}

void demand_forked(Handle& handle) {
  demand(handle.wait(kSoon).error().is(Errc::forked), "wait in a child");
  demand(handle.test().error().is(Errc::forked), "test in a child");
}

TEST_P(ForkOn, ACallGoesOnWhoseHandleAChildUsesAndLetsGo) {
  for (const int tag : {0, kTagWithoutChannel}) {
    as_processes(2, [&](int rank) {
      Group group = join_or_throw(options(2, rank));
      use_up_channels(group);
      std::vector<int> data(4, rank + 1);
      if (rank == 0) {
        Handle handle = demand(group.iallreduce(data, {}, {.tag = tag}), "start");
        in_child([&] {
          Handle taken = std::move(handle);
          demand_forked(taken);
        });
        require(group.send(1, data, {.timeout = kSoon}));
        require(handle.wait(kSoon));
      } else {
        require(group.recv(0, std::span(data), {.timeout = kSoon}));
        std::fill(data.begin(), data.end(), rank + 1);
        require(group.allreduce(data, {}, {.tag = tag, .timeout = kSoon}));
      }
      demand(data == std::vector<int>(4, 3), "the sum is right");
      require(group.barrier({.timeout = kSoon}));
    });
  }
}

TEST_P(ForkOn, AReceiveGoesOnWhoseHandleAChildUsesAndLetsGo) {
  as_processes(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    std::vector<int> data(4, rank);
    if (rank == 0) {
      Handle handle = demand(group.irecv(1, data), "start");
      in_child([&] {
        Handle taken = std::move(handle);
        demand_forked(taken);
      });
      require(group.barrier({.timeout = kSoon}));
      require(handle.wait(kSoon));
      demand(data == std::vector<int>(4, 1), "what was sent is there");
    } else {
      require(group.barrier({.timeout = kSoon}));
      require(group.send(0, data, {.timeout = kSoon}));
    }
    require(group.barrier({.timeout = kSoon}));
  });
}

TEST_P(ForkOn, MemoryStaysThatAChildLetsGo) {
  as_processes(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    WritableBuffer memory = demand(group.allocate(1 << 20), "allocate");
    std::fill(memory.bytes.begin(), memory.bytes.end(), std::byte{5});
    in_child([&] { memory = {}; });
    demand(std::all_of(memory.bytes.begin(), memory.bytes.end(),
                       [](std::byte byte) { return byte == std::byte{5}; }),
           "what was written is there");
    require(group.barrier({.timeout = kSoon}));
  });
}

TEST_P(ForkOn, AChildLetsGoOfWhatIsLeftOfAGroup) {
  as_processes(2, [&](int rank) {
    std::optional<Group> group = join_or_throw(options(2, rank));
    Handle handle = demand(group->ibarrier({.tag = kTagWithoutChannel}), "start");
    require(handle.wait(kSoon));
    group.reset();
    in_child([&] { handle = Handle(); });
  });
}

INSTANTIATE_TEST_SUITE_P(Planes, ForkOn, kEveryPlane, testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
