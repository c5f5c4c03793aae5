#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "muster/comm/collective/group.h"
#include "tests/integration/collective/forms.h"

namespace muster::comm {

/// Calls of one operation, one after the other, whose items depend on the rank, the call and their
/// place: what is old, torn or another rank's never passes for a result. Every item of every call
/// that returned ok is compared; the first that is wrong ends the process. Rank 1 is the root.
class CheckedCalls {
 public:
  /// `group` outlives it. `first` is the number of the first call, the same on all ranks.
  CheckedCalls(Group& group, collective::Operation operation, const Form& form,
               std::uint32_t first = 0);

  Result<void> next(const CallOptions& options = {});

  /// The same in two parts. The buffers are used until the handle is over.
  [[nodiscard]] Result<Handle> start_next(const CallOptions& options = {});
  void check_result() const;

 private:
  using Counts = std::vector<std::size_t>;

  [[nodiscard]] bool is(Trait trait) const { return form_.trait == trait; }
  [[nodiscard]] int root() const;
  [[nodiscard]] bool is_root() const { return group_.rank() == root(); }
  [[nodiscard]] std::size_t given(int from, int to) const;
  [[nodiscard]] Counts given_by(int rank) const;
  [[nodiscard]] Counts given_to(int rank) const;
  [[nodiscard]] std::size_t input_items() const;
  [[nodiscard]] std::size_t output_items() const;
  [[nodiscard]] std::span<std::uint32_t> input();
  [[nodiscard]] std::span<const std::uint32_t> result() const;
  [[nodiscard]] collective::Call prepare();
  void tell_counts(collective::Call& call) const;
  [[nodiscard]] std::uint32_t combined(std::size_t place) const;
  [[nodiscard]] std::vector<std::uint32_t> expected() const;

  Group& group_;
  collective::Operation operation_;
  Form form_;
  std::uint32_t call_;
  std::vector<std::uint32_t> own_input_;
  WritableBuffer arena_;               // instead of own_input_
  std::vector<std::uint32_t> output_;  // in place the input, too
};

}  // namespace muster::comm
