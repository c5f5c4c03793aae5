#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/result.h"
#include "muster/comm/collective/algorithm/registry.h"
#include "muster/comm/collective/schedule.h"

namespace muster::comm::collective {

/// How the ranks of a group lie on hosts, as far as the choice of an algorithm cares.
enum class Layout : std::uint8_t {
  flat,   ///< every rank alone on its host, or all on one
  mixed,  ///< several hosts, at least one with several ranks
};

[[nodiscard]] Layout layout(const Place& place);

[[nodiscard]] std::string_view name(Layout layout);

/// One line of the table: for this operation and layout, and from `from` bytes (`total_bytes`) up
/// to the next line's, this algorithm.
struct ChoiceRow {
  Operation operation;
  Layout layout;
  std::size_t from;
  const AlgorithmRow* algorithm;  // one of algorithm_rows(), which live for ever
};

/// Which algorithm an operation runs, by its bytes and by the layout of the group. All ranks of a
/// group need the same table. Immutable.
class ChoiceTable {
 public:
  /// What Muster has measured to be good.
  [[nodiscard]] static ChoiceTable builtin();
  /// The built-in table with the entries of `text` put over it, separated by commas or white space:
  /// "allreduce:0-8k:recursive_doubling", with the bytes from 0 up to 8192 exclusive, "8k-" without
  /// end, "*" for all, and "allreduce/mixed:…" for one layout only; # begins a comment. "@path"
  /// reads them from a file. An error says at which position, and what could stand there.
  [[nodiscard]] static Result<ChoiceTable> parse(std::string_view text);
  /// By MUSTER_COLLECTIVES; the built-in table when it is not set.
  [[nodiscard]] static Result<ChoiceTable> from_environment();

  /// What runs: the line for the call's bytes, or when that does not take the call (different
  /// counts, a reduction whose order matters), the first algorithm that does.
  [[nodiscard]] const AlgorithmRow& choose(const Call& call, const Place& place) const;

  /// By operation, layout and bytes.
  [[nodiscard]] const std::vector<ChoiceRow>& rows() const { return rows_; }
  /// Equal where everything is, on every host.
  [[nodiscard]] std::uint64_t digest() const;
  /// Where a line ends, or the largest size when it is the last of its operation and layout.
  [[nodiscard]] std::size_t end_of(std::size_t row) const;

 private:
  friend class ChoiceParser;
  /// Puts an algorithm into the bytes from … to-1.
  void assign(Operation operation, Layout layout, std::size_t from, std::size_t to,
              const AlgorithmRow& algorithm);

  std::vector<ChoiceRow> rows_;
};

/// The schedule of `call` by the table.
[[nodiscard]] Schedule make_schedule(const ChoiceTable& table, const Call& call,
                                     const Place& place);

}  // namespace muster::comm::collective
