#pragma once

#include <cstdint>
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
  [[nodiscard]] collective::Call prepare();
  [[nodiscard]] std::uint32_t expected(std::size_t place) const;
  [[nodiscard]] std::size_t results() const;

  Group& group_;
  collective::Operation operation_;
  Form form_;
  std::uint32_t call_;
  std::vector<std::uint32_t> own_input_;
  WritableBuffer arena_;  // instead of own_input_
  std::vector<std::uint32_t> output_;
};

}  // namespace muster::comm
