#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "muster/engine/value/dtype.h"
#include "muster/engine/value/shape.h"

namespace muster::engine::random {

/// How many elements are made at a time; their numbers stay in the nearest cache.
inline constexpr std::size_t kBatch = 1024;

/// The parameters of a run of elements: where each one's first value lies, and how many items it is
/// to the next (0 for one that all elements share). Values are doubles, or int64 for distributions
/// that say so.
struct Parameters {
  std::array<const std::byte*, 3> at{};
  std::array<Index, 3> step{};

  template <class T = double>
  [[nodiscard]] T value(std::size_t number, std::size_t element) const {
    return reinterpret_cast<const T*>(at[number])[static_cast<Index>(element) * step[number]];
  }
};

/// What a parameter may be.
enum class Needs {
  anything,
  not_negative,
  positive,
  count,
  up_to_1e9,
  probability,
  chance,
  share,
  above_one,
  rate
};

struct Parameter {
  std::string_view name;
  Needs needs = Needs::anything;
};

/// A distribution of single numbers.
struct Distribution {
  std::string_view name;  ///< of its operator: "random.normal"
  std::string_view summary;
  std::vector<Parameter> parameters;
  Type output = Type::f64;
  /// Makes at most `kBatch` items of type `output` for the elements from `first` on.
  void (*fill)(std::uint64_t key, std::uint64_t first, std::size_t count,
               const Parameters& parameters, std::byte* out) = nullptr;
  /// What is wrong with parameters that are right by themselves; empty for nothing.
  std::string_view (*check)(const Parameters& parameters, std::size_t element) = nullptr;
  Type parameter_type = Type::f64;
};

/// All of them.
[[nodiscard]] const std::vector<Distribution>& distributions();
[[nodiscard]] const Distribution* find_distribution(std::string_view name);

/// Throws ArrayError (value) for parameters of the first `count` elements that cannot be.
void check(const Distribution& distribution, const Parameters& parameters, std::size_t count);
/// Likewise for the values of one parameter.
void check(const Distribution& distribution, std::size_t number, const double* values,
           std::size_t count);

}  // namespace muster::engine::random
