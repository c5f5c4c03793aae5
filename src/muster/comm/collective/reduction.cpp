#include "muster/comm/collective/reduction.h"

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/comm/collective/inside.h"
#include "muster/comm/collective/scalar.h"
#include "muster/comm/collective/vector.h"

namespace muster::comm::collective {
namespace {

// Pieces of the many-source form stay in the first level of cache between two sources.
constexpr std::size_t kPieceBytes = 4096;

void run(const UserFunction& function, std::byte* into, const std::byte* from, std::size_t count) {
  const Inside inside(Inside::Of::reduction);
  try {
    function(into, from, count);
  } catch (const std::exception& problem) {
    throw ReductionFailed(problem.what());
  } catch (...) {
    throw ReductionFailed("it threw what is no std::exception");
  }
}

/// into = a ∘ b where into is b, which a user function cannot do in one go.
void apply_onto_right(const UserFunction& function, std::byte* into, const std::byte* a,
                      std::size_t count, std::size_t item) {
  std::array<std::byte, kPieceBytes> right;
  const std::size_t most = kPieceBytes / item;
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(most, count - done);
    std::byte* const at = into + done * item;
    std::memcpy(right.data(), at, now * item);
    std::memcpy(at, a + done * item, now * item);
    run(function, at, right.data(), now);
    done += now;
  }
}

void apply(const UserFunction& function, std::byte* into, const std::byte* a, const std::byte* b,
           std::size_t count, std::size_t item) {
  if (into == b && into != a) return apply_onto_right(function, into, a, count, item);
  if (into != a) std::memcpy(into, a, count * item);
  run(function, into, b, count);
}

/// The kernels of this processor.
class KernelTable {
 public:
  KernelTable() {
    for (std::size_t kind = 0; kind < kKinds; ++kind)
      for (const Element element : kElements) {
        ReduceKernel& kernel = kernels_[kind][static_cast<std::size_t>(element)];
        kernel = vector::kernel(static_cast<ReductionKind>(kind), element);
        if (kernel == nullptr) kernel = scalar::kernel(static_cast<ReductionKind>(kind), element);
      }
  }
  [[nodiscard]] ReduceKernel find(ReductionKind kind, Element element) const {
    return kernels_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(element)];
  }

 private:
  static constexpr std::size_t kKinds = 9;
  std::array<std::array<ReduceKernel, kElements.size()>, kKinds> kernels_ = {};
};

bool exists(ReductionKind kind, Element element) {
  switch (kind) {
    case ReductionKind::mean: return !is_integer(element);
    case ReductionKind::min:
    case ReductionKind::max: return !is_complex(element);
    case ReductionKind::band:
    case ReductionKind::bor:
    case ReductionKind::bxor: return is_integer(element);
    default: return true;
  }
}

std::string_view instead(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::mean:
      return "it needs floats or complex numbers; convert first, or use sum";
    case ReductionKind::min:
    case ReductionKind::max: return "complex numbers have no order";
    default: return "it needs integers";
  }
}

template <class T>
void divide_items(std::byte* items, std::size_t count, std::size_t divisor) {
  using Number = std::conditional_t<scalar::Half<T>, float, T>;
  const auto by = static_cast<Number>(divisor);
  for (std::size_t i = 0; i < count; ++i) {
    T item;
    std::memcpy(&item, items + i * sizeof(T), sizeof(T));
    if constexpr (scalar::Half<T>)
      item = scalar::from_float<T>(to_float(item) / by);
    else
      item = item / by;
    std::memcpy(items + i * sizeof(T), &item, sizeof(T));
  }
}

}  // namespace

std::string_view name(ReductionKind kind) {
  constexpr std::array<std::string_view, 9> kNames = {"sum",  "prod", "min",  "max", "mean",
                                                      "band", "bor",  "bxor", "user"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "unknown";  // what another rank says
}

void check(std::string_view operation, const Reduction& reduction, Element element,
           std::string_view called) {
  if (reduction.kind == ReductionKind::user) {
    if (!reduction.function)
      throw std::invalid_argument(
          fmt::format("[{}] the user's reduction has no function", operation));
    if (reduction.element && *reduction.element != element)
      throw std::invalid_argument(fmt::format("[{}] the reduction function is for {}, not for {}",
                                              operation, name(*reduction.element), name(element)));
    return;
  }
  if (!exists(reduction.kind, element))
    throw std::invalid_argument(fmt::format("[{}] {} is not defined for {}: {}", operation,
                                            called.empty() ? name(reduction.kind) : called,
                                            name(element), instead(reduction.kind)));
}

ReduceKernel reduce_kernel(ReductionKind kind, Element element) {
  static const KernelTable table;
  const ReduceKernel kernel = table.find(kind, element);
  MUSTER_ASSERT(kernel != nullptr, "check() has refused reductions that do not exist");
  return kernel;
}

void reduce(const Reduction& reduction, Element element, std::byte* into, const std::byte* a,
            const std::byte* b, std::size_t count) {
  if (count == 0) return;
  if (reduction.kind == ReductionKind::user)
    return apply(reduction.function, into, a, b, count, item_size(element));
  reduce_kernel(reduction.kind, element)(into, a, b, count);
}

void reduce(const Reduction& reduction, Element element, std::byte* into,
            std::span<const std::byte* const> sources, std::size_t count) {
  MUSTER_ASSERT(!sources.empty(), "a reduction has at least one source");
  const std::size_t item = item_size(element);
  if (sources.size() == 1) {
    if (into != sources[0]) std::memcpy(into, sources[0], count * item);
    return;
  }
  if (sources.size() == 2) return reduce(reduction, element, into, sources[0], sources[1], count);
  const std::size_t most = kPieceBytes / item;
  alignas(64) std::array<std::byte, kPieceBytes> sum;  // `into` may be a source that comes later
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t now = std::min(most, count - done);
    const std::size_t offset = done * item;
    const std::byte* left = sources[0] + offset;
    for (std::size_t i = 1; i + 1 < sources.size(); ++i) {
      reduce(reduction, element, sum.data(), left, sources[i] + offset, now);
      left = sum.data();
    }
    reduce(reduction, element, into + offset, left, sources.back() + offset, now);
  }
}

void divide(Element element, std::byte* items, std::size_t count, std::size_t divisor) {
  switch (element) {
    case Element::bf16: return divide_items<BFloat16>(items, count, divisor);
    case Element::f16: return divide_items<Float16>(items, count, divisor);
    case Element::f32: return divide_items<float>(items, count, divisor);
    case Element::f64: return divide_items<double>(items, count, divisor);
    // The parts of a complex number are divided each by itself.
    case Element::c64: return divide_items<float>(items, 2 * count, divisor);
    case Element::c128: return divide_items<double>(items, 2 * count, divisor);
    default: MUSTER_ASSERT(false, "check() has refused the mean of integers");
  }
}

}  // namespace muster::comm::collective
