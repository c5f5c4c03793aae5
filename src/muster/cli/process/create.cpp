#include <memory>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cli/process/commands.h"
#include "muster/cluster/errc.h"
#include "muster/cluster/job/read.h"
#include "muster/cluster/node/process_mode.h"

namespace muster::cli {
namespace {

Result<cluster::ProcessSettings> settings_from(const std::string& file) {
  if (file.empty()) return cluster::ProcessSettings();
  const auto text = cluster::spec_file_text(file);
  if (!text) {
    return fail(cluster::Errc::unreadable, fmt::format("{}: {}", file, text.error().message()));
  }
  return cluster::read_settings(*text, file);
}

int create(const std::string& file, const Io& io) {
  const auto settings = settings_from(file);
  if (!settings) return report(io, settings.error());
  const auto layout = cluster::ClusterLayout::of_user();
  if (!layout) return report(io, layout.error());
  if (const auto created = cluster::ProcessMode::create(*layout, *settings); !created)
    return report(io, created.error());
  io.out << fmt::format("Process mode runs; its files are in {}\n", layout->root);
  return kDone;
}

}  // namespace

Action set_up_process_create(CLI::App& parser, Io io) {
  auto file = std::make_shared<std::string>();
  parser.add_option("SETTINGS", *file, "A YAML file; 'muster process setting show' lists the keys")
      ->type_name("FILE");
  return [file, io] { return create(*file, io); };
}

}  // namespace muster::cli
