#include "muster/engine/graph/tensor.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/base/suggest.h"
#include "muster/engine/errors.h"
#include "muster/engine/graph/operator.h"

namespace muster::engine {

namespace {

// Of NumPy 1, and what the headers of chunks have room for. Passes are not made for a million.
constexpr std::size_t kMostAxes = 32;

thread_local Origin current_origin;

void check_shape(const Call& call, const Shape& shape) {
  if (shape.size() > kMostAxes)
    wrong_value(fmt::format("{}a tensor has at most {} axes, not {}", call.prefix(), kMostAxes,
                            shape.size()));
  if (std::ranges::any_of(shape, [](Index extent) { return extent < 0 && extent != kUnknown; }))
    wrong_value(fmt::format("{}an extent of {} is negative", call.prefix(), text(shape)));
  static_cast<void>(volume(shape));  // it can be counted
}

}  // namespace

Meta Tensor::meta() const {
  MUSTER_ASSERT(node_ != nullptr, "an empty tensor has no meta");
  return node_->meta(output_);
}

Node::Node(const OperatorRow& row, Attributes attributes, std::vector<Tensor> inputs,
           std::vector<Meta> outputs, Origin origin)
    : row_(row),
      attributes_(std::move(attributes)),
      inputs_(std::move(inputs)),
      origin_(std::move(origin)),
      outputs_(std::move(outputs)),
      stored_(outputs_.size()) {}

Node::~Node() {
  // A chain of a million operators would otherwise be a million nested destructors.
  std::vector<Tensor> rest = std::move(inputs_);
  while (!rest.empty()) {
    Tensor last = std::move(rest.back());
    rest.pop_back();
    if (last.node() && last.node().use_count() == 1)
      for (Tensor& input : last.node()->inputs_) rest.push_back(std::move(input));
  }
}

Meta Node::meta(std::size_t output) const {
  const std::scoped_lock lock(mutex_);
  return outputs_[output];
}

std::shared_ptr<const Stored> Node::stored(std::size_t output) const {
  const std::scoped_lock lock(mutex_);
  return stored_[output];
}

void Node::keep(std::size_t output, std::shared_ptr<const Stored> stored) {
  const std::scoped_lock lock(mutex_);
  if (stored && !is_known(outputs_[output].shape))
    outputs_[output].shape = shape_of(stored->splits());
  stored_[output] = std::move(stored);
}

OriginScope::OriginScope(Origin origin)
    : before_(std::exchange(current_origin, std::move(origin))) {}
OriginScope::~OriginScope() { current_origin = std::move(before_); }

std::vector<Tensor> apply(const OperatorRow& row, std::vector<Tensor> inputs, Attributes attributes,
                          Origin origin) {
  if (origin.text.empty()) origin = current_origin;
  const Call call(row, attributes, inputs);
  if (row.expand != nullptr) {
    const OriginScope scope(origin);
    return row.expand(call);
  }
  std::vector<Meta> metas = row.infer(call);
  for (const Meta& meta : metas) check_shape(call, meta.shape);
  const std::size_t outputs = metas.size();
  auto node = std::make_shared<Node>(row, std::move(attributes), std::move(inputs),
                                     std::move(metas), std::move(origin));
  std::vector<Tensor> results;
  for (std::size_t output = 0; output < outputs; ++output) results.emplace_back(node, output);
  return results;
}

std::vector<Tensor> apply(std::string_view name, std::vector<Tensor> inputs, Attributes attributes,
                          Origin origin) {
  const OperatorRow* const row = registry().find_operator(name);
  if (row == nullptr) {
    std::vector<std::string> names;
    for (const OperatorRow* each : registry().operators()) names.emplace_back(each->name);
    wrong_value(fmt::format("there is no operator '{}'{}", name, did_you_mean(name, names)));
  }
  return apply(*row, std::move(inputs), std::move(attributes), std::move(origin));
}

Tensor apply_one(const OperatorRow& row, std::vector<Tensor> inputs, Attributes attributes) {
  std::vector<Tensor> results = apply(row, std::move(inputs), std::move(attributes));
  MUSTER_ASSERT(results.size() == 1, "asked for one result of an operator that has several");
  return std::move(results.front());
}

Tensor apply_one(std::string_view name, std::vector<Tensor> inputs, Attributes attributes) {
  std::vector<Tensor> results = apply(name, std::move(inputs), std::move(attributes));
  MUSTER_ASSERT(results.size() == 1, "asked for one result of an operator that has several");
  return std::move(results.front());
}

}  // namespace muster::engine
