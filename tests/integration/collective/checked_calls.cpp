#include "tests/integration/collective/checked_calls.h"

#include <algorithm>
#include <span>

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

std::uint32_t sum(int size, std::uint32_t call, std::size_t place) {
  std::uint32_t total = 0;
  for (int rank = 0; rank < size; ++rank) total += item(rank, call, place);
  return total;
}

bool takes_blocks(Operation operation) {
  return operation == Operation::scatter || operation == Operation::reduce_scatter ||
         operation == Operation::all_to_all;
}

bool gives_blocks(Operation operation) {
  return operation == Operation::gather || operation == Operation::allgather ||
         operation == Operation::all_to_all;
}

}  // namespace

CheckedCalls::CheckedCalls(Group& group, Operation operation, const Form& form, std::uint32_t first)
    : group_(group), operation_(operation), form_(form), call_(first) {
  const auto ranks = static_cast<std::size_t>(group.size());
  const std::size_t items = form.count * (takes_blocks(operation) ? ranks : 1);
  output_.resize(form.count * (gives_blocks(operation) ? ranks : 1));
  if (form.arena) {
    arena_ = demand(group.allocate(items * sizeof(std::uint32_t)), "allocate");
  } else {
    own_input_.resize(items);
  }
}

collective::Call CheckedCalls::prepare() {
  ++call_;
  const std::span<std::uint32_t> input =
      form_.arena ? std::span(reinterpret_cast<std::uint32_t*>(arena_.bytes.data()),
                              arena_.bytes.size() / sizeof(std::uint32_t))
                  : std::span(own_input_);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = item(group_.rank(), call_, i);
  std::fill(output_.begin(), output_.end(), 0xDEADBEEFu);
  collective::Call call;
  call.operation = operation_;
  call.element = Element::u32;
  call.count = form_.count;
  call.root = kRoot % group_.size();
  call.input = reinterpret_cast<const std::byte*>(input.data());
  call.output = reinterpret_cast<std::byte*>(output_.data());
  return call;
}

Result<void> CheckedCalls::next(const CallOptions& options) {
  auto result = group_.run(prepare(), options);
  if (result) check_result();
  return result;
}

Result<Handle> CheckedCalls::start_next(const CallOptions& options) {
  return group_.start(prepare(), options);
}

std::size_t CheckedCalls::results() const {
  const bool for_root = operation_ == Operation::gather || operation_ == Operation::reduce;
  if (operation_ == Operation::barrier) return 0;
  return for_root && group_.rank() != kRoot % group_.size() ? 0 : output_.size();
}

std::uint32_t CheckedCalls::expected(std::size_t place) const {
  const int root = kRoot % group_.size();
  const auto own_block = static_cast<std::size_t>(group_.rank()) * form_.count;
  const auto giver = static_cast<int>(place / form_.count);
  switch (operation_) {
    case Operation::barrier: return 0;
    case Operation::broadcast: return item(root, call_, place);
    case Operation::scatter: return item(root, call_, own_block + place);
    case Operation::gather:
    case Operation::allgather: return item(giver, call_, place % form_.count);
    case Operation::reduce:
    case Operation::allreduce: return sum(group_.size(), call_, place);
    case Operation::reduce_scatter: return sum(group_.size(), call_, own_block + place);
    case Operation::all_to_all: return item(giver, call_, own_block + place % form_.count);
  }
  return 0;
}

void CheckedCalls::check_result() const {
  for (std::size_t place = 0; place < results(); ++place) {
    if (output_[place] == expected(place)) continue;
    demand(false, fmt::format("{} {}, call {}: item {} of {} at rank {} of {} is {:#x}, not {:#x}",
                              form_.name, collective::name(operation_), call_, place, results(),
                              group_.rank(), group_.size(), output_[place], expected(place)));
  }
}

}  // namespace muster::comm
