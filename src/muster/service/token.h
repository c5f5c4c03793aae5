#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "muster/base/result.h"

namespace muster::service {

/// Whoever shows it to the web role may use the cluster. A long random text, or one that everybody
/// who knows the cluster's secret can derive.
[[nodiscard]] std::string made_token();
[[nodiscard]] std::string token_from_secret(std::string_view secret);
/// Takes as long whether the first or the last letter differs.
[[nodiscard]] bool same_token(std::string_view a, std::string_view b);

/// Where a web role on loopback leaves its token for programs of the same user.
[[nodiscard]] std::filesystem::path token_path(std::uint16_t port);
/// The token in a file; `Errc::refused` if others may read the file or it holds no token.
[[nodiscard]] Result<std::string> read_token(const std::filesystem::path& path);
/// Readable for this user only; replaces the file at once.
Result<void> write_token(const std::filesystem::path& path, std::string_view token);
/// The token in a file that stays; made up where there is none yet. All who ask get the same.
[[nodiscard]] Result<std::string> kept_token(const std::filesystem::path& path);

/// What a client shows where nobody gave it a token: MUSTER_TOKEN, that of this user's web role on
/// this host, or the one derived from MUSTER_SECRET; empty if there is none.
[[nodiscard]] std::string token_for(std::string_view host, std::uint16_t port);

}  // namespace muster::service
