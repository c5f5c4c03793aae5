#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::cluster {

// Amounts as people write them.

/// Bytes: "2048m", "4096M", "1.5 GiB", "512". Units are powers of 1024, whatever their case and
/// with or without "B", "i" or "iB", as with docker. A number without a unit is in `unit` bytes.
/// Nothing for what is no size, or above 1 PiB.
std::optional<std::uint64_t> parse_size(std::string_view text, std::uint64_t unit = 1);

/// "90", "1.5s", "250ms", "5m", "2h", "1d", "1h30m"; a number without a unit is in seconds.
/// Nothing for what is no time, negative, or above 10 years.
std::optional<std::chrono::milliseconds> parse_time(std::string_view text);

/// Thousandths of a core: "2", "0.5", "500m". Nothing for what is no number or above 1,000,000.
std::optional<std::uint64_t> parse_cpu(std::string_view text);

/// "10 MiB", "1.5 GiB", "100 B"
std::string size_text(std::uint64_t bytes);
/// "250ms", "90s", "2h"
std::string time_text(std::chrono::milliseconds time);

}  // namespace muster::cluster
