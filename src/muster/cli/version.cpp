#include "muster/cli/version.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "muster/cli/cli.h"
#include "muster/cli/output.h"
#include "muster/comm/driver/registry.h"
#include "muster/version.h"

namespace muster::cli {
namespace {

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

VersionInfo version_info() {
  VersionInfo info = {.version = std::string(kVersion), .compiler = compiler(), .drivers = {}};
  for (const comm::DriverRow& row : comm::driver_rows()) {
    if (row.built()) info.drivers.emplace_back(row.name);
  }
  return info;
}

Action set_up_version(CLI::App& parser, Io io) {
  return [output = Output(parser, io)] {
    const VersionInfo info = version_info();
    output.print(
        {{"version", info.version}, {"compiler", info.compiler}, {"drivers", info.drivers}},
        fmt::format("muster   {}\ncompiler {}\ndrivers  {}\n", info.version, info.compiler,
                    fmt::join(info.drivers, " ")));
    return kDone;
  };
}

}  // namespace muster::cli
