#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/engine/graph/attributes.h"
#include "muster/engine/value/array.h"

namespace muster::engine {

/// One run of a kernel: whole chunks in, whole chunks out.
class KernelContext {
 public:
  KernelContext(const Attributes& attributes, std::vector<Array> inputs, std::size_t outputs,
                Memory& memory)
      : attributes_(attributes), inputs_(std::move(inputs)), outputs_(outputs), memory_(memory) {}

  [[nodiscard]] const Attributes& attributes() const { return attributes_; }
  [[nodiscard]] const std::vector<Array>& inputs() const { return inputs_; }
  [[nodiscard]] const Array& input(std::size_t number) const { return inputs_[number]; }
  /// The kernel's own handle is moved out. If it `is_sole()`, nobody else will read the input, and
  /// its memory may be taken for the result.
  [[nodiscard]] Array take_input(std::size_t number) { return std::move(inputs_[number]); }
  [[nodiscard]] Memory& memory() { return memory_; }

  /// A fresh array.
  [[nodiscard]] Array make(DType dtype, Shape shape) { return {memory_, dtype, std::move(shape)}; }
  /// Each output must be set; arrays may be views of inputs.
  void set(std::size_t output, Array array) { outputs_[output] = std::move(array); }
  void set(Array array) { set(0, std::move(array)); }
  [[nodiscard]] std::vector<Array>& outputs() { return outputs_; }

 private:
  const Attributes& attributes_;
  std::vector<Array> inputs_;
  std::vector<Array> outputs_;
  Memory& memory_;
};

/// What runs on chunks. `run` is called from any thread, on several chunks at once; it throws
/// ArrayError where the data does not allow the operation.
struct KernelRow {
  std::string_view name;
  void (*run)(KernelContext& context) = nullptr;
  /// Bytes that it needs beside its results, at most; null for none.
  std::size_t (*scratch)(const Attributes& attributes,
                         std::span<const Index> input_bytes) = nullptr;
  bool cuts = false;  ///< its results are the pieces of what goes in
};

/// What one of a kernel's `results` takes. Where nobody knows its shape, it is believed to be as
/// much as goes in (`inputs` bytes), or its share of that. A null kernel makes what is known.
[[nodiscard]] inline std::size_t result_bytes(const KernelRow* kernel, DType dtype,
                                              const Shape& shape, std::size_t inputs,
                                              std::size_t results) {
  const Index items = volume(shape);
  if (items >= 0) return static_cast<std::size_t>(items) * item_size(dtype);
  return kernel != nullptr && kernel->cuts ? inputs / results : inputs;
}

}  // namespace muster::engine
