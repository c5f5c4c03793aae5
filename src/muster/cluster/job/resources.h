#pragma once

#include <cstdint>
#include <string>

namespace muster::cluster {

/// An amount of what a node has and a component takes. Whole numbers, so that adding and
/// subtracting never drifts.
struct Resources {
  std::uint64_t cpu_milli = 0;  ///< thousandths of a core
  std::uint64_t memory = 0;     ///< bytes
  std::uint64_t gpu = 0;        ///< whole devices

  /// True if `other` is no more than this in every respect.
  [[nodiscard]] bool holds(const Resources& other) const {
    return other.cpu_milli <= cpu_milli && other.memory <= memory && other.gpu <= gpu;
  }
  [[nodiscard]] bool empty() const { return cpu_milli == 0 && memory == 0 && gpu == 0; }

  Resources& operator+=(const Resources& other) {
    cpu_milli += other.cpu_milli;
    memory += other.memory;
    gpu += other.gpu;
    return *this;
  }
  /// `other` must be no more than this.
  Resources& operator-=(const Resources& other) {
    cpu_milli -= other.cpu_milli;
    memory -= other.memory;
    gpu -= other.gpu;
    return *this;
  }
  friend Resources operator+(Resources a, const Resources& b) { return a += b; }
  friend Resources operator-(Resources a, const Resources& b) { return a -= b; }
  friend bool operator==(const Resources&, const Resources&) = default;
};

/// "1.5 cpu, 2 GiB memory, 1 gpu"; what is zero is left out, and "nothing" when all is.
std::string describe(const Resources& resources);

/// The part of the resources that placement looks at first.
enum class Metric { cpu, memory, gpu };

[[nodiscard]] constexpr std::uint64_t amount(const Resources& resources, Metric metric) {
  switch (metric) {
    case Metric::cpu: return resources.cpu_milli;
    case Metric::memory: return resources.memory;
    case Metric::gpu: return resources.gpu;
  }
  return 0;
}

}  // namespace muster::cluster
