#include "muster/comm/collective/choice.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/base/assert.h"

namespace muster::comm::collective {
namespace {

using enum Operation;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
using shared::kAboveInline;
using shared::kNoEnd;

struct BuiltinRow {
  Operation operation;
  Layout layout;
  std::size_t from;
  std::string_view algorithm;
};

// Fewest messages while latency counts, fewest bytes above. The switch points are those of the
// field (Open MPI, MPICH, UCC lie between 4 KiB and 512 KiB), moved to where our transports change
// sides. On one host ranks try all ways from where these differ: for allreduce, which lends in two
// steps, that is later.
//
// The lines for mixed groups are not measured but follow a model: 15 us for a message and 1.2 GB/s
// between hosts, which the ranks of a host share, 4 us and 4 GB/s within, and 1.5 us for each
// message to who sends or receives it; 2 to 64 hosts of 2 to 32 ranks, which are numbered host by
// host or in turns. Two levels send one message where others send one for each pair of ranks on two
// hosts, and pay with a second way, through the leaders. So scatter and gather use them while
// messages count more than bytes (few ranks would do so for less long, many for longer), and
// all_to_all only for very little, because each leader passes on all that its host gives and gets:
// up to 32 KiB it is better to have blocks pass through a few of all ranks.
// What combines or repeats items also crosses in fewer bytes; but where all ranks get blocks of
// their own, or all blocks, a ring soon does so, too, and keeps all of them busy.
constexpr BuiltinRow kBuiltin[] = {
    {barrier, Layout::flat, 0, "dissemination"},
    {barrier, Layout::mixed, 0, "two_level"},
    {barrier, Layout::host, 0, "inline"},
    {broadcast, Layout::flat, 0, "binomial"},
    {broadcast, Layout::flat, 128 * kKiB, "scatter_allgather"},
    {broadcast, Layout::mixed, 0, "two_level"},
    {broadcast, Layout::host, 0, "inline"},
    {broadcast, Layout::host, kAboveInline, "stage"},
    {broadcast, Layout::host, shared::kLendFrom, "quickest"},
    {scatter, Layout::flat, 0, "binomial"},
    {scatter, Layout::flat, 8 * kKiB, "linear"},
    {scatter, Layout::mixed, 0, "two_level"},
    {scatter, Layout::mixed, 64 * kKiB, "linear"},
    {scatter, Layout::host, 0, "inline"},
    {scatter, Layout::host, kAboveInline, "stage"},
    {scatter, Layout::host, shared::kLendFrom, "quickest"},
    {gather, Layout::flat, 0, "binomial"},
    {gather, Layout::flat, 8 * kKiB, "linear"},
    {gather, Layout::mixed, 0, "two_level"},
    {gather, Layout::mixed, 64 * kKiB, "linear"},
    {gather, Layout::host, 0, "inline"},
    {gather, Layout::host, kAboveInline, "stage"},
    {gather, Layout::host, shared::kLendFrom, "quickest"},
    {reduce, Layout::flat, 0, "binomial"},
    {reduce, Layout::flat, 64 * kKiB, "rabenseifner"},
    {reduce, Layout::mixed, 0, "two_level"},
    {reduce, Layout::host, 0, "inline"},
    {reduce, Layout::host, kAboveInline, "stage"},
    {reduce, Layout::host, shared::kLendFrom, "quickest"},
    {allreduce, Layout::flat, 0, "recursive_doubling"},
    {allreduce, Layout::flat, 16 * kKiB, "rabenseifner"},
    {allreduce, Layout::flat, kMiB, "ring"},
    {allreduce, Layout::mixed, 0, "two_level"},
    {allreduce, Layout::host, 0, "inline"},
    {allreduce, Layout::host, kAboveInline, "stage"},
    {allreduce, Layout::host, 64 * kKiB, "quickest"},
    {allgather, Layout::flat, 0, "bruck"},
    {allgather, Layout::flat, 64 * kKiB, "ring"},
    {allgather, Layout::mixed, 0, "two_level"},
    {allgather, Layout::mixed, 256 * kKiB, "ring"},
    {allgather, Layout::host, 0, "inline"},
    {allgather, Layout::host, kAboveInline, "stage"},
    {allgather, Layout::host, shared::kLendFrom, "quickest"},
    {reduce_scatter, Layout::flat, 0, "direct"},
    {reduce_scatter, Layout::flat, 8 * kKiB, "recursive_halving"},
    {reduce_scatter, Layout::flat, 512 * kKiB, "ring"},
    {reduce_scatter, Layout::mixed, 0, "two_level"},
    {reduce_scatter, Layout::mixed, 256 * kKiB, "ring"},
    {reduce_scatter, Layout::host, 0, "inline"},
    {reduce_scatter, Layout::host, kAboveInline, "stage"},
    {reduce_scatter, Layout::host, shared::kLendFrom, "quickest"},
    {all_to_all, Layout::flat, 0, "linear"},
    {all_to_all, Layout::flat, 256 * kKiB, "pairwise"},
    {all_to_all, Layout::mixed, 0, "two_level"},
    {all_to_all, Layout::mixed, kKiB, "bruck"},
    {all_to_all, Layout::mixed, 32 * kKiB, "linear"},
    {all_to_all, Layout::mixed, 512 * kKiB, "pairwise"},
    {all_to_all, Layout::host, 0, "inline"},
    {all_to_all, Layout::host, kAboveInline, "stage"},
    {all_to_all, Layout::host, shared::kLendFrom, "quickest"},
};

Chosen find(Operation operation, Layout layout, std::string_view name) {
  const auto there = [](const auto* row) -> Chosen {
    MUSTER_ASSERT(row != nullptr, "the table names what exists");
    return row;
  };
  return layout == Layout::host ? there(shared::find_way(operation, name))
                                : there(find_algorithm(operation, name));
}

bool same_group(const ChoiceRow& row, Operation operation, Layout layout) {
  return row.operation == operation && row.layout == layout;
}

}  // namespace

std::string_view name(Layout layout) {
  constexpr std::array<std::string_view, kLayouts.size()> kNames = {"flat", "mixed", "host"};
  return kNames[static_cast<std::size_t>(layout)];
}

Layout layout(const Place& place) {
  if (place.hosts.size() != static_cast<std::size_t>(place.size)) return Layout::flat;
  std::vector<int> hosts(place.hosts.begin(), place.hosts.end());
  std::sort(hosts.begin(), hosts.end());
  const bool several = !hosts.empty() && hosts.front() != hosts.back();
  const bool shared = std::adjacent_find(hosts.begin(), hosts.end()) != hosts.end();
  return several && shared ? Layout::mixed : Layout::flat;
}

ChoiceTable ChoiceTable::builtin() {
  ChoiceTable table;
  for (const auto& [operation, layout, from, name] : kBuiltin)
    table.rows_.push_back({operation, layout, from, find(operation, layout, name)});
  return table;
}

std::size_t ChoiceTable::end_of(std::size_t row) const {
  const bool last = row + 1 == rows_.size() ||
                    !same_group(rows_[row + 1], rows_[row].operation, rows_[row].layout);
  return last ? kNoEnd : rows_[row + 1].from;
}

std::uint64_t ChoiceTable::digest() const {
  // FNV-1a, a line of text for each row that says something new.
  std::uint64_t digest = 0xcbf2'9ce4'8422'2325;
  const ChoiceRow* before = nullptr;
  for (const ChoiceRow& row : rows_) {
    const bool goes_on = before != nullptr && same_group(*before, row.operation, row.layout) &&
                         before->chosen == row.chosen;
    before = &row;
    if (goes_on) continue;
    for (const char c : fmt::format("{}/{}:{}:{}\n", collective::name(row.operation),
                                    collective::name(row.layout), row.from, row.name()))
      digest = (digest ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
  }
  return digest;
}

void ChoiceTable::assign(Operation operation, Layout layout, std::size_t from, std::size_t to,
                         Chosen chosen) {
  std::vector<ChoiceRow> result;
  const auto add = [&](std::size_t begin, std::size_t end, Chosen what) {
    if (begin < end) result.push_back({operation, layout, begin, what});
  };
  bool placed = false;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const ChoiceRow row = rows_[i];
    if (!same_group(row, operation, layout)) {
      result.push_back(row);
      continue;
    }
    const std::size_t end = end_of(i);
    add(row.from, std::min(end, from), row.chosen);
    if (!placed && end > from) {
      add(from, to, chosen);
      placed = true;
    }
    add(std::max(row.from, to), end, row.chosen);
  }
  rows_ = std::move(result);
}

const AlgorithmRow& ChoiceTable::choose(const Call& call, const Place& place) const {
  const Layout group = layout(place);
  // Ranks may see different sizes, and must choose alike.
  const std::size_t bytes = all_know_counts(call) ? total_bytes(call, place.size) : 0;
  const AlgorithmRow* chosen = nullptr;
  for (const ChoiceRow& row : rows_)
    if (same_group(row, call.operation, group) && row.from <= bytes)
      chosen = std::get<const AlgorithmRow*>(row.chosen);
  if (chosen != nullptr && takes(*chosen, call, place)) return *chosen;
  for (const AlgorithmRow& row : algorithm_rows())
    if (takes(row, call, place)) return row;
  MUSTER_ASSERT(false, "the first algorithm of every operation takes every call");
}

shared::Ways ChoiceTable::ways() const {
  shared::Ways ways;
  for (const ChoiceRow& row : rows_)
    if (const auto* const way = std::get_if<const shared::WayRow*>(&row.chosen))
      ways.add(row.operation, row.from, (*way)->way);
  return ways;
}

Schedule make_schedule(const ChoiceTable& table, const Call& call, const Place& place) {
  return build(table.choose(call, place), call, place);
}

}  // namespace muster::comm::collective
