#include "muster/cluster/job/quantity.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace muster::cluster {
namespace {

constexpr double kMaxBytes = 1ull << 50;  // exact as a double
constexpr double kMaxMilliseconds = 10.0 * 365 * 24 * 3600 * 1000;
constexpr double kMaxCpuMilli = 1e9;

bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Takes a number off the front: digits with a point, no sign, no exponent.
std::optional<double> take_number(std::string_view& text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0) return {};
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc()) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// The bytes of a unit; 0 for an unknown one.
std::uint64_t size_unit(std::string_view text) {
  std::string name = lower(text);
  if (name == "b") return 1;
  if (name.ends_with("ib")) {
    name.resize(name.size() - 2);
  } else if (name.ends_with('b') || name.ends_with('i')) {
    name.pop_back();
  }
  constexpr std::string_view kUnits = "kmgtp";
  if (name.size() != 1 || kUnits.find(name[0]) == std::string_view::npos) return 0;
  return 1ull << (10 * (kUnits.find(name[0]) + 1));
}

/// The milliseconds of a unit; 0 for an unknown one.
double time_unit(std::string_view text) {
  if (text == "ms") return 1;
  if (text == "s") return 1000;
  if (text == "m") return 60'000;
  if (text == "h") return 3'600'000;
  if (text == "d") return 86'400'000;
  return 0;
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text, std::uint64_t unit) {
  text = trimmed(text);
  const auto number = take_number(text);
  if (!number) return {};
  text = trimmed(text);
  const std::uint64_t bytes = text.empty() ? unit : size_unit(text);
  const double size = *number * static_cast<double>(bytes);
  if (bytes == 0 || !(size <= kMaxBytes)) return {};
  return static_cast<std::uint64_t>(std::llround(size));
}

std::optional<std::chrono::milliseconds> parse_time(std::string_view text) {
  text = trimmed(text);
  double total = 0;
  bool first = true;
  while (first || !text.empty()) {
    const auto number = take_number(text);
    if (!number) return {};
    const auto unit_end = std::ranges::find_if(
        text, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) == 0; });
    const std::string_view unit(text.begin(), unit_end);
    if (unit.empty() && !(first && text.empty())) return {};
    const double milliseconds = unit.empty() ? 1000 : time_unit(unit);
    if (milliseconds == 0) return {};
    total += *number * milliseconds;
    text.remove_prefix(unit.size());
    first = false;
  }
  if (!(total <= kMaxMilliseconds)) return {};
  return std::chrono::milliseconds(std::llround(total));
}

std::optional<std::uint64_t> parse_cpu(std::string_view text) {
  text = trimmed(text);
  const auto number = take_number(text);
  if (!number || (!text.empty() && text != "m")) return {};
  const double milli = text.empty() ? *number * 1000 : *number;
  if (!(milli <= kMaxCpuMilli)) return {};
  return static_cast<std::uint64_t>(std::llround(milli));
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string time_text(std::chrono::milliseconds time) {
  const auto count = time.count();
  if (count % 1000 != 0) return fmt::format("{}ms", count);
  const auto seconds = count / 1000;
  if (seconds == 0 || seconds % 60 != 0) return fmt::format("{}s", seconds);
  if (seconds % 3600 != 0) return fmt::format("{}m", seconds / 60);
  return fmt::format("{}h", seconds / 3600);
}

}  // namespace muster::cluster
