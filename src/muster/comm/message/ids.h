#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "muster/base/strong_id.h"

namespace muster::comm {

/// One life of one proxy: random, never 0, and known only to those who may read the discovery
/// store. A process that comes back under its old name has a new one.
using InstanceId = StrongId<struct InstanceIdTag>;

[[nodiscard]] InstanceId new_instance_id();

/// Who made an id, and the how-manieth it was there. Unique without coordination, and 16 bytes on
/// the wire.
template <class Tag>
struct OriginId {
  InstanceId origin;
  std::uint64_t number = 0;

  [[nodiscard]] bool valid() const { return number != 0; }
  auto operator<=>(const OriginId&) const = default;

  /// "f00dfeed00000001-2a": what Python sees, and what `parse` reads.
  [[nodiscard]] std::string str() const;
  [[nodiscard]] static std::optional<OriginId> parse(std::string_view text);
};

using SessionId = OriginId<struct SessionIdTag>;
using MessageId = OriginId<struct MessageIdTag>;

/// Makes ids of one origin. Thread-safe.
class IdSource {
 public:
  explicit IdSource(InstanceId origin) : origin_(origin) {}

  [[nodiscard]] InstanceId origin() const { return origin_; }
  [[nodiscard]] SessionId next_session() {
    return {origin_, sessions_.fetch_add(1, std::memory_order_relaxed)};
  }
  [[nodiscard]] MessageId next_message() {
    return {origin_, messages_.fetch_add(1, std::memory_order_relaxed)};
  }

 private:
  InstanceId origin_;
  std::atomic<std::uint64_t> sessions_{1};
  std::atomic<std::uint64_t> messages_{1};
};

}  // namespace muster::comm

template <class Tag>
struct std::hash<muster::comm::OriginId<Tag>> {
  std::size_t operator()(const muster::comm::OriginId<Tag>& id) const noexcept {
    // Origins are random already; consecutive numbers of one origin fall into consecutive slots.
    return static_cast<std::size_t>(id.origin.value() * 0x9E3779B97F4A7C15ull + id.number);
  }
};
