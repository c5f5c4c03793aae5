#include <span>
#include <string>
#include <unistd.h>

#include "muster/cluster/launch/process/shim.h"

// Started by `muster run` and by the agent, not by people.
int main(int argc, char** argv) {
  const std::span<const char* const> arguments(argv + 1, static_cast<std::size_t>(argc - 1));
  const auto order = muster::cluster::ShimOrder::parse(arguments);
  if (order) return muster::cluster::run_shim(*order);
  const std::string text = "muster-shim: " + order.error().message() + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  return 2;
}
