#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/group.h"
#include "muster/comm/errc.h"
#include "tests/integration/collective/processes.h"
#include "tests/integration/collective/ranks.h"

// All ranks of a group choose algorithms by the same table.

namespace muster::comm {
namespace {

constexpr Duration kSoon = std::chrono::seconds(20);

void choose_by(const char* table) { ::setenv("MUSTER_COLLECTIVES", table, 1); }

class TableOn : public OnPlanes {
 protected:
  GroupOptions options(int size, int rank) const {
    GroupOptions options = OnPlanes::options(size, rank);
    options.join_timeout = kSoon;
    return options;
  }
};

template <class T>
void demand_refusal(const Result<T>& made, int rank) {
  demand(!made, "it was made");
  const std::string& text = made.error().message();
  demand(made.error().is(Errc::mismatch), "another error: " + text);
  demand(text.find(fmt::format("rank {} ", rank)) != std::string::npos, "not named: " + text);
  demand(text.find("MUSTER_COLLECTIVES") != std::string::npos, "it does not say why: " + text);
}

TEST_P(TableOn, ARankThatChoosesOtherAlgorithmsIsRefused) {
  for (const int odd : {0, 2}) {
    as_processes(3, [&](int rank) {
      if (rank == odd) choose_by("allreduce:*:ring");
      demand_refusal(Group::join(options(3, rank)), odd);
    });
  }
}

TEST_P(TableOn, ARankThatGivesInOtherWaysOnOneHostIsRefused) {
  as_processes(2, [&](int rank) {
    if (rank == 1) choose_by("gather/host:1M-:lend");
    demand_refusal(Group::join(options(2, rank)), 1);
  });
}

TEST_P(TableOn, ANewcomerThatChoosesOtherAlgorithmsIsRefusedAndTheOthersGoOn) {
  as_processes(3, [&](int rank) {
    if (rank == 2) {
      choose_by("broadcast:1k-:binomial");
      return demand_refusal(Group::join(options(3, rank)), 2);
    }
    Group group = join_or_throw(options(2, rank));
    demand_refusal(group.grow(1, kSoon), 2);
    demand(group.barrier({.timeout = kSoon}), "barrier");
  });
}

TEST_P(TableOn, TheSameTableInOtherWordsIsTheSame) {
  as_processes(2, [&](int rank) {
    choose_by(rank == 0 ? "allreduce:0-4k:ring,allreduce:4k-:ring" : "allreduce:*:ring # all");
    Group group = join_or_throw(options(2, rank));
    choose_by("nonsense");  // what matters is what was there when it joined
    demand(group.split(0), "split");
    demand(group.barrier({.timeout = kSoon}), "barrier");
  });
}

TEST_P(TableOn, ATableThatIsWrongIsSaidByAll) {
  as_processes(2, [&](int rank) {
    if (rank == 1) choose_by("nonsense");
    const auto group = Group::join(options(2, rank));
    demand(!group, "it was made");
    demand(group.error().message().find("'nonsense' is not an operation") != std::string::npos,
           group.error().message());
  });
}

INSTANTIATE_TEST_SUITE_P(Planes, TableOn,
                         testing::Values(Case{Plane::shared, "auto"}, Case{Plane::network, "zmq"}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
