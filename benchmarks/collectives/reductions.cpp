// How fast reductions are, beside copying: a large sum is bound by memory, not by arithmetic.

#include <cstring>
#include <vector>

#include <benchmark/benchmark.h>

#include "muster/comm/collective/reduction.h"
#include "muster/comm/collective/vector.h"

namespace {

using namespace muster::comm::collective;

using Bytes = std::vector<std::byte>;

void copy(benchmark::State& state) {
  const Bytes from(static_cast<std::size_t>(state.range(0)));
  Bytes into(from.size());
  for ([[maybe_unused]] auto _ : state) {
    std::memcpy(into.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * state.range(0));
}
BENCHMARK(copy)->Range(1 << 12, 1 << 26)->RangeMultiplier(16);

/// into += from: two buffers read, one written.
void reduce_into(benchmark::State& state, ReductionKind kind, Element element) {
  const Bytes from(static_cast<std::size_t>(state.range(0)));
  Bytes into(from.size());
  const std::size_t count = from.size() / item_size(element);
  for ([[maybe_unused]] auto _ : state) {
    reduce(kind, element, into.data(), into.data(), from.data(), count);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * state.range(0));
  state.SetLabel(vector::target());
}
#define MUSTER_REDUCE(kind, element)                                                      \
  BENCHMARK_CAPTURE(reduce_into, kind##_##element, ReductionKind::kind, Element::element) \
      ->Range(1 << 12, 1 << 26)                                                           \
      ->RangeMultiplier(16)
MUSTER_REDUCE(sum, f32);
MUSTER_REDUCE(sum, f64);
MUSTER_REDUCE(sum, bf16);
MUSTER_REDUCE(sum, f16);
MUSTER_REDUCE(sum, i8);
MUSTER_REDUCE(max, f32);
MUSTER_REDUCE(prod, c64);
MUSTER_REDUCE(prod, i64);

}  // namespace
