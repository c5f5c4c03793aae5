#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Where a program is that a shell would find under this name; nothing when there is none.
[[nodiscard]] std::optional<std::string> find_program(std::string_view name);

/// The path of the program that runs now.
[[nodiscard]] std::string own_program();

}  // namespace muster
