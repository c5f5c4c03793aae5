#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/engine/graph/attributes.h"
#include "muster/engine/value/dtype.h"
#include "muster/engine/value/shape.h"

namespace muster::engine {

struct OperatorRow;
class Node;
class Over;
class Stored;

/// What is known of a tensor before it is computed.
struct Meta {
  DType dtype;
  Shape shape;
  friend bool operator==(const Meta&, const Meta&) = default;
};

/// Where in the user's program an operator was made: "train.py:17"; empty if nobody said.
struct Origin {
  std::string text;
};

/// A value that may not be computed yet: one output of a node in a graph of operators. Cheap to
/// copy; copies are the same value. The graph behind it is immutable, so any thread may use it.
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::shared_ptr<Node> node, std::size_t output)
      : node_(std::move(node)), output_(output) {}

  [[nodiscard]] explicit operator bool() const noexcept { return node_ != nullptr; }
  [[nodiscard]] Meta meta() const;
  [[nodiscard]] DType dtype() const { return meta().dtype; }
  [[nodiscard]] Shape shape() const { return meta().shape; }
  [[nodiscard]] std::size_t ndim() const { return shape().size(); }
  /// The number of items; `kUnknown` until what decides it has run.
  [[nodiscard]] Index size() const { return volume(shape()); }

  [[nodiscard]] const std::shared_ptr<Node>& node() const noexcept { return node_; }
  [[nodiscard]] std::size_t output() const noexcept { return output_; }
  friend bool operator==(const Tensor&, const Tensor&) = default;

  // Reductions for `x.sum(axis(0))`; ops/reduction/methods.cpp defines them.
  [[nodiscard]] Tensor sum() const;
  [[nodiscard]] Tensor sum(const Over& over) const;
  [[nodiscard]] Tensor prod() const;
  [[nodiscard]] Tensor prod(const Over& over) const;
  [[nodiscard]] Tensor mean() const;
  [[nodiscard]] Tensor mean(const Over& over) const;
  [[nodiscard]] Tensor min() const;
  [[nodiscard]] Tensor min(const Over& over) const;
  [[nodiscard]] Tensor max() const;
  [[nodiscard]] Tensor max(const Over& over) const;
  [[nodiscard]] Tensor all() const;
  [[nodiscard]] Tensor all(const Over& over) const;
  [[nodiscard]] Tensor any() const;
  [[nodiscard]] Tensor any(const Over& over) const;

 private:
  std::shared_ptr<Node> node_;
  std::size_t output_ = 0;
};

/// An operator applied to tensors. Immutable but for the results that a session leaves with it.
class Node {
 public:
  Node(const OperatorRow& row, Attributes attributes, std::vector<Tensor> inputs,
       std::vector<Meta> outputs, Origin origin);
  /// Long chains of nodes are taken apart without recursion.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] const OperatorRow& row() const { return row_; }
  [[nodiscard]] const Attributes& attributes() const { return attributes_; }
  [[nodiscard]] const std::vector<Tensor>& inputs() const { return inputs_; }
  [[nodiscard]] const Origin& origin() const { return origin_; }
  [[nodiscard]] std::size_t outputs() const { return outputs_.size(); }
  /// With sizes that were unknown, once they are known.
  [[nodiscard]] Meta meta(std::size_t output) const;

  /// The computed value of an output; null if there is none.
  [[nodiscard]] std::shared_ptr<const Stored> stored(std::size_t output) const;
  void keep(std::size_t output, std::shared_ptr<const Stored> stored);

 private:
  const OperatorRow& row_;  ///< a row of the registry, which lives as long as the program
  Attributes attributes_;
  std::vector<Tensor> inputs_;
  Origin origin_;
  mutable std::mutex mutex_;
  std::vector<Meta> outputs_;                          ///< `mutex_` guards sizes that become known
  std::vector<std::shared_ptr<const Stored>> stored_;  ///< `mutex_` must be held
};

/// A computed tensor: its chunks, wherever they are. Thread-safe.
class Stored {
 public:
  virtual ~Stored() = default;
  [[nodiscard]] virtual const Splits& splits() const = 0;
  [[nodiscard]] virtual DType dtype() const = 0;
  /// The chunk with this number in grid order, from wherever it is.
  [[nodiscard]] virtual Array chunk(std::size_t number) const = 0;
  /// Likewise, if it is in this process; else the empty handle.
  [[nodiscard]] virtual Array chunk_here(std::size_t number) const { return chunk(number); }
};

/// Makes the nodes of operators called by name; what Python and the wire decoder use. Throws
/// ArrayError for an unknown name (with a suggestion) and for whatever the operator refuses.
[[nodiscard]] std::vector<Tensor> apply(std::string_view name, std::vector<Tensor> inputs,
                                        Attributes attributes = {}, Origin origin = {});
[[nodiscard]] std::vector<Tensor> apply(const OperatorRow& row, std::vector<Tensor> inputs,
                                        Attributes attributes = {}, Origin origin = {});
/// For operators with one result.
[[nodiscard]] Tensor apply_one(const OperatorRow& row, std::vector<Tensor> inputs,
                               Attributes attributes = {});
[[nodiscard]] Tensor apply_one(std::string_view name, std::vector<Tensor> inputs,
                               Attributes attributes = {});

/// While it lives, nodes that this thread makes say that they were made at `origin` (unless they
/// say otherwise).
class OriginScope {
 public:
  explicit OriginScope(Origin origin);
  ~OriginScope();
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  Origin before_;
};

}  // namespace muster::engine
