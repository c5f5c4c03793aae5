// Any bytes are a graph or are refused with an ArrayError; a graph that was read can be written and
// read again, and runs or is refused.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "muster/engine/errors.h"
#include "muster/engine/session/session.h"
#include "muster/engine/wire/graphs.h"

namespace {

using namespace muster::engine;

constexpr Index kMostItems = 1 << 10;

/// Larger ones only cost time.
bool is_small(const Meta& meta) {
  Index items = 1;
  for (const Index extent : meta.shape) {
    if (extent > kMostItems) return false;
    items *= std::max<Index>(extent, 1);
    if (items > kMostItems) return false;
  }
  return true;
}

bool is_small(const Tensor& tensor) {
  return std::ranges::all_of(make_plan({tensor}).steps, [](const PlanStep& step) {
    return std::ranges::all_of(step.outputs, [](const Meta& meta) { return is_small(meta); });
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Session session({.threads = 1, .memory = 64u << 20});
  std::vector<Tensor> tensors;
  try {
    tensors = read_graph(std::as_bytes(std::span(data, size)));
  } catch (const ArrayError&) {
    return 0;
  }
  if (read_graph(write_graph(tensors)).size() != tensors.size()) std::abort();
  for (const Tensor& tensor : tensors) {
    if (!is_small(tensor)) continue;
    try {
      static_cast<void>(session.fetch(tensor));
    } catch (const ArrayError&) {
    }
  }
  return 0;
}
