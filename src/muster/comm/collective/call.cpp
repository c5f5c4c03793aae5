#include "muster/comm/collective/call.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

namespace muster::comm::collective {
namespace {

[[noreturn]] void wrong(const Call& call, const std::string& what) {
  throw std::invalid_argument(fmt::format("[{}] {}", name(call.operation), what));
}

void check_counts(const Call& call, const std::vector<std::size_t>& counts, const char* which,
                  int size) {
  if (counts.size() != static_cast<std::size_t>(size))
    wrong(call,
          fmt::format("{} has {} entries, and the group {} ranks", which, counts.size(), size));
}

bool needs_all_counts(const Call& call, int rank) {
  switch (call.operation) {
    case Operation::scatter:
    case Operation::gather: return rank == call.root;
    case Operation::allgather:
    case Operation::reduce_scatter:
    case Operation::all_to_all: return true;
    default: return false;
  }
}

void check_shape(const Call& call, int rank, int size) {
  if (!call.variable) {
    if (!call.counts.empty() || !call.receive_counts.empty())
      wrong(call, "counts per rank are given, but not asked for");
    return;
  }
  if (!needs_all_counts(call, rank)) {
    if (is_rooted(call.operation) && call.operation != Operation::broadcast &&
        call.operation != Operation::reduce)
      return;
    wrong(call, "has no form with different counts");
  }
  check_counts(call, call.counts, "counts", size);
  if (call.operation == Operation::all_to_all) {
    check_counts(call, call.receive_counts, "receive_counts", size);
    if (call.in_place()) wrong(call, "with different counts cannot work in place");
    const auto self = static_cast<std::size_t>(rank);
    if (call.counts[self] != call.receive_counts[self])
      wrong(call, fmt::format("rank {} sends {} items to itself and receives {}", rank,
                              call.counts[self], call.receive_counts[self]));
  }
}

/// Below this, sums and products of counts are what they seem.
void check_countable(const Call& call, int size) {
  const std::size_t most = PTRDIFF_MAX / item_size(call.element);
  const auto refuse = [&](std::size_t count) {
    wrong(call, fmt::format("{} {} in a block of one of {} ranks are more than memory can hold",
                            count, name(call.element), size));
  };
  if (call.count > most / static_cast<std::size_t>(size) || call.count >= kTooManyItems)
    refuse(call.count);
  for (const auto* counts : {&call.counts, &call.receive_counts}) {
    std::size_t room = most;
    for (const std::size_t count : *counts) {
      if (count > room) refuse(count);
      room -= count;
    }
  }
}

/// Items that this rank's buffers hold.
struct Sizes {
  std::size_t input = 0;
  std::size_t output = 0;
};

Sizes sizes(const Call& call, int rank, int size) {
  const auto all = [&](const std::vector<std::size_t>& counts) {
    return call.variable ? std::accumulate(counts.begin(), counts.end(), std::size_t{0})
                         : call.count * static_cast<std::size_t>(size);
  };
  const std::size_t own =
      call.counts.empty() ? call.count : call.counts[static_cast<std::size_t>(rank)];
  const bool root = rank == call.root;
  switch (call.operation) {
    case Operation::barrier: return {};
    case Operation::broadcast: return {root ? call.count : 0, call.count};
    case Operation::scatter: return {root ? all(call.counts) : 0, own};
    case Operation::gather: return {own, root ? all(call.counts) : 0};
    case Operation::reduce: return {call.count, root ? call.count : 0};
    case Operation::allreduce: return {call.count, call.count};
    case Operation::allgather: return {own, all(call.counts)};
    case Operation::reduce_scatter: return {all(call.counts), own};
    case Operation::all_to_all: return {all(call.counts), all(call.receive_counts)};
  }
  return {};
}

std::size_t sum_of_first(const std::vector<std::size_t>& counts, std::size_t n) {
  const auto end = counts.begin() + static_cast<std::ptrdiff_t>(std::min(n, counts.size()));
  return std::accumulate(counts.begin(), end, std::size_t{0});
}

/// Whether the smaller buffer is the rank's own place in the larger one.
bool own_block_is_in_place(const Call& call, int rank) {
  const std::size_t start = own_start(call, rank);
  switch (call.operation) {
    case Operation::scatter: return call.output == call.input + start;
    case Operation::gather:
    case Operation::allgather: return call.input == call.output + start;
    default: return false;
  }
}

bool overlaps(const Call& call, const Sizes& items, int rank) {
  if (call.input == call.output || items.input == 0 || items.output == 0) return false;
  const std::size_t item = item_size(call.element);
  const auto input = reinterpret_cast<std::uintptr_t>(call.input);
  const auto output = reinterpret_cast<std::uintptr_t>(call.output);
  const bool apart = input + items.input * item <= output || output + items.output * item <= input;
  return !apart && !own_block_is_in_place(call, rank);
}

}  // namespace

std::string_view name(Operation operation) {
  constexpr std::array<std::string_view, kOperations.size()> kNames = {
      "barrier",   "broadcast", "scatter",        "gather",    "reduce",
      "allreduce", "allgather", "reduce_scatter", "all_to_all"};
  const auto index = static_cast<std::size_t>(operation);
  return index < kNames.size() ? kNames[index] : "unknown";  // what another rank says
}

Blocks::Blocks(std::size_t n, std::size_t bytes) : starts_(n + 1) {
  for (std::size_t i = 0; i <= n; ++i) starts_[i] = i * bytes;
}

Blocks::Blocks(const std::vector<std::size_t>& counts, std::size_t item_size)
    : starts_(counts.size() + 1) {
  for (std::size_t i = 0; i < counts.size(); ++i)
    starts_[i + 1] = starts_[i] + counts[i] * item_size;
}

Blocks Blocks::split(std::size_t count, std::size_t n, std::size_t item_size) {
  Blocks result(n, 0);
  for (std::size_t i = 0; i < n; ++i)
    result.starts_[i + 1] = result.starts_[i] + (count / n + (i < count % n ? 1 : 0)) * item_size;
  return result;
}

Blocks blocks(const Call& call, int size) {
  if (!call.counts.empty()) return {call.counts, item_size(call.element)};
  return {static_cast<std::size_t>(size), call.count * item_size(call.element)};
}

Blocks receive_blocks(const Call& call, int size) {
  if (!call.receive_counts.empty()) return {call.receive_counts, item_size(call.element)};
  return blocks(call, size);
}

bool all_know_counts(const Call& call) {
  return !call.variable || call.operation == Operation::allgather ||
         call.operation == Operation::reduce_scatter;
}

std::size_t total_bytes(const Call& call, int size) {
  switch (call.operation) {
    case Operation::barrier: return 0;
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::allreduce: return call.count * item_size(call.element);
    default: return blocks(call, size).total();
  }
}

std::size_t own_start(const Call& call, int rank) {
  const auto before = static_cast<std::size_t>(rank);
  const std::size_t items =
      call.counts.empty() ? before * call.count : sum_of_first(call.counts, before);
  return items * item_size(call.element);
}

bool overlaps(const Call& call, int rank, int size) {
  return overlaps(call, sizes(call, rank, size), rank);
}

void check_in_full(const Call& call, int rank, int size) {
  if (is_rooted(call.operation) && (call.root < 0 || call.root >= size))
    wrong(call,
          fmt::format("root is {}, and the group has the ranks 0 to {}", call.root, size - 1));
  check_shape(call, rank, size);
  check_countable(call, size);
  if (is_reducing(call.operation)) check(name(call.operation), call.reduction, call.element);
  const Sizes needed = sizes(call, rank, size);
  if (needed.input > 0 && call.input == nullptr)
    wrong(call, fmt::format("rank {} gives no input, {} {} are needed", rank, needed.input,
                            name(call.element)));
  if (needed.output > 0 && call.output == nullptr)
    wrong(call, fmt::format("rank {} gives no output, room for {} {} is needed", rank,
                            needed.output, name(call.element)));
  if (overlaps(call, needed, rank))
    wrong(call,
          "input and output overlap; they are the same memory, to work in place, or lie apart");
}

// FNV-1a over the words: good enough to notice a difference, and the same on every host.
std::uint64_t hash_of(const std::vector<std::size_t>& counts) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const std::size_t count : counts) hash = (hash ^ count) * 0x100'0000'01b3;
  return hash;
}

std::uint16_t hash_of_shape(const std::vector<std::size_t>& shape) {
  if (shape.size() < 2) return 0;
  const std::uint64_t hash = hash_of(shape) * 0x9e37'79b9'7f4a'7c15 >> 48;
  return hash == 0 ? 1 : static_cast<std::uint16_t>(hash);
}

std::string describe(const Signature& signature) {
  const Operation operation = signature.operation;
  const std::string_view element = name(signature.element);
  std::string text(name(operation));
  if (operation == Operation::barrier) return text;
  text += signature.variable != 0
              ? fmt::format(" with different counts of {}", element)
              : fmt::format(" of {} {}", std::uint64_t{signature.count}, element);
  if (is_reducing(operation)) {
    const bool by_function = signature.reduction == ReductionKind::user;
    text += fmt::format(" by {}", by_function ? "a function" : name(signature.reduction));
    if (signature.in_order != 0) text += " in the order of ranks";
  }
  if (operation == Operation::broadcast || operation == Operation::scatter)
    text += fmt::format(" from rank {}", signature.root);
  if (operation == Operation::gather || operation == Operation::reduce)
    text += fmt::format(" to rank {}", signature.root);
  return text;
}

std::string difference(int rank, const Signature& its, int other, const Signature& others) {
  Signature as_if = its;
  as_if.earlier = others.earlier;
  // Nothing else can differ where all ranks know the counts.
  if (as_if == others && (its != others || !its.variable))
    return fmt::format(
        "before this {}, rank {} and rank {} called different rooted operations, or with "
        "different roots, counts or types",
        describe(its), rank, other);
  const std::string mine = describe(its);
  const std::string theirs = describe(others);
  if (mine == theirs && its.variable == 0)
    return fmt::format(
        "rank {} calls {} in another shape than rank {}; where only the items should count, both "
        "pass array.ravel()",
        rank, mine, other);
  if (mine == theirs)
    return fmt::format("rank {} and rank {} both call {}, but not with the same counts", rank,
                       other, mine);
  return fmt::format("rank {} calls {}, rank {} calls {}", rank, mine, other, theirs);
}

}  // namespace muster::comm::collective
