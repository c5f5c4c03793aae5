#include "tests/integration/collective/survivor.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/comm/errc.h"
#include "tests/integration/collective/demand.h"
#include "tests/integration/collective/group_memory.h"

namespace muster::comm {
namespace {

// Bits that only this rank takes away.
std::uint64_t bits_of(int rank) { return ~(std::uint64_t{0x10001} << rank); }

// Of "rank 1, 3 of group 'test' are lost".
std::set<int> ranks_in(const std::string& message) {
  std::set<int> ranks;
  std::istringstream words(message);
  std::string word;
  char comma = ',';
  int rank = 0;
  words >> word;
  while (comma == ',' && words >> rank >> comma) ranks.insert(rank);
  return ranks;
}

// One that is of a process, and not the same as before.
void check_memory(const Group& fresh, const std::set<std::uint64_t>& before) {
  std::set<std::uint64_t> added = group_memory();
  for (const std::uint64_t inode : before) added.erase(inode);
  const std::size_t wanted = fresh.plane() == Plane::shared ? 1 : 0;
  demand(added.size() == wanted,
         fmt::format("the new group has {} memory files of its own", added.size()));
}

void check_finished(Group& fresh, std::uint64_t said, std::uint64_t own) {
  std::vector<std::uint64_t> all(static_cast<std::size_t>(fresh.size()));
  demand(fresh.allgather(std::vector{own}, all), "allgather after shrink");
  const std::uint64_t by_all = *std::min_element(all.begin(), all.end());
  demand(said == by_all,
         fmt::format("finished is {}, but the ranks finished {}", said, fmt::join(all, ", ")));
}

}  // namespace

void check_loss(Group& group, const Error& error, const std::vector<int>& victims) {
  demand(error.is(Errc::rank_lost), "another error: " + error.message());
  const std::set<int> named = ranks_in(error.message());
  demand(!named.empty() && std::ranges::includes(victims, named),
         fmt::format("lost are {}, but: {}", fmt::join(victims, ", "), error.message()));
  const auto next = group.barrier();
  demand(!next && next.error().message() == error.message(),
         "a later call does not fail alike: " + (next ? "" : next.error().message()));
  const auto tagged = group.barrier({.tag = 9});
  demand(!tagged && tagged.error().is(Errc::rank_lost), "a call with another tag does not fail");
  std::vector<int> one{1};
  const auto started = group.iallreduce(one);
  demand(!started && started.error().message() == error.message(),
         "a call that is started does not fail alike");
  const int other = (group.rank() + 1) % group.size();
  const auto sent = group.send(other, one);
  demand(!sent, "something could be sent");
}

void check_agreement(Group& group, const std::vector<int>& victims) {
  std::uint64_t bits = ~std::uint64_t{0};
  std::vector<int> ranks;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (std::ranges::find(victims, rank) != victims.end()) continue;
    ranks.push_back(rank);
    bits &= bits_of(rank);
  }
  const auto agreed = demand(group.agree(bits_of(group.rank())), "agree");
  demand(agreed.bits == bits, fmt::format("bits {:x} were agreed on, not {:x}", agreed.bits, bits));
  demand(agreed.ranks == ranks, fmt::format("ranks {} agreed", fmt::join(agreed.ranks, ", ")));
}

Group go_on(Group group, const std::vector<int>& victims, std::uint64_t finished) {
  const int left = group.size() - static_cast<int>(victims.size());
  const std::set<std::uint64_t> before = group_memory();
  std::optional<Group> old(std::move(group));
  auto shrunk = demand(old->shrink(), "shrink");
  demand(shrunk.lost == victims, fmt::format("lost are {}", fmt::join(shrunk.lost, ", ")));
  demand(shrunk.group.size() == left, "the new group has another size");
  demand(shrunk.group.epoch() == old->epoch() + 1, "the new group has another epoch");
  check_memory(shrunk.group, before);
  check_finished(shrunk.group, shrunk.finished, finished);
  demand(shrunk.last.empty() == (shrunk.finished == 0), "the last call is " + shrunk.last);
  std::set<std::uint64_t> fresh = group_memory();
  for (const std::uint64_t inode : before) fresh.erase(inode);
  old.reset();
  demand(group_memory_becomes(fresh), "the old group's memory is still there");
  return std::move(shrunk.group);
}

void end_with(Group group) {
  demand(group.barrier(), "the last barrier");
  {
    const Group last = std::move(group);
  }
  demand(group_memory_becomes({}), "memory of a group is still there");
}

}  // namespace muster::comm
