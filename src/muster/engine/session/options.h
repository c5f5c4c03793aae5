#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace muster::engine {

/// How expressions are cut and run. Python's `options` has the same names.
struct Options {
  /// Chunks are made about this large unless the user says otherwise.
  std::size_t chunk_store_limit = 128u << 20;
  /// How many partial results a reduction joins at a time.
  int combine_size = 4;
  /// A rechunk may make this many times more chunks than its source and target on the way.
  int rechunk_threshold = 4;
  std::size_t rechunk_chunk_size_limit = 100'000'000;
  /// How many threads will run the tasks; the session fills it in.
  std::size_t threads = 1;
  /// What the thread of a task may take of the memory for chunks; 0 if nobody knows. The session
  /// fills it in.
  std::size_t memory_per_thread = 0;
  /// Passes of the optimiser that are left out, by name.
  std::set<std::string> disabled_passes;
};

}  // namespace muster::engine
