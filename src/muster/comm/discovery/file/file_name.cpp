#include "muster/comm/discovery/file/file_name.h"

#include <cstdint>

#include <fmt/format.h>

#include "muster/base/random.h"

namespace muster::comm::file {
namespace {

// File systems allow 255 bytes, and an entry's name adds two dots, a leading one while it is
// written, and 32 digits.
constexpr std::size_t kLongest = 200;
constexpr std::size_t kKeptOfLong = 160;

// FNV-1a. Two long names of one user that collide would have to be made on purpose.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325ull;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return value;
}

bool stands_for_itself(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

}  // namespace

std::string encode(std::string_view text) {
  if (text.empty()) return "%";
  std::string name;
  for (const char c : text) {
    if (stands_for_itself(c)) {
      name += c;
    } else {
      name += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    if (name.size() > kLongest)
      return fmt::format("{}~{:016x}", name.substr(0, kKeptOfLong), hash(text));
  }
  return name;
}

std::string group_folder_name(std::string_view group) { return "group." + encode(group); }

bool is_group_folder(std::string_view name) { return name.starts_with("group."); }

std::string peer_prefix(std::string_view name) { return encode(name) + "."; }

std::string fresh_file(std::string_view name, InstanceId instance) {
  return fmt::format("{}{:016x}.{:016x}", peer_prefix(name), instance.value(), secure_random_u64());
}

bool is_entry_file(std::string_view file) {
  constexpr std::size_t kTail = 2 * (1 + 16);
  if (file.size() <= kTail) return false;
  const auto is_field = [](std::string_view text) {
    return text.front() == '.' &&
           text.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
  };
  const auto tail = file.substr(file.size() - kTail);
  return is_field(tail.substr(0, kTail / 2)) && is_field(tail.substr(kTail / 2));
}

}  // namespace muster::comm::file
