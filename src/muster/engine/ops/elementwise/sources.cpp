#include "muster/engine/ops/elementwise/sources.h"

#include "muster/base/assert.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

/// Attributes as an attribute: a list of names and values.
List packed(const Attributes& attributes) {
  List list;
  for (const auto& [name, value] : attributes.pairs()) {
    list.push_back({name});
    list.push_back({value});
  }
  return list;
}

Attributes unpacked(const Attribute& packed) {
  const auto& list = std::get<List>(packed.value);
  Attributes::Pairs pairs;
  for (std::size_t i = 0; i + 1 < list.size(); i += 2)
    pairs.emplace_back(std::get<std::string>(list[i].value), list[i + 1].value);
  return Attributes(std::move(pairs));
}

List sources_in(const Attributes& attributes) { return attributes.get<List>("sources", {}); }

}  // namespace

Attributes with_source(const Attributes& attributes, const OperatorRow& row, const Attributes& own,
                       const Meta& made, const std::vector<Array>& numbers) {
  List list;
  for (const Array& number : numbers) list.push_back({number});
  List sources = sources_in(attributes);
  sources.push_back({packed(own.with("operator", std::string(row.name))
                                .with("dtype", made.dtype)
                                .with("numbers", std::move(list))
                                .with("whole", Ints(made.shape)))});
  return attributes.with("sources", std::move(sources));
}

std::vector<std::string> source_names(const Attributes& attributes) {
  std::vector<std::string> names;
  for (const Attribute& source : sources_in(attributes))
    names.push_back(unpacked(source).get<std::string>("operator"));
  return names;
}

std::vector<Splits> source_splits(const TileContext& context) {
  std::vector<Splits> splits;
  for (const Attribute& each : sources_in(context.attributes())) {
    const Attributes source = unpacked(each);
    splits.push_back(decide_splits(source.get<Ints>("whole"), item_size(source.get<DType>("dtype")),
                                   source.find("chunk_size"), context.options(),
                                   source.get<std::string>("operator")));
  }
  return splits;
}

SourcePlaces::SourcePlaces(const Attributes& from, const Splits& splits) : splits_(splits) {
  if (!from.has("sources")) return;
  sources_ = from.get<List>("sources");
  starts_.emplace(splits);
}

Attributes SourcePlaces::at(const Attributes& common, const Shape& position) const {
  if (!starts_) return common;
  return common.with("sources", sources_)
      .with("source_start", Ints((*starts_)(position)))
      .with("source_extents", Ints(extents_at(splits_, position)));
}

Sources make_sources(const Attributes& attributes) {
  Sources sources;
  for (const Attribute& each : sources_in(attributes)) {
    const Attributes source = unpacked(each)
                                  .with("start", attributes.get<Ints>("source_start"))
                                  .with("extents", attributes.get<Ints>("source_extents"));
    const OperatorRow* const row = registry().find_operator(source.get<std::string>("operator"));
    MUSTER_ASSERT(row != nullptr && row->source != nullptr, "tasks name a source that there is");
    sources.push_back(row->source(source));
  }
  return sources;
}

Shape common_shape(const std::vector<Array>& inputs, const Attributes& attributes,
                   const std::string& operation) {
  std::vector<Shape> shapes;
  for (const Array& input : inputs) shapes.push_back(input.shape());
  if (attributes.has("source_extents")) shapes.push_back(attributes.get<Ints>("source_extents"));
  return broadcast(shapes, operation);
}

}  // namespace muster::engine
