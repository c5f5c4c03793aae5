#include "muster/engine/ops/statistics/histogram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/converted.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/kernels/ufunc.h"
#include "muster/engine/ops/statistics/joined_counts.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

namespace {

/// In which bin an item is, -1 for none.
class Bins {
 public:
  Bins(const double* edges, Index count, bool uniform)
      : edges_(edges), bins_(count - 1), uniform_(uniform) {
    if (bins_ > 0) scale_ = static_cast<double>(bins_) / (edges[bins_] - edges[0]);
  }

  [[nodiscard]] Index of(double item) const {
    if (!(item >= edges_[0] && item <= edges_[bins_])) return -1;
    if (!uniform_) {
      const Index bin = std::upper_bound(edges_, edges_ + bins_ + 1, item) - edges_ - 1;
      return std::min(bin, bins_ - 1);
    }
    Index bin = std::clamp<Index>(static_cast<Index>((item - edges_[0]) * scale_), 0, bins_ - 1);
    // The edges themselves decide, whatever the division rounded to.
    if (item < edges_[bin]) --bin;
    if (bin < bins_ - 1 && item >= edges_[bin + 1]) ++bin;
    return bin;
  }

 private:
  const double* edges_;  ///< of the caller's array
  Index bins_;
  bool uniform_;
  double scale_ = 0;
};

void run_count(KernelContext& context) {
  const Array edges = gapless(context.input(1), Type::f64, context.memory());
  const double* const at = edges.as<double>();
  const Bins bins(at, edges.size(), context.attributes().get<bool>("uniform", false));
  const Array items = gapless(context.input(0), Type::f64, context.memory());
  const double* const from = items.as<double>();
  const Index count = std::max<Index>(edges.size() - 1, 0);
  const bool weighted = context.inputs().size() > 2;
  Array out = context.make(weighted ? Type::f64 : Type::i64, {count});
  if (!weighted) {
    auto* const counts = out.mutable_as<Index>();
    std::fill_n(counts, count, 0);
    for (Index i = 0; count > 0 && i < items.size(); ++i)
      if (const Index bin = bins.of(from[i]); bin >= 0) ++counts[bin];
  } else {
    const Array weights = gapless(context.input(2), Type::f64, context.memory());
    auto* const sums = out.mutable_as<double>();
    std::fill_n(sums, count, 0.0);
    for (Index i = 0; count > 0 && i < items.size(); ++i)
      if (const Index bin = bins.of(from[i]); bin >= 0) sums[bin] += weights.as<double>()[i];
  }
  context.set(std::move(out));
}
constexpr KernelRow kCountKernel{"histogram_count", run_count};

std::vector<Meta> infer_count(const Call& call) {
  for (const Tensor& input : call.inputs)
    if (is_complex(input.dtype().type) || is_time(input.dtype().type))
      wrong_type(fmt::format("{}is not defined for {}", call.prefix(), name(input.dtype())));
  const Shape edges = call.inputs[1].shape();
  if (edges.size() != 1)
    wrong_value(fmt::format("{}bins have one axis, not the shape {}", call.prefix(), text(edges)));
  const bool weighted = call.inputs.size() > 2;
  const Index count = edges.front() == kUnknown ? kUnknown : std::max<Index>(edges.front() - 1, 0);
  return {{weighted ? Type::f64 : Type::i64, {count}}};
}

TileResult tile_count(TileContext& context) {
  if (!context.knows(1)) return context.wait_for_sizes({1});
  const Index length = shape_of(context.input(1).splits).front();
  const Tiled edges = rechunk(context, context.input(1), context.input_meta(1).dtype, {{length}});
  Tiled weights;
  const bool weighted = context.inputs() > 2;
  if (weighted && !align_weights(context, 2, weights)) {
    std::vector<std::size_t> unknown;
    for (const std::size_t i : {0, 2})
      if (!context.knows(i)) unknown.push_back(i);
    return context.wait_for_sizes(unknown);
  }
  const Meta meta{context.output().dtype, {std::max<Index>(length - 1, 0)}};
  std::vector<ChunkRef> counts;
  const Attributes attributes = {{"uniform", context.attributes().get<bool>("uniform", false)}};
  for (std::size_t i = 0; i < context.input(0).chunks.size(); ++i) {
    std::vector<ChunkRef> inputs = {context.input(0).chunks[i], edges.chunks.front()};
    if (weighted) inputs.push_back(weights.chunks[i]);
    counts.push_back(context.emit(kCountKernel, attributes, std::move(inputs), meta));
  }
  return Tiled{{meta.shape}, {join_counts(context, std::move(counts), 0)}};
}

constexpr OperatorRow kCount{.name = "histogram_count",
                             .summary = "how many items are between edges",
                             .family = Family::statistics,
                             .infer = infer_count,
                             .tile = tile_count};

/// What the rules for the width of bins go by.
struct Sample {
  double count;
  double least;
  double greatest;
  std::array<double, 3> more;  ///< quartile distance or standard deviation, then skewness
  [[nodiscard]] double range() const { return greatest - least; }
};

double width_by(const std::string& rule, const Sample& x) {
  const double sturges = x.range() / (std::log2(x.count) + 1.0);
  const double root = x.range() / std::sqrt(x.count);
  if (rule == "sqrt") return root;
  if (rule == "sturges") return sturges;
  if (rule == "rice") return x.range() / (2.0 * std::cbrt(x.count));
  if (rule == "scott") return std::cbrt(24.0 * std::sqrt(std::numbers::pi) / x.count) * x.more[0];
  const double freedman = 2.0 * x.more[0] * std::pow(x.count, -1.0 / 3.0);
  if (rule == "fd") return freedman;
  if (rule == "auto") return std::min(std::max(freedman, root / 2), sturges);
  // doane
  if (x.count <= 2 || !(x.more[0] > 0)) return 0;
  const double spread = std::sqrt(6.0 * (x.count - 2) / ((x.count + 1.0) * (x.count + 3.0)));
  return x.range() / (1.0 + std::log2(x.count) + std::log2(1.0 + std::abs(x.more[1]) / spread));
}

/// Inputs, each one number: how many items, the least, the greatest, and what the rule needs.
void run_edges(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  std::array<double, 6> numbers{};
  for (std::size_t i = 0; i < context.inputs().size(); ++i)
    numbers[i] = *gapless(context.input(i), Type::f64, context.memory()).as<double>();
  const Sample sample{numbers[0], numbers[1], numbers[2], {numbers[3], numbers[4], numbers[5]}};
  const bool ranged = attributes.has("first");
  double first = ranged ? attributes.get<double>("first") : sample.least;
  double last = ranged ? attributes.get<double>("last") : sample.greatest;
  if (!ranged && sample.count == 0) {
    first = 0;
    last = 1;
  }
  if (!std::isfinite(first) || !std::isfinite(last))
    wrong_value(
        fmt::format("[histogram] the range of the items is not finite: {} to {}", first, last));
  if (first == last) {
    first -= 0.5;
    last += 0.5;
  }
  Index bins = attributes.get<std::int64_t>("count", 1);
  if (attributes.has("rule") && sample.count > 0) {
    double width = width_by(attributes.get<std::string>("rule"), sample);
    if (width > 0 && width < 1 && attributes.get<bool>("whole", false)) width = 1;
    constexpr double kMost = 1e9;  // edges of more bins than this would fill the memory
    bins = width > 0 ? static_cast<Index>(std::min(std::ceil((last - first) / width), kMost)) : 1;
    bins = std::max<Index>(bins, 1);
  }
  Array edges = context.make(Type::f64, {bins + 1});
  auto* const out = edges.mutable_as<double>();
  const double step = (last - first) / static_cast<double>(bins);
  for (Index i = 0; i < bins; ++i) out[i] = static_cast<double>(i) * step + first;
  out[bins] = last;
  context.set(gapless(edges, attributes.get<DType>("dtype").type, context.memory()));
}
constexpr KernelRow kEdgesKernel{"histogram_edges", run_edges};

std::vector<Meta> infer_edges(const Call& call) {
  const bool ruled = call.attributes.has("rule");
  const Index count = ruled ? kUnknown : call.attributes.get<std::int64_t>("count") + 1;
  return {{call.attributes.get<DType>("dtype"), {count}}};
}

TileResult tile_edges(TileContext& context) {
  std::vector<ChunkRef> inputs;
  for (std::size_t i = 0; i < context.inputs(); ++i)
    inputs.push_back(context.input(i).chunks.front());
  const Meta meta = context.output();
  return Tiled{{meta.shape}, {context.emit(kEdgesKernel, context.attributes(), inputs, meta)}};
}

constexpr OperatorRow kEdges{.name = "histogram_edges",
                             .summary = "edges of evenly spaced bins by a rule",
                             .family = Family::statistics,
                             .infer = infer_edges,
                             .tile = tile_edges};

}  // namespace

void register_histogram(Registry& registry) {
  registry.add(kCount);
  registry.add(kCountKernel);
  registry.add(kEdges);
  registry.add(kEdgesKernel);
}

Tensor histogram_count(const Tensor& x, const Tensor& edges) {
  return apply_one(kCount, {x, edges});
}

}  // namespace muster::engine
