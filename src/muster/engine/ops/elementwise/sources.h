#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/engine/graph/operator.h"
#include "muster/engine/kernels/source.h"
#include "muster/engine/tile/tile_context.h"
#include "muster/engine/value/starts.h"

namespace muster::engine {

// Operators that make their items anywhere (`OperatorRow::source`) may be part of the element-wise
// operator or reduction that reads them. They are an attribute of it, `sources`, and the last
// inputs of its program; all have the shape that the program runs over.

/// `attributes` with one more source: an operator with its attributes, what it makes, and its
/// inputs, which are single numbers.
[[nodiscard]] Attributes with_source(const Attributes& attributes, const OperatorRow& row,
                                     const Attributes& own, const Meta& made,
                                     const std::vector<Array>& numbers);

/// Their names, for explain.
[[nodiscard]] std::vector<std::string> source_names(const Attributes& attributes);

/// How each would be cut if it were an operator by itself.
[[nodiscard]] std::vector<Splits> source_splits(const TileContext& context);

/// The attributes of a task: those of all tasks, and (if there are sources) its place.
class SourcePlaces {
 public:
  SourcePlaces(const Attributes& from, const Splits& splits);
  [[nodiscard]] Attributes at(const Attributes& common, const Shape& position) const;

 private:
  Attribute::Value sources_;  ///< nothing if there are none
  Splits splits_;
  std::optional<Starts> starts_;
};

/// In a kernel: the sources of its chunk, and the chunk's shape, if there are any.
[[nodiscard]] Sources make_sources(const Attributes& attributes);
/// The shape that arrays broadcast to, and that sources have.
[[nodiscard]] Shape common_shape(const std::vector<Array>& inputs, const Attributes& attributes,
                                 const std::string& operation);

}  // namespace muster::engine
