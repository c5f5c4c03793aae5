#include "muster/engine/ops/elementwise/conversion.h"

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/targets.h"
#include "muster/engine/kernels/time_units.h"
#include "muster/engine/ops/elementwise/elementwise.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/elementwise/conversion.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "muster/engine/ops/elementwise/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::HWY_NAMESPACE {

struct Select {
  template <class T>
  static HWY_INLINE T of(bool condition, T x, T y) {
    return condition ? x : y;
  }
};

/// The items are moved, whatever they are, so their size decides.
template <class T>
LoopRow select(Type type) {
  return {{Type::b1, type, type}, type, run<Select, T, bool, T, T>};
}

std::vector<UfuncRow> selections() {
  std::vector<LoopRow> loops;
  for (std::size_t i = 0; i < kTypes; ++i) {
    const auto type = static_cast<Type>(i);
    switch (item_size(type)) {
      case 1: loops.push_back(select<std::uint8_t>(type)); break;
      case 2: loops.push_back(select<std::uint16_t>(type)); break;
      case 4: loops.push_back(select<std::uint32_t>(type)); break;
      case 8: loops.push_back(select<std::uint64_t>(type)); break;
      default: loops.push_back(select<std::complex<double>>(type)); break;
    }
  }
  return {{"where", "x1 where the condition holds, else x2", {3, std::move(loops)}}};
}

}  // namespace muster::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {
namespace {
HWY_EXPORT(selections);

std::optional<Casting> casting_named(const std::string& name) {
  if (name == "safe") return Casting::safe;
  if (name == "same_kind") return Casting::same_kind;
  if (name == "unsafe") return Casting::unsafe;
  return std::nullopt;
}

std::vector<Meta> infer_astype(const Call& call) {
  const Meta from = call.inputs.front().meta();
  const auto to = call.attributes.get<DType>("dtype");
  const auto rule = call.attributes.get<std::string>("casting", "unsafe");
  const auto casting = casting_named(rule);
  const bool exact = rule == "no" || rule == "equiv";
  if (!casting && !exact)
    wrong_value(
        fmt::format("{}casting is one of 'no', 'equiv', 'safe', 'same_kind' and 'unsafe', "
                    "not '{}'",
                    call.prefix(), rule));
  if (exact ? from.dtype != to : !can_cast(from.dtype, to, *casting))
    wrong_type(fmt::format("{}cannot cast from {} to {} by the rule '{}'", call.prefix(),
                           name(from.dtype), name(to), rule));
  check_units(from.dtype, to, call.row.name);
  return {{to, from.shape}};
}

}  // namespace

void register_conversion(Registry& registry) {
  static const UfuncTable kTable(HWY_DYNAMIC_DISPATCH(selections)());
  kTable.add_to(registry);
  static const Ufunc kConversion{1, {}};
  static const OperatorRow kAstype{.name = "astype",
                                   .summary = "the items as another dtype",
                                   .family = Family::elementwise,
                                   .infer = infer_astype,
                                   .tile = tile_elementwise,
                                   .ufunc = &kConversion};
  registry.add(kAstype);
}

Tensor astype(const Tensor& x, DType dtype) { return apply_one("astype", {x}, {{"dtype", dtype}}); }
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y) {
  return apply_one("where", {condition, x, y});
}

}  // namespace muster::engine
#endif
