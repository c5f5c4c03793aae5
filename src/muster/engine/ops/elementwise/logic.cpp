#include "muster/engine/ops/elementwise/logic.h"

#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/elementwise/logic.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "muster/engine/ops/elementwise/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::HWY_NAMESPACE {

struct BitwiseAnd {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitwiseOr {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitwiseXor {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Invert {
  template <class T>
  static HWY_INLINE T of(T a) {
    if constexpr (std::is_same_v<T, bool>)
      return !a;
    else
      return static_cast<T>(~a);
  }
};

/// Shifts by as many bits as there are, or more, leave nothing but the sign.
template <class T>
HWY_INLINE bool in_range(T shift) {
  return static_cast<std::make_unsigned_t<T>>(shift) < 8 * sizeof(T);
}
struct LeftShift {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    const auto by = static_cast<unsigned>(in_range(b) ? b : T(0));
    const auto shifted = static_cast<T>(static_cast<Wrapping<T>>(a) << by);
    return in_range(b) ? shifted : T(0);
  }
};
struct RightShift {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    constexpr auto kMost = static_cast<T>(8 * sizeof(T) - 1);
    const auto by = static_cast<unsigned>(in_range(b) ? b : kMost);
    const auto shifted = static_cast<T>(a >> by);
    return in_range(b) || std::is_signed_v<T> ? shifted : T(0);
  }
};

Type next(Type type) { return static_cast<Type>(static_cast<int>(type) + 1); }

/// Numbers of any type are bools on their way in.
template <class Op>
std::vector<LoopRow> of_two() {
  std::vector<LoopRow> rows;
  for (auto type = Type::b1; type <= Type::c128; type = next(type))
    rows.push_back({{type, type}, Type::b1, run<Op, bool, bool, bool>, {Type::b1, Type::b1}});
  return rows;
}
std::vector<LoopRow> of_one() {
  std::vector<LoopRow> rows;
  for (auto type = Type::b1; type <= Type::c128; type = next(type))
    rows.push_back({{type}, Type::b1, run<Invert, bool, bool>, {Type::b1}});
  return rows;
}

std::vector<UfuncRow> logic() {
  return {
      {"logical_and", "whether both are not zero", {2, of_two<BitwiseAnd>()}},
      {"logical_or", "whether one is not zero", {2, of_two<BitwiseOr>()}},
      {"logical_xor", "whether just one is not zero", {2, of_two<BitwiseXor>()}},
      {"logical_not", "whether it is zero", {1, of_one()}},
      {"bitwise_and", "x1 & x2", {2, Rows().binary<BitwiseAnd>(kBool).whole_binary<BitwiseAnd>()}},
      {"bitwise_or", "x1 | x2", {2, Rows().binary<BitwiseOr>(kBool).whole_binary<BitwiseOr>()}},
      {"bitwise_xor", "x1 ^ x2", {2, Rows().binary<BitwiseXor>(kBool).whole_binary<BitwiseXor>()}},
      {"invert", "~x", {1, Rows().unary<Invert>(kBool).whole_unary<Invert>()}},
      {"left_shift", "x1 << x2", {2, Rows().whole_binary<LeftShift>()}},
      {"right_shift", "x1 >> x2", {2, Rows().binary<RightShift>(kIntegers)}},
  };
}

}  // namespace muster::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {
namespace {
HWY_EXPORT(logic);
}

void register_logic(Registry& registry) {
  static const UfuncTable kTable(HWY_DYNAMIC_DISPATCH(logic)());
  kTable.add_to(registry);
}

}  // namespace muster::engine
#endif
