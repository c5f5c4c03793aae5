#pragma once

#include <string>

namespace muster {

/// The contents of a small file, such as those of /proc and /sys; empty when it cannot be read.
[[nodiscard]] std::string file_text(const std::string& path);

}  // namespace muster
