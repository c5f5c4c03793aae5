#include "muster/cli/version.h"

#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

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
  for (const comm::DriverRow& row : comm::driver_rows()) info.drivers.emplace_back(row.name);
  return info;
}

std::string version_text(const VersionInfo& info) {
  const std::string drivers =
      info.drivers.empty() ? "none" : fmt::format("{}", fmt::join(info.drivers, " "));
  return fmt::format("muster   {}\ncompiler {}\ndrivers  {}\n", info.version, info.compiler,
                     drivers);
}

std::string version_json(const VersionInfo& info) {
  const nlohmann::ordered_json document = {
      {"version", info.version}, {"compiler", info.compiler}, {"drivers", info.drivers}};
  return document.dump() + "\n";
}

Action set_up_version(CLI::App& parser, Io io) {
  auto format = std::make_shared<std::string>("text");
  parser.add_option("-o,--output", *format, "Output format")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return [format, io] {
    const VersionInfo info = version_info();
    io.out << (*format == "json" ? version_json(info) : version_text(info));
    return 0;
  };
}

}  // namespace muster::cli
