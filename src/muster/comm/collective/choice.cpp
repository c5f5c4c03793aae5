#include "muster/comm/collective/choice.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "muster/base/assert.h"

namespace muster::comm::collective {
namespace {

using enum Operation;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr std::size_t kNoEnd = std::numeric_limits<std::size_t>::max();

struct BuiltinRow {
  Operation operation;
  Layout layout;
  std::size_t from;
  std::string_view algorithm;
};

// Fewest messages while latency counts, fewest bytes above. The switch points are those of the
// field (Open MPI, MPICH, UCC lie between 4 KiB and 512 KiB), moved to where our transports change
// sides.
//
// In mixed groups two levels send one message where others send one for each pair of ranks on two
// hosts, and pay with a second way, through the leaders. So scatter and gather use them while
// messages count more than bytes, and all_to_all for less long, because each leader passes on all
// that its host gives and gets. What combines or repeats items also crosses in fewer bytes; from
// 1 MiB on a ring does so, too, and keeps all ranks busy.
constexpr BuiltinRow kBuiltin[] = {
    {barrier, Layout::flat, 0, "dissemination"},
    {barrier, Layout::mixed, 0, "two_level"},
    {broadcast, Layout::flat, 0, "binomial"},
    {broadcast, Layout::flat, 128 * kKiB, "scatter_allgather"},
    {broadcast, Layout::mixed, 0, "two_level"},
    {scatter, Layout::flat, 0, "binomial"},
    {scatter, Layout::flat, 8 * kKiB, "linear"},
    {scatter, Layout::mixed, 0, "two_level"},
    {scatter, Layout::mixed, 64 * kKiB, "linear"},
    {gather, Layout::flat, 0, "binomial"},
    {gather, Layout::flat, 8 * kKiB, "linear"},
    {gather, Layout::mixed, 0, "two_level"},
    {gather, Layout::mixed, 64 * kKiB, "linear"},
    {reduce, Layout::flat, 0, "binomial"},
    {reduce, Layout::flat, 64 * kKiB, "rabenseifner"},
    {reduce, Layout::mixed, 0, "two_level"},
    {allreduce, Layout::flat, 0, "recursive_doubling"},
    {allreduce, Layout::flat, 16 * kKiB, "rabenseifner"},
    {allreduce, Layout::flat, kMiB, "ring"},
    {allreduce, Layout::mixed, 0, "two_level"},
    {allgather, Layout::flat, 0, "bruck"},
    {allgather, Layout::flat, 64 * kKiB, "ring"},
    {allgather, Layout::mixed, 0, "two_level"},
    {allgather, Layout::mixed, kMiB, "ring"},
    {reduce_scatter, Layout::flat, 0, "direct"},
    {reduce_scatter, Layout::flat, 8 * kKiB, "recursive_halving"},
    {reduce_scatter, Layout::flat, 512 * kKiB, "ring"},
    {reduce_scatter, Layout::mixed, 0, "two_level"},
    {reduce_scatter, Layout::mixed, kMiB, "ring"},
    {all_to_all, Layout::flat, 0, "linear"},
    {all_to_all, Layout::flat, 256 * kKiB, "pairwise"},
    {all_to_all, Layout::mixed, 0, "two_level"},
    {all_to_all, Layout::mixed, 32 * kKiB, "linear"},
    {all_to_all, Layout::mixed, 256 * kKiB, "pairwise"},
};

bool same_group(const ChoiceRow& row, Operation operation, Layout layout) {
  return row.operation == operation && row.layout == layout;
}

}  // namespace

std::string_view name(Layout layout) { return layout == Layout::flat ? "flat" : "mixed"; }

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
  for (const auto& [operation, layout, from, algorithm] : kBuiltin) {
    const AlgorithmRow* const row = find_algorithm(operation, algorithm);
    MUSTER_ASSERT(row != nullptr, "the table names algorithms that exist");
    table.rows_.push_back({operation, layout, from, row});
  }
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
                         before->algorithm == row.algorithm;
    before = &row;
    if (goes_on) continue;
    for (const char c : fmt::format("{}/{}:{}:{}\n", collective::name(row.operation),
                                    collective::name(row.layout), row.from, row.algorithm->name))
      digest = (digest ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
  }
  return digest;
}

void ChoiceTable::assign(Operation operation, Layout layout, std::size_t from, std::size_t to,
                         const AlgorithmRow& algorithm) {
  std::vector<ChoiceRow> result;
  const auto add = [&](std::size_t begin, std::size_t end, const AlgorithmRow* what) {
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
    add(row.from, std::min(end, from), row.algorithm);
    if (!placed && end > from) {
      add(from, to, &algorithm);
      placed = true;
    }
    add(std::max(row.from, to), end, row.algorithm);
  }
  rows_ = std::move(result);
}

const AlgorithmRow& ChoiceTable::choose(const Call& call, const Place& place) const {
  const Layout group = layout(place);
  // Ranks may see different sizes, and must choose alike.
  const std::size_t bytes = all_know_counts(call) ? total_bytes(call, place.size) : 0;
  const AlgorithmRow* chosen = nullptr;
  for (const ChoiceRow& row : rows_)
    if (same_group(row, call.operation, group) && row.from <= bytes) chosen = row.algorithm;
  if (chosen != nullptr && takes(*chosen, call, place)) return *chosen;
  for (const AlgorithmRow& row : algorithm_rows())
    if (takes(row, call, place)) return row;
  MUSTER_ASSERT(false, "the first algorithm of every operation takes every call");
}

Schedule make_schedule(const ChoiceTable& table, const Call& call, const Place& place) {
  return build(table.choose(call, place), call, place);
}

}  // namespace muster::comm::collective
