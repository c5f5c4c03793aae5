#include "muster/engine/ops/fft/transform.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/python/function_kernel.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

namespace {

std::vector<Meta> infer(const Call& call) {
  Meta out = call.inputs[0].meta();
  out.dtype = call.attributes.get<DType>("dtype");
  const Ints axes = call.attributes.ints("axes");
  const Ints sizes = call.attributes.ints("sizes");
  if (sizes.size() != axes.size())
    wrong_value(
        fmt::format("{}there are {} axes, but {} sizes", call.prefix(), axes.size(), sizes.size()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(
        normal_axis(axes[i], out.shape.size(), std::string(call.row.name)));
    if (sizes[i] < 1)
      wrong_value(fmt::format("{}the number of points must be positive: {} for axis {}",
                              call.prefix(), sizes[i], axis));
    out.shape[axis] = sizes[i];
  }
  return {out};
}

/// The transformed axes whole, and the longest other one cut so that every thread has something.
Splits cut_others(const TileContext& context, const std::vector<bool>& whole) {
  const Shape& shape = context.input_meta(0).shape;
  Splits target = context.input(0).splits;
  std::size_t longest = shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (whole[axis])
      target[axis] = {shape[axis]};
    else if (longest == shape.size() || shape[axis] > shape[longest])
      longest = axis;
  }
  const auto threads = static_cast<Index>(context.options().threads);
  constexpr Index kSmall = 1 << 14;
  if (longest == shape.size() || volume(shape) < kSmall ||
      static_cast<Index>(chunk_count(target)) >= threads)
    return target;
  const Index length = std::max<Index>(1, (shape[longest] + 2 * threads - 1) / (2 * threads));
  std::vector<Index> pieces;
  for (const Index extent : target[longest])
    for (const Index piece : even_split(extent, length)) pieces.push_back(piece);
  target[longest] = pieces;
  return target;
}

TileResult tile(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const Ints axes = context.attributes().ints("axes");
  const Ints sizes = context.attributes().ints("sizes");
  const DType dtype = context.output().dtype;
  const std::size_t ndim = context.input_meta(0).shape.size();
  std::vector<bool> whole(ndim, false);
  for (const Index axis : axes)
    whole[static_cast<std::size_t>(normal_axis(axis, ndim, std::string(context.row().name)))] =
        true;
  const Tiled input =
      rechunk(context, context.input(0), context.input_meta(0).dtype, cut_others(context, whole));
  Tiled out{input.splits, {}};
  for (std::size_t i = 0; i < axes.size(); ++i)
    out.splits[static_cast<std::size_t>(normal_axis(axes[i], ndim, "fft"))] = {sizes[i]};
  const Attributes attributes = {{"function", context.attributes().value("function")},
                                 {"dtypes", List{{dtype}}}};
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    Shape shape = extents_at(out.splits, position);
    out.chunks.push_back(context.emit(function_kernel(), attributes.with("shape", Ints(shape)),
                                      {input.at(position)}, {dtype, shape}));
  });
  return out;
}

constexpr OperatorRow transform(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .family = Family::fft,
          .infer = infer,
          .tile = tile,
          .through_python = true};
}

constexpr std::array kRows = {
    transform("fft.fft", "the discrete Fourier transform along an axis"),
    transform("fft.ifft", "its inverse"),
    transform("fft.fft2", "the discrete Fourier transform along two axes"),
    transform("fft.ifft2", "its inverse"),
    transform("fft.fftn", "the discrete Fourier transform along axes"),
    transform("fft.ifftn", "its inverse"),
    transform("fft.rfft", "the discrete Fourier transform of real items along an axis"),
    transform("fft.irfft", "its inverse"),
    transform("fft.rfft2", "the discrete Fourier transform of real items along two axes"),
    transform("fft.irfft2", "its inverse"),
    transform("fft.rfftn", "the discrete Fourier transform of real items along axes"),
    transform("fft.irfftn", "its inverse"),
    transform("fft.hfft", "the discrete Fourier transform of a signal with Hermitian symmetry"),
    transform("fft.ihfft", "its inverse"),
};

}  // namespace

void register_transforms(Registry& registry) {
  for (const OperatorRow& row : kRows) registry.add(row);
}

}  // namespace muster::engine
