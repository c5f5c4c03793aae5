#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace muster {

/// An integer that cannot be mistaken for another kind of id: `using ChunkId = StrongId<struct
/// ChunkIdTag>;`
template <class Tag, class Rep = std::uint64_t>
class StrongId {
 public:
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}

  [[nodiscard]] constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const StrongId&) const = default;

 private:
  Rep value_{};
};

}  // namespace muster

template <class Tag, class Rep>
struct std::hash<muster::StrongId<Tag, Rep>> {
  std::size_t operator()(muster::StrongId<Tag, Rep> id) const noexcept {
    // Ids are often consecutive or random; the multiplication spreads both (Fibonacci hashing).
    return static_cast<std::size_t>(static_cast<std::uint64_t>(id.value()) * 0x9E3779B97F4A7C15ull);
  }
};
