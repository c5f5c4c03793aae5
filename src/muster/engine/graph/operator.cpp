#include "muster/engine/graph/operator.h"

#include <array>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"

namespace muster::engine {

std::string_view name(Family family) {
  constexpr std::array<std::string_view, 13> kNames = {
      "creation",   "elementwise", "reduction", "shape", "joining", "indexing", "sorting",
      "statistics", "linalg",      "random",    "fft",   "special", "other"};
  return kNames[static_cast<std::size_t>(family)];
}

void missing_input(const OperatorRow& row, std::size_t number, std::size_t given) {
  wrong_type(fmt::format("[{}] input {} is missing: there {}", row.name, number,
                         given == 0   ? "are none"
                         : given == 1 ? "is one"
                                      : fmt::format("are {}", given)));
}

std::string Call::prefix() const { return fmt::format("[{}] ", row.name); }

void check_vector(const Call& call) {
  if (call.inputs[0].ndim() != 1)
    wrong_value(call.prefix() + "needs a vector, the shape is " + text(call.inputs[0].shape()));
}

void Registry::add(const OperatorRow& row) {
  MUSTER_ASSERT((row.expand != nullptr) != (row.infer != nullptr && row.tile != nullptr),
                "an operator either expands or infers and tiles");
  MUSTER_ASSERT(by_name_.emplace(row.name, &row).second, "two operators have one name");
  operators_.push_back(&row);
}

void Registry::add(const KernelRow& row) {
  MUSTER_ASSERT(kernels_.emplace(row.name, &row).second, "two kernels have one name");
}

const OperatorRow* Registry::find_operator(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const KernelRow* Registry::find_kernel(std::string_view name) const {
  const auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : found->second;
}

}  // namespace muster::engine
