#include "muster/engine/ops/linalg/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/creation/full.h"
#include "muster/engine/ops/linalg/contract.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

namespace {

bool has_label(const Ints& labels, std::int64_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// Axes behind "..." count down from here, the last axis having this label; letters are themselves.
constexpr std::int64_t kLastOfEllipsis = -1;

/// Labels of one part of the subscripts; `axes` of the tensor, or as many as "..." has at most.
Ints labels_of(const std::string& part, std::size_t hidden, const std::string& prefix) {
  Ints labels;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part.compare(i, 3, "...") == 0) {
      for (std::size_t k = hidden; k-- > 0;)
        labels.push_back(kLastOfEllipsis - static_cast<std::int64_t>(k));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(part[i])) != 0) {
      labels.push_back(part[i]);
    } else {
      wrong_value(fmt::format("{}'{}' is no subscript", prefix, part[i]));
    }
  }
  return labels;
}

struct Subscripts {
  std::vector<Ints> inputs;
  Ints out;
};

std::size_t letters_in(const std::string& part) {
  return static_cast<std::size_t>(std::count_if(part.begin(), part.end(), [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0;
  }));
}

Subscripts parse(std::string text, const std::vector<Tensor>& tensors, const std::string& prefix) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const auto arrow = text.find("->");
  std::vector<std::string> parts(1);
  for (const char c : text.substr(0, arrow)) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back().push_back(c);
  }
  if (parts.size() != tensors.size())
    wrong_value(fmt::format("{}subscripts '{}' are for {} operands, not {}", prefix, text,
                            parts.size(), tensors.size()));
  Subscripts out;
  std::size_t most_hidden = 0;
  std::map<std::int64_t, int> seen;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t ndim = tensors[i].ndim();
    const std::size_t letters = letters_in(parts[i]);
    const bool hides = parts[i].find("...") != std::string::npos;
    if (letters > ndim || (!hides && letters != ndim))
      wrong_value(fmt::format("{}subscripts '{}' do not fit an operand of shape {}", prefix,
                              parts[i], engine::text(tensors[i].shape())));
    most_hidden = std::max(most_hidden, ndim - letters);
    out.inputs.push_back(labels_of(parts[i], ndim - letters, prefix));
    for (const std::int64_t label : out.inputs.back()) ++seen[label];
  }
  if (arrow != std::string::npos) {
    out.out = labels_of(text.substr(arrow + 2), most_hidden, prefix);
    for (const std::int64_t label : out.out) {
      if (!seen.contains(label))
        wrong_value(fmt::format("{}the output subscript '{}' is in no operand", prefix,
                                static_cast<char>(label)));
      if (std::count(out.out.begin(), out.out.end(), label) > 1)
        wrong_value(fmt::format("{}the output subscript '{}' comes twice", prefix,
                                static_cast<char>(label)));
    }
  } else {
    for (const auto& [label, count] : seen)
      if (label < 0 || count == 1) out.out.push_back(label);
  }
  return out;
}

// A tensor with its labels.
struct Term {
  Tensor tensor;
  Ints labels;
};

constexpr KernelRow kDiagonal{
    "label_diagonal", [](KernelContext& context) {
      const Array& in = context.input(0);
      const auto labels = context.attributes().get<Ints>("in");
      Shape shape;
      Strides strides;
      for (const std::int64_t label : context.attributes().get<Ints>("out")) {
        Index extent = 0;
        Index stride = 0;
        for (std::size_t axis = 0; axis < labels.size(); ++axis)
          if (labels[axis] == label) {
            extent = in.shape()[axis];
            stride += in.strides()[axis];
          }
        shape.push_back(extent);
        strides.push_back(stride);
      }
      context.set(in.view(std::move(shape), std::move(strides)));
    }};

std::vector<Meta> infer_diagonal(const Call& call) {
  const Meta input = call.inputs[0].meta();
  const auto labels = call.attributes.get<Ints>("in");
  Shape shape;
  for (const std::int64_t label : call.attributes.get<Ints>("out")) {
    Index extent = kUnknown;
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      if (labels[axis] != label || input.shape[axis] == kUnknown) continue;
      if (extent != kUnknown && extent != input.shape[axis])
        wrong_value(fmt::format("[einsum] axes with one subscript differ: {} and {}, of shape {}",
                                extent, input.shape[axis], text(input.shape)));
      extent = input.shape[axis];
    }
    shape.push_back(extent);
  }
  return {{input.dtype, shape}};
}

TileResult tile_diagonal(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const auto labels = context.attributes().get<Ints>("in");
  const auto wanted = context.attributes().get<Ints>("out");
  const DType dtype = context.input_meta(0).dtype;
  std::map<std::int64_t, std::vector<Index>> splits;
  for (std::size_t axis = 0; axis < labels.size(); ++axis) {
    const auto [at, fresh] = splits.try_emplace(labels[axis], context.input(0).splits[axis]);
    if (!fresh) at->second = common_split(at->second, context.input(0).splits[axis]);
  }
  Splits target;
  for (const std::int64_t label : labels) target.push_back(splits.at(label));
  const Tiled input = rechunk(context, context.input(0), dtype, target);
  Tiled out;
  for (const std::int64_t label : wanted) out.splits.push_back(splits.at(label));
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    Shape from;
    for (const std::int64_t label : labels)
      from.push_back(position[static_cast<std::size_t>(
          std::find(wanted.begin(), wanted.end(), label) - wanted.begin())]);
    out.chunks.push_back(context.emit(kDiagonal, {{"in", labels}, {"out", wanted}},
                                      {input.at(from)}, {dtype, extents_at(out.splits, position)}));
  });
  return out;
}

constexpr OperatorRow kDiagonalRow{
    .name = "label_diagonal",
    .summary = "axes put in order, those of one label joined to their diagonal",
    .family = Family::linalg,
    .infer = infer_diagonal,
    .tile = tile_diagonal};

Term in_order(const Term& term, const Ints& wanted) {
  if (term.labels == wanted) return term;
  return {apply_one(kDiagonalRow, {term.tensor}, {{"in", term.labels}, {"out", wanted}}), wanted};
}

Term without_repeats(const Term& term) {
  Ints once;
  for (const std::int64_t label : term.labels)
    if (!has_label(once, label)) once.push_back(label);
  return in_order(term, once);
}

/// Sums over the labels that nobody needs. A product with ones keeps the dtype, as NumPy does.
Term summed(const Term& term, const std::set<std::int64_t>& needed) {
  Ints gone;
  Ints left;
  Shape extents;
  const Shape shape = term.tensor.shape();
  for (std::size_t axis = 0; axis < term.labels.size(); ++axis) {
    if (needed.contains(term.labels[axis])) {
      left.push_back(term.labels[axis]);
    } else {
      gone.push_back(term.labels[axis]);
      extents.push_back(shape[axis]);
    }
  }
  if (gone.empty()) return term;
  if (!is_known(extents))
    wrong_value("[einsum] cannot sum over an axis whose size is not known yet; execute it first");
  const Tensor ones =
      full(extents, Scalar(std::int64_t{1}).cast(term.tensor.dtype()), std::monostate{});
  return {contract(term.tensor, ones, term.labels, gone, left), left};
}

Term product(const Term& a, const Term& b, const std::set<std::int64_t>& needed) {
  const auto also = [&](const Ints& other) {
    std::set<std::int64_t> both = needed;
    both.insert(other.begin(), other.end());
    return both;
  };
  const Term left = summed(a, also(b.labels));
  const Term right = summed(b, also(left.labels));
  Ints out;
  for (const Ints* labels : {&left.labels, &right.labels})
    for (const std::int64_t label : *labels)
      if (needed.contains(label) && !has_label(out, label)) out.push_back(label);
  return {contract(left.tensor, right.tensor, left.labels, right.labels, out), out};
}

std::vector<Tensor> expand(const Call& call) {
  if (call.inputs.empty()) wrong_value(call.prefix() + "needs operands");
  const Subscripts subscripts =
      parse(call.attributes.get<std::string>("subscripts"), call.inputs.all(), call.prefix());
  std::vector<Term> terms;
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    terms.push_back(without_repeats({call.inputs[i], subscripts.inputs[i]}));
  const auto needed_beside = [&](std::size_t i, std::size_t j) {
    std::set<std::int64_t> needed(subscripts.out.begin(), subscripts.out.end());
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (k != i && k != j) needed.insert(terms[k].labels.begin(), terms[k].labels.end());
    return needed;
  };
  // Pairs to join, as numpy.einsum_path gives them: the product goes to the end.
  Ints path = call.attributes.has("path") ? call.attributes.ints("path") : Ints{};
  std::size_t step = 0;
  while (terms.size() > 1) {
    std::size_t i = 0;
    std::size_t j = 1;
    if (2 * step + 1 < path.size()) {
      i = static_cast<std::size_t>(std::min(path[2 * step], path[2 * step + 1]));
      j = static_cast<std::size_t>(std::max(path[2 * step], path[2 * step + 1]));
      ++step;
    }
    if (i >= j || j >= terms.size()) wrong_value(call.prefix() + "the path names no such pair");
    Term joined = product(terms[i], terms[j], needed_beside(i, j));
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(j));
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i));
    terms.push_back(std::move(joined));
  }
  const Term last = summed(terms.front(), needed_beside(0, 0));
  return {in_order(last, subscripts.out).tensor};
}

constexpr OperatorRow kEinsumRow{.name = "einsum",
                                 .summary = "sums of products by Einstein's convention",
                                 .family = Family::linalg,
                                 .expand = expand};

}  // namespace

Tensor einsum(const std::string& subscripts, std::vector<Tensor> inputs) {
  return apply_one(kEinsumRow, std::move(inputs), {{"subscripts", subscripts}});
}

void register_einsum(Registry& registry) {
  registry.add(kEinsumRow);
  registry.add(kDiagonalRow);
  registry.add(kDiagonal);
}

}  // namespace muster::engine
