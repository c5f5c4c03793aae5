#include "muster/cli/cli.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "muster/cli/commands.h"
#include "muster/cli/tree.h"

namespace muster::cli {
namespace {

// Programs of the predecessor that scripts still call: `mars-worker` is `muster worker`.
constexpr std::string_view kAliasPrefix = "mars-";
constexpr std::array<std::string_view, 3> kAliases{"scheduler", "web", "worker"};

std::vector<std::string> strings_of(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (const std::string_view alias : kAliases) {
    std::string_view program = argv[0];
    program.remove_prefix(program.rfind('/') + 1);
    if (program.starts_with(kAliasPrefix) && program.substr(kAliasPrefix.size()) == alias)
      arguments.emplace_back(alias);
  }
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  return arguments;
}

}  // namespace

int run(int argc, const char* const* argv, const Io& io) {
  CommandTree tree(commands(), io);
  return tree.run(argc < 1 ? std::vector<std::string>() : strings_of(argc, argv));
}

}  // namespace muster::cli
