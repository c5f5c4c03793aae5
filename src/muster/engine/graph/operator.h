#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "muster/engine/graph/tensor.h"

namespace muster::engine {

struct Ufunc;
struct Reducer;
class Source;
class TileContext;
class TileResult;

/// Which chapter of the reference an operator belongs to.
enum class Family {
  creation,
  elementwise,
  reduction,
  shape,
  joining,
  indexing,
  sorting,
  statistics,
  linalg,
  random,
  fft,
  special,
  other
};
[[nodiscard]] std::string_view name(Family family);

/// "[sum] input 0 is missing: there are none", as ArrayError.
[[noreturn]] void missing_input(const OperatorRow& row, std::size_t number, std::size_t given);

/// The inputs of a call. To ask for one that is not there is an ArrayError: graphs come from
/// elsewhere.
class Inputs {
 public:
  Inputs(const OperatorRow& row, const std::vector<Tensor>& tensors)
      : row_(row), tensors_(tensors) {}

  [[nodiscard]] const Tensor& operator[](std::size_t number) const {
    if (number >= tensors_.size()) missing_input(row_, number, tensors_.size());
    return tensors_[number];
  }
  [[nodiscard]] const Tensor& front() const { return (*this)[0]; }
  [[nodiscard]] const Tensor& back() const { return (*this)[tensors_.empty() ? 0 : size() - 1]; }
  [[nodiscard]] std::size_t size() const { return tensors_.size(); }
  [[nodiscard]] bool empty() const { return tensors_.empty(); }
  [[nodiscard]] auto begin() const { return tensors_.begin(); }
  [[nodiscard]] auto end() const { return tensors_.end(); }
  [[nodiscard]] const std::vector<Tensor>& all() const { return tensors_; }

 private:
  const OperatorRow& row_;
  const std::vector<Tensor>& tensors_;
};

/// What an operator sees of a call of it.
struct Call {
  Call(const OperatorRow& of, const Attributes& with, const std::vector<Tensor>& on)
      : row(of), attributes(with), inputs(of, on) {}

  const OperatorRow& row;
  const Attributes& attributes;
  const Inputs inputs;

  /// "[sum] " before a message.
  [[nodiscard]] std::string prefix() const;
};

/// Refuses a first input that is no vector.
void check_vector(const Call& call);

/// Everything there is to say of an operator: the decoder, the passes, Python, the reference and
/// the dashboard read it from here. Either `expand` (it is made of other operators) or `infer` and
/// `tile` are given.
struct OperatorRow {
  std::string_view name;
  std::string_view summary;  ///< one line for the reference
  Family family = Family::other;

  /// Builds the results from other operators.
  std::vector<Tensor> (*expand)(const Call& call) = nullptr;
  /// The dtypes and shapes of the results; throws ArrayError for what cannot be.
  std::vector<Meta> (*infer)(const Call& call) = nullptr;
  /// Cuts one application into kernels on chunks.
  TileResult (*tile)(TileContext& context) = nullptr;

  const Ufunc* ufunc = nullptr;      ///< element-wise operators: their loops, which fusion joins
  const Reducer* reducer = nullptr;  ///< reductions that fusion may close a chain with
  /// Operators whose items can be made anywhere, if their inputs are single numbers: the items of
  /// one chunk. Attributes: the operator's own, `dtype`, the `numbers` (arrays), the shape `whole`,
  /// and the chunk's `start` and `extents`.
  std::unique_ptr<const Source> (*source)(const Attributes& attributes) = nullptr;
  bool effects = false;         ///< it does more than compute, so each call of it counts
  bool through_python = false;  ///< its kernels call NumPy or SciPy on chunks
};

/// Calls a kernel on chunks; see kernel.h.
struct KernelRow;

/// All operators and kernels by name. Filled once by `registry()`, then only read.
class Registry {
 public:
  void add(const OperatorRow& row);
  void add(const KernelRow& row);
  [[nodiscard]] const OperatorRow* find_operator(std::string_view name) const;
  [[nodiscard]] const KernelRow* find_kernel(std::string_view name) const;
  /// In the order of registration.
  [[nodiscard]] const std::vector<const OperatorRow*>& operators() const { return operators_; }

 private:
  std::vector<const OperatorRow*> operators_;
  std::unordered_map<std::string_view, const OperatorRow*> by_name_;
  std::unordered_map<std::string_view, const KernelRow*> kernels_;
};

/// The operators that are part of Muster. Rows have static storage.
[[nodiscard]] const Registry& registry();

}  // namespace muster::engine
