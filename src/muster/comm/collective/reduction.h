#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "muster/comm/collective/element.h"

namespace muster::comm::collective {

/// How two items become one. `mean` sums, and the result is divided by the size of the group.
enum class ReductionKind : std::uint8_t { sum, prod, min, max, mean, band, bor, bxor, user };

[[nodiscard]] std::string_view name(ReductionKind kind);

/// into = into ∘ from for `count` items, each by itself: it may be called for parts of a buffer, by
/// any thread that waits in the collective, and in the background. Must be associative. It may
/// close groups, and cancel and let go of handles; other calls, of whatever group, throw
/// std::logic_error in it, because threads and ranks wait for it. When it throws, the call fails on
/// all ranks, and the group ends.
using UserFunction = std::function<void(std::byte* into, const std::byte* from, std::size_t count)>;

/// What a reducing collective does with the items of the ranks.
struct Reduction {
  ReductionKind kind = ReductionKind::sum;
  UserFunction function = {};           ///< only for `user`
  std::optional<Element> element = {};  ///< the only one that `function` is for, if there is one
  /// False: items are combined as rank 0 ∘ rank 1 ∘ …, only the brackets are free.
  bool commutative = true;

  Reduction() = default;
  Reduction(ReductionKind a_kind) : kind(a_kind) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] static Reduction of(UserFunction function, bool commutative = true) {
    Reduction reduction(ReductionKind::user);
    reduction.function = std::move(function);
    reduction.commutative = commutative;
    return reduction;
  }
  /// By a function of two items: `Reduction::of<float>([](float a, float b) { return a + b; })`.
  template <class T, class Function>
    requires std::is_invocable_r_v<T, const Function&, T, T>
  [[nodiscard]] static Reduction of(Function function, bool commutative = true) {
    Reduction reduction = of(
        [function = std::move(function)](std::byte* into, const std::byte* from,
                                         std::size_t count) {
          for (std::size_t at = 0; at < count * sizeof(T); at += sizeof(T)) {
            T left;
            T right;
            std::memcpy(&left, into + at, sizeof(T));
            std::memcpy(&right, from + at, sizeof(T));
            const T both = function(left, right);
            std::memcpy(into + at, &both, sizeof(T));
          }
        },
        commutative);
    reduction.element = element_of<T>();
    return reduction;
  }
};

/// Throws std::invalid_argument, naming operation and element, when the reduction does not exist
/// for such items: mean for integers, min and max for complex numbers, bit operations for others
/// than integers, `user` without a function or with one for other items. `called` is what the
/// caller calls the reduction, if not by its name here.
void check(std::string_view operation, const Reduction& reduction, Element element,
           std::string_view called = {});

/// The user's function threw, and this is what it said.
class ReductionFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws `ReductionFailed` when the user's function throws.
///
/// into = a ∘ b, item by item; `into` may be `a` or `b` or apart from both. Integers wrap around;
/// min and max give NaN when either item is. `mean` sums: call `divide` at the end.
void reduce(const Reduction& reduction, Element element, std::byte* into, const std::byte* a,
            const std::byte* b, std::size_t count);

/// into = sources[0] ∘ sources[1] ∘ …, in one pass over memory. At least one source; `into` may be
/// one of them.
void reduce(const Reduction& reduction, Element element, std::byte* into,
            std::span<const std::byte* const> sources, std::size_t count);

/// The last step of `mean`: every item divided by `divisor`. For floats and complex numbers.
void divide(Element element, std::byte* items, std::size_t count, std::size_t divisor);

/// into = a ∘ b for one kind and element, chosen for this processor. For loops that cannot afford
/// to look it up; not for `user`.
using ReduceKernel = void (*)(std::byte* into, const std::byte* a, const std::byte* b,
                              std::size_t count);
[[nodiscard]] ReduceKernel reduce_kernel(ReductionKind kind, Element element);

}  // namespace muster::comm::collective
