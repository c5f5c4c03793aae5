#include "muster/cli/process/template.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

/// Nothing is written if one of the files is there already.
int write_templates(const fs::path& folder, bool force, const Io& io) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return report(io, fmt::format("cannot make {}: {}", folder.string(), error.message()));
  for (const TemplateFile& file : template_files()) {
    const fs::path path = folder / file.name;
    if (!force && fs::exists(fs::symlink_status(path, error))) {
      return report(io, fmt::format("{} is there already; --force overwrites it", path.string()));
    }
  }
  for (const TemplateFile& file : template_files()) {
    const fs::path path = folder / file.name;
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    if (!(stream << file.text) || !stream.flush()) {
      return report(io, fmt::format("cannot write {}", path.string()));
    }
    io.out << path.string() << '\n';
  }
  return kDone;
}

}  // namespace

Action set_up_process_template(CLI::App& parser, Io io) {
  auto folder = std::make_shared<std::string>(".");
  auto force = std::make_shared<bool>(false);
  parser.add_option("DIR", *folder, "Where to write them; this folder if not given");
  parser.add_flag("--force", *force, "Overwrite files that are there");
  return [folder, force, io] { return write_templates(*folder, *force, io); };
}

}  // namespace muster::cli
