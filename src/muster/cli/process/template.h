#pragma once

#include <span>
#include <string_view>

#include "muster/cli/command.h"

namespace muster::cli {

/// A file that `template` writes. They are in examples/, put in by the build.
struct TemplateFile {
  std::string_view name;
  std::string_view text;
};
std::span<const TemplateFile> template_files();

/// `muster process template [DIR]`
Action set_up_process_template(CLI::App& parser, Io io);

}  // namespace muster::cli
