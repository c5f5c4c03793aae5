#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "muster/base/result.h"
#include "muster/cli/command.h"

namespace muster::cli {

/// Which web role the commands `muster engine …` ask.
struct WebFlags {
  std::string url{};
  std::string tls_ca{};
};

void add_web_flags(CLI::App& parser, WebFlags& flags);

/// The JSON at `path` below the web role's URL. Failures say what to do.
[[nodiscard]] Result<nlohmann::ordered_json> ask_web(const WebFlags& flags,
                                                     const std::string& path);

/// Text of a field that may be absent or a number.
[[nodiscard]] std::string field(const nlohmann::ordered_json& object, const char* name);
/// The same as "1.5 GiB".
[[nodiscard]] std::string bytes_field(const nlohmann::ordered_json& object, const char* name);

}  // namespace muster::cli
