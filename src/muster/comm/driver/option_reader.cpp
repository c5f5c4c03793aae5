#include "muster/comm/driver/option_reader.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/base/suggest.h"
#include "muster/comm/errc.h"

namespace muster::comm {

OptionReader::OptionReader(std::string_view driver, const DriverOptionTexts& texts)
    : prefix_(std::string(driver) + "."), texts_(texts) {}

const std::string* OptionReader::find(std::string_view key) {
  const std::string& name = known_.emplace_back(prefix_ + std::string(key));
  const auto it = texts_.find(name);
  return it == texts_.end() ? nullptr : &it->second;
}

void OptionReader::text(std::string_view key, std::string& value) {
  if (const std::string* const found = find(key)) value = *found;
}

void OptionReader::number(std::string_view key, std::size_t& value) {
  const std::string* const found = find(key);
  if (found == nullptr) return;
  const char* const end = found->data() + found->size();
  const auto [rest, error] = std::from_chars(found->data(), end, value);
  if (error == std::errc{} && rest == end) return;
  complaint_ =
      fmt::format("driver option '{}{}' is '{}', not a whole number", prefix_, key, *found);
}

Result<void> OptionReader::finish() const {
  if (!complaint_.empty()) return fail(Errc::driver_type, complaint_);
  for (const auto& [name, value] : texts_) {
    if (!name.starts_with(prefix_) || std::find(known_.begin(), known_.end(), name) != known_.end())
      continue;
    const std::string meant = nearest(name, known_);
    return fail(Errc::driver_type,
                fmt::format("no driver option is named '{}'{}; there are {}", name,
                            meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant),
                            fmt::join(known_, ", ")));
  }
  return {};
}

}  // namespace muster::comm
