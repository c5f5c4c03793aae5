#include "muster/engine/wire/graphs.h"

#include <string>

#include "muster/engine/graph/operator.h"
#include "muster/engine/wire/values.h"

namespace muster::engine {

namespace {

constexpr std::string_view kMagic = "MGRF";
constexpr std::uint16_t kVersion = 2;
constexpr std::size_t kMostNodes = 1'000'000;

void write_ref(ByteWriter& out, PlanRef ref) {
  out.number(ref.step);
  out.number(ref.output);
}

Tensor read_ref(ByteReader& in, const std::vector<std::vector<Tensor>>& nodes) {
  const auto node = in.number<std::uint32_t>();
  const auto output = in.number<std::uint32_t>();
  if (node >= nodes.size() || output >= nodes[node].size())
    in.refuse(fmt::format("output {} of node {} is not there yet", output, node));
  return nodes[node][output];
}

/// How a node begins.
enum class NodeKind : std::uint8_t { operation, stored };

/// Stands for what the receiver has already; it is never tiled.
constexpr OperatorRow kStoredRow{.name = "stored", .summary = "computed before"};

std::vector<Tensor> read_stored(ByteReader& in, const FindStored& find) {
  std::vector<std::shared_ptr<const Stored>> outputs;
  std::vector<Meta> metas;
  for (std::size_t left = in.count(4); left > 0; --left) {
    const std::string_view key = in.text();
    auto stored = find ? find(key) : nullptr;
    if (!stored) in.refuse(fmt::format("there is no tensor '{}' here", key));
    metas.push_back({stored->dtype(), shape_of(stored->splits())});
    outputs.push_back(std::move(stored));
  }
  auto node = std::make_shared<Node>(kStoredRow, Attributes(), std::vector<Tensor>(),
                                     std::move(metas), Origin());
  std::vector<Tensor> tensors;
  for (std::size_t output = 0; output < outputs.size(); ++output) {
    node->keep(output, std::move(outputs[output]));
    tensors.emplace_back(node, output);
  }
  return tensors;
}

std::vector<Tensor> read_node(ByteReader& in, const std::vector<std::vector<Tensor>>& nodes,
                              const FindStored& find, const MakeFunction& make_function) {
  const auto kind = in.number<std::uint8_t>();
  if (kind == static_cast<std::uint8_t>(NodeKind::stored)) return read_stored(in, find);
  if (kind != static_cast<std::uint8_t>(NodeKind::operation))
    in.refuse(fmt::format("there is no kind of node {}", kind));
  const std::string_view name = in.text();
  const OperatorRow* const row = registry().find_operator(name);
  if (row == nullptr) in.refuse(fmt::format("there is no operator '{}'", name));
  if (row->infer == nullptr)
    in.refuse(fmt::format("'{}' is made of other operators, which must be sent", name));
  Attributes attributes = read_attributes(in, make_function);
  std::vector<Tensor> inputs(in.count(8));
  for (Tensor& input : inputs) input = read_ref(in, nodes);
  std::string origin(in.text());
  return apply(*row, std::move(inputs), std::move(attributes), {std::move(origin)});
}

}  // namespace

std::vector<std::byte> write_graph(const std::vector<Tensor>& tensors, const KeysOf& keys_of) {
  const Plan plan = make_plan(tensors);
  ByteWriter out;
  out.raw(as_bytes(kMagic));
  out.number(kVersion);
  out.count(plan.steps.size());
  for (const PlanStep& step : plan.steps) {
    const std::vector<std::string> keys = keys_of ? keys_of(step) : std::vector<std::string>();
    if (!keys.empty()) {
      out.number(static_cast<std::uint8_t>(NodeKind::stored));
      out.count(keys.size());
      for (const std::string& key : keys) out.text(key);
      continue;
    }
    if (step.is_stored())
      wrong_value(fmt::format("the computed '{}' is not known to the receiver", step.row->name));
    out.number(static_cast<std::uint8_t>(NodeKind::operation));
    out.text(step.row->name);
    write_attributes(out, step.attributes);
    out.count(step.inputs.size());
    for (const PlanRef input : step.inputs) write_ref(out, input);
    out.text(step.origin.text);
  }
  out.count(plan.results.size());
  for (const PlanRef result : plan.results) write_ref(out, result);
  return out.take();
}

std::vector<Tensor> read_graph(ByteSpan bytes, const FindStored& find,
                               const MakeFunction& make_function) {
  ByteReader in(bytes);
  if (as_text(in.raw(kMagic.size())) != kMagic) in.refuse("this is no graph");
  const auto version = in.number<std::uint16_t>();
  if (version != kVersion)
    in.refuse(fmt::format("version {}, but this program reads version {}", version, kVersion));
  std::vector<std::vector<Tensor>> nodes;
  const std::size_t count = in.count(5);
  if (count > kMostNodes)
    in.refuse(fmt::format("{} nodes, but {} are the most", count, kMostNodes));
  for (std::size_t node = 0; node < count; ++node)
    nodes.push_back(read_node(in, nodes, find, make_function));
  std::vector<Tensor> results(in.count(8));
  for (Tensor& result : results) result = read_ref(in, nodes);
  if (in.left() > 0) in.refuse(fmt::format("{} bytes too many", in.left()));
  return results;
}

}  // namespace muster::engine
