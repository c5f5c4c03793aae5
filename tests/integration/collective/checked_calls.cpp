#include "tests/integration/collective/checked_calls.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "tests/integration/collective/demand.h"

namespace muster::comm {
namespace {

using collective::Operation;

constexpr int kRoot = 1;

std::uint32_t item(int rank, std::uint32_t call, std::size_t place) {
  return static_cast<std::uint32_t>(rank + 1) * 0x9E3779B1u + call * 0x85EBCA6Bu +
         static_cast<std::uint32_t>(place) * 0xC2B2AE35u;
}

// x → a·x + b for numbers of 16 bits: the left one is applied last, so the order counts.
std::uint32_t compose(std::uint32_t left, std::uint32_t right) {
  const std::uint32_t factor = left >> 16;
  const std::uint32_t both = factor * (right >> 16);
  return both << 16 | ((factor * right + left) & 0xFFFF);
}

bool takes_blocks(Operation operation) {
  return operation == Operation::scatter || operation == Operation::reduce_scatter ||
         operation == Operation::all_to_all;
}

bool gives_blocks(Operation operation) {
  return operation == Operation::gather || operation == Operation::allgather ||
         operation == Operation::all_to_all;
}

std::size_t sum_of_first(const std::vector<std::size_t>& counts, int n) {
  return std::accumulate(counts.begin(), counts.begin() + n, std::size_t{0});
}

std::size_t sum(const std::vector<std::size_t>& counts) {
  return sum_of_first(counts, static_cast<int>(counts.size()));
}

}  // namespace

CheckedCalls::CheckedCalls(Group& group, Operation operation, const Form& form, std::uint32_t first)
    : group_(group), operation_(operation), form_(form), call_(first) {
  output_.resize(is(Trait::in_place) ? std::max(input_items(), output_items()) : output_items());
  if (form.arena) {
    arena_ = demand(group.allocate(input_items() * sizeof(std::uint32_t)), "allocate");
  } else if (!is(Trait::in_place)) {
    own_input_.resize(input_items());
  }
}

int CheckedCalls::root() const { return kRoot % group_.size(); }

/// Items that one rank gives another, which may be the same.
std::size_t CheckedCalls::given(int from, int to) const {
  if (!is(Trait::variable)) return form_.count;
  const int number =
      (gives_blocks(operation_) ? from : 0) + (takes_blocks(operation_) ? 2 * to : 0);
  return form_.count * static_cast<std::size_t>(number % 5) / 4;
}

CheckedCalls::Counts CheckedCalls::given_by(int rank) const {
  Counts counts;
  for (int to = 0; to < group_.size(); ++to) counts.push_back(given(rank, to));
  return counts;
}

CheckedCalls::Counts CheckedCalls::given_to(int rank) const {
  Counts counts;
  for (int from = 0; from < group_.size(); ++from) counts.push_back(given(from, rank));
  return counts;
}

std::size_t CheckedCalls::input_items() const {
  const int rank = group_.rank();
  return takes_blocks(operation_) ? sum(given_by(rank)) : given(rank, rank);
}

std::size_t CheckedCalls::output_items() const {
  const int rank = group_.rank();
  return gives_blocks(operation_) ? sum(given_to(rank)) : given(rank, rank);
}

std::span<std::uint32_t> CheckedCalls::input() {
  if (form_.arena) return {reinterpret_cast<std::uint32_t*>(arena_.bytes.data()), input_items()};
  if (!is(Trait::in_place)) return own_input_;
  // A rank's own block lies at its place where all will be.
  const bool among_blocks =
      operation_ == Operation::allgather || (operation_ == Operation::gather && is_root());
  const std::size_t start = among_blocks ? sum_of_first(given_to(group_.rank()), group_.rank()) : 0;
  return std::span(output_).subspan(start, input_items());
}

collective::Call CheckedCalls::prepare() {
  ++call_;
  std::fill(output_.begin(), output_.end(), 0xDEADBEEFu);
  const std::span<std::uint32_t> items = input();
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = item(group_.rank(), call_, i);
  collective::Call call;
  call.operation = operation_;
  call.element = Element::u32;
  if (is(Trait::ordered)) call.reduction = Reduction::of<std::uint32_t>(compose, false);
  call.root = root();
  call.output = reinterpret_cast<std::byte*>(output_.data());
  call.input = is(Trait::in_place) ? call.output : reinterpret_cast<const std::byte*>(items.data());
  tell_counts(call);
  return call;
}

void CheckedCalls::tell_counts(collective::Call& call) const {
  const int rank = group_.rank();
  call.variable = is(Trait::variable);
  const bool knows_all = !collective::is_rooted(operation_) || is_root();
  if (!is(Trait::variable) || !knows_all) {
    call.count = given(rank, rank);
    return;
  }
  call.counts = takes_blocks(operation_) ? given_by(rank) : given_to(rank);
  if (operation_ == Operation::all_to_all) call.receive_counts = given_to(rank);
}

Result<void> CheckedCalls::next(const CallOptions& options) {
  auto result = group_.run(prepare(), options);
  if (result) check_result();
  return result;
}

Result<Handle> CheckedCalls::start_next(const CallOptions& options) {
  return group_.start(prepare(), options);
}

std::uint32_t CheckedCalls::combined(std::size_t place) const {
  std::uint32_t total = item(0, call_, place);
  for (int rank = 1; rank < group_.size(); ++rank) {
    const std::uint32_t next = item(rank, call_, place);
    total = is(Trait::ordered) ? compose(total, next) : total + next;
  }
  return total;
}

std::vector<std::uint32_t> CheckedCalls::expected() const {
  const int rank = group_.rank();
  std::vector<std::uint32_t> items;
  const auto take_from = [&](int from) {
    const std::size_t start = takes_blocks(operation_) ? sum_of_first(given_by(from), rank) : 0;
    for (std::size_t i = 0; i < given(from, rank); ++i)
      items.push_back(item(from, call_, start + i));
  };
  switch (operation_) {
    case Operation::barrier: break;
    case Operation::broadcast:
    case Operation::scatter: take_from(root()); break;
    case Operation::gather:
      if (!is_root()) break;
      [[fallthrough]];
    case Operation::allgather:
    case Operation::all_to_all:
      for (int from = 0; from < group_.size(); ++from) take_from(from);
      break;
    case Operation::reduce:
      if (!is_root()) break;
      [[fallthrough]];
    case Operation::allreduce:
    case Operation::reduce_scatter: {
      const std::size_t start = takes_blocks(operation_) ? sum_of_first(given_by(0), rank) : 0;
      for (std::size_t i = 0; i < given(rank, rank); ++i) items.push_back(combined(start + i));
    }
  }
  return items;
}

std::span<const std::uint32_t> CheckedCalls::result() const {
  // In place the root's own block of a scatter stays where it is.
  const bool stays = is(Trait::in_place) && operation_ == Operation::scatter && is_root();
  return std::span(output_).subspan(stays ? sum_of_first(given_by(root()), root()) : 0);
}

void CheckedCalls::check_result() const {
  const std::vector<std::uint32_t> wanted = expected();
  const std::span<const std::uint32_t> items = result();
  for (std::size_t place = 0; place < wanted.size(); ++place) {
    if (items[place] == wanted[place]) continue;
    demand(false, fmt::format("{} {}, call {}: item {} of {} at rank {} of {} is {:#x}, not {:#x}",
                              form_.name, collective::name(operation_), call_, place, wanted.size(),
                              group_.rank(), group_.size(), items[place], wanted[place]));
  }
}

}  // namespace muster::comm
