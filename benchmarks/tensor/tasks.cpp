// Prints what a task costs that does nothing: {"tasks": N, "seconds": S, "peak": BYTES} per line,
// for 1,000 to 1,000,000 tasks that are planned, tiled and run.

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <sys/resource.h>

#include <fmt/format.h>

#include "muster/engine/ops/creation/full.h"
#include "muster/engine/session/session.h"

namespace {

using namespace muster::engine;

double seconds_for(Session& session, Index tasks) {
  Options options;
  options.disabled_passes = {"fuse_elementwise"};
  // Two tasks per chunk of one item: it is made, then added to itself.
  const Tensor x = full({tasks / 2}, Scalar(1.0), std::int64_t{1});
  const Tensor y = apply_one("add", {x, x});
  const auto start = std::chrono::steady_clock::now();
  session.execute({y}, options);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The most memory that the process has had.
std::int64_t peak_bytes() {
  rusage usage{};
  (void)::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

int main(int count, char** arguments) {
  const Index most = count > 1 ? std::atoll(arguments[1]) : 1'000'000;
  Session session({.threads = 2});
  (void)seconds_for(session, 1000);
  for (Index tasks = 1000; tasks <= most; tasks *= 10)
    fmt::print("{{\"tasks\": {}, \"seconds\": {:.6f}, \"peak\": {}}}\n", tasks,
               seconds_for(session, tasks), peak_bytes());
}
