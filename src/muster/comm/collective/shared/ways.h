#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "muster/comm/collective/call.h"
#include "muster/comm/collective/shared/contest.h"
#include "muster/comm/collective/shared/layout.h"

namespace muster::comm::collective::shared {

/// The least block that does not fit into a line.
inline constexpr std::size_t kAboveInline = kInlineBytes + 1;
/// Where lines of the table end that take blocks of any size.
inline constexpr std::size_t kNoEnd = std::numeric_limits<std::size_t>::max();

/// How blocks can travel between ranks on one host: what the choice table, `muster collectives` and
/// docs read.
struct WayRow {
  std::string_view name;
  std::string_view summary;  ///< steps, for n ranks and blocks of m bytes
  std::size_t from;          ///< it takes blocks of so many bytes,
  std::size_t to;            ///< and of less than so many
  std::optional<Way> way;    ///< of large blocks; nothing where ranks find it out
};

/// All that an operation has, which live for ever.
[[nodiscard]] std::span<const WayRow> way_rows(collective::Operation operation);
/// Null when there is none of that name.
[[nodiscard]] const WayRow* find_way(collective::Operation operation, std::string_view name);

/// In which way ranks give, by operation and bytes of a block, where they need not find it out: the
/// same on all ranks. Of blocks from `kLendFrom` on; smaller ones have no other way.
class Ways {
 public:
  /// From so many bytes on, more than at the last call for this operation.
  void add(collective::Operation operation, std::size_t from, std::optional<Way> way) {
    parts_[static_cast<std::size_t>(operation)].push_back({from, way});
  }

  /// Nothing where ranks find it out.
  [[nodiscard]] std::optional<Way> of(collective::Operation operation, std::size_t block) const {
    std::optional<Way> way;
    for (const Part& part : parts_[static_cast<std::size_t>(operation)])
      if (part.from <= block) way = part.way;
    return way;
  }

 private:
  struct Part {
    std::size_t from;
    std::optional<Way> way;
  };

  std::array<std::vector<Part>, kOperations.size()> parts_;
};

}  // namespace muster::comm::collective::shared
