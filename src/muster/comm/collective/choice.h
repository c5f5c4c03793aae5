#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "muster/base/result.h"
#include "muster/comm/collective/algorithm/registry.h"
#include "muster/comm/collective/schedule.h"
#include "muster/comm/collective/shared/ways.h"

namespace muster::comm::collective {

/// How the ranks of a group lie on hosts, as far as the choice of an algorithm cares.
enum class Layout : std::uint8_t {
  flat,   ///< every rank alone on its host, or all on one
  mixed,  ///< several hosts, at least one with several ranks
  host,   ///< all ranks on one host, in shared memory instead of by messages
};

inline constexpr std::array kLayouts = {Layout::flat, Layout::mixed, Layout::host};

/// Of calls that go by messages.
[[nodiscard]] Layout layout(const Place& place);

[[nodiscard]] std::string_view name(Layout layout);

/// An algorithm for messages, or a way in memory, for `Layout::host`. They live for ever.
using Chosen = std::variant<const AlgorithmRow*, const shared::WayRow*>;

/// One line of the table: for this operation and layout, and from `from` bytes up to the next
/// line's, this algorithm. Bytes are `total_bytes`, and on one host those of a block.
struct ChoiceRow {
  Operation operation;
  Layout layout;
  std::size_t from;
  Chosen chosen;

  [[nodiscard]] std::string_view name() const {
    return std::visit([](const auto* row) { return row->name; }, chosen);
  }
  [[nodiscard]] std::string_view summary() const {
    return std::visit([](const auto* row) { return row->summary; }, chosen);
  }
};

/// Which algorithm an operation runs, by its bytes and by the layout of the group. All ranks of a
/// group need the same table. Immutable.
class ChoiceTable {
 public:
  /// What is good: on one host by our measurements, between hosts with a rank each by those of the
  /// field, moved to where our transports change sides, and for mixed groups by a model.
  [[nodiscard]] static ChoiceTable builtin();
  /// The built-in table with the entries of `text` put over it, separated by commas or white space:
  /// "allreduce:0-8k:recursive_doubling", with the bytes from 0 up to 8192 exclusive, "8k-" without
  /// end, "*" for all, and "allreduce/mixed:…" for one layout only, else for both that go by
  /// messages; # begins a comment. "@path" reads them from a file. An error says where, in which
  /// entry, and what could stand there.
  [[nodiscard]] static Result<ChoiceTable> parse(std::string_view text);
  /// By MUSTER_COLLECTIVES; the built-in table when it is not set.
  [[nodiscard]] static Result<ChoiceTable> from_environment();

  /// What runs by messages: the line for the call's bytes, or when that does not take the call
  /// (different counts, a reduction whose order matters), the first algorithm that does.
  [[nodiscard]] const AlgorithmRow& choose(const Call& call, const Place& place) const;
  /// What the lines for one host say.
  [[nodiscard]] shared::Ways ways() const;

  /// By operation, layout and bytes.
  [[nodiscard]] const std::vector<ChoiceRow>& rows() const { return rows_; }
  /// Equal where everything is, on every host.
  [[nodiscard]] std::uint64_t digest() const;
  /// Where a line ends, or the largest size when it is the last of its operation and layout.
  [[nodiscard]] std::size_t end_of(std::size_t row) const;

 private:
  friend class ChoiceParser;
  /// Chooses something for the bytes from … to-1.
  void assign(Operation operation, Layout layout, std::size_t from, std::size_t to, Chosen chosen);

  std::vector<ChoiceRow> rows_;
};

/// The schedule of `call` by the table.
[[nodiscard]] Schedule make_schedule(const ChoiceTable& table, const Call& call,
                                     const Place& place);

}  // namespace muster::comm::collective
