#include "muster/cluster/job/field.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/base/suggest.h"
#include "muster/cluster/job/quantity.h"

namespace muster::cluster {
namespace {

constexpr std::size_t kMaxName = 63;
constexpr std::string_view kNameRule =
    "letters, digits, '-', '_' and '.', beginning with a letter or digit, at most 63 characters";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_made_of(std::string_view text, std::string_view more) {
  if (text.empty() || text.size() > kMaxName) return false;
  if (!is_letter(text[0]) && !is_digit(text[0])) return false;
  return std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || is_digit(c) || more.find(c) != std::string_view::npos;
  });
}

bool is_variable(std::string_view text) {
  if (text.empty() || is_digit(text[0])) return false;
  return std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

bool is_label(std::string_view text) { return is_made_of(text, "-_./"); }

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

}  // namespace

bool is_name(std::string_view text) { return is_made_of(text, "-_."); }
bool is_component_name(std::string_view text) { return is_made_of(text, "-_"); }

std::string Shape::allowed() const {
  switch (kind) {
    case Kind::name: return fmt::format("a name ({})", kNameRule);
    case Kind::text: return "a text";
    case Kind::path: return "an absolute path";
    case Kind::whole: return fmt::format("a whole number from {} to {}", min, max);
    case Kind::cpu: return "a number of cores, such as 2, 0.5 or 500m";
    case Kind::size: return "a size, such as 512m or 2g";
    case Kind::time: return "a time, such as 90s, 5m or 1h30m";
    case Kind::flag: return "true or false";
    case Kind::choice: return fmt::format("one of {}", fmt::join(choices, ", "));
    case Kind::variables: return "a map from names of environment variables to texts";
    case Kind::labels: return "a map from names to texts";
    case Kind::command: return "a command line, or a list of program and arguments";
    case Kind::names: return "a list of names";
    case Kind::dependencies:
      return fmt::format("a list of components, or a map from components to {}",
                         fmt::join(choices, " or "));
    case Kind::section: return "a map";
    case Kind::section_list: return "a map, or a list of maps";
    case Kind::sections: return "a map from names to maps";
  }
  return "";
}

Field Field::inner(std::string_view key, const Value& value, const Shape& shape) const {
  return {value, shape, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key),
          problems_};
}

void Field::complain(std::size_t line, std::string_view message) const {
  problems_.add(line, path_, message);
}

void Field::refuse() const {
  complain(fmt::format("{} is not {}", value_.shown(), shape_.allowed()));
}

void Field::complain_about_missing(const FieldInfo& info) const {
  complain(fmt::format("'{}' is missing: {}", info.key, info.shape.allowed()));
}

void Field::complain_about_unknown(const Member& member,
                                   const std::vector<std::string>& known) const {
  if (std::ranges::find(known, member.key) != known.end()) return;
  const bool comparable = member.key.size() <= kMaxName;
  complain(member.line, fmt::format("unknown key {}{}", quoted_text(member.key),
                                    comparable ? did_you_mean(member.key, known) : std::string()));
}

std::optional<std::string> Field::text() const {
  if (value_.kind == Value::Kind::scalar && !value_.text.empty() && !has_nul(value_.text)) {
    return value_.text;
  }
  refuse();
  return std::nullopt;
}

std::optional<std::string> Field::name() const {
  if (value_.kind == Value::Kind::scalar && is_name(value_.text)) return value_.text;
  refuse();
  return std::nullopt;
}

std::optional<std::string> Field::path_text() const {
  auto text = value_.kind == Value::Kind::scalar ? this->text() : std::nullopt;
  if (text && text->starts_with('/')) return text;
  if (text || value_.kind != Value::Kind::scalar) refuse();
  return std::nullopt;
}

const std::string* Field::plain() const {
  return value_.kind == Value::Kind::scalar && !value_.quoted ? &value_.text : nullptr;
}

std::optional<std::int64_t> Field::whole() const {
  if (const std::string* digits = plain()) {
    std::int64_t number = 0;
    const char* end = digits->data() + digits->size();
    const auto [stopped, error] = std::from_chars(digits->data(), end, number);
    if (error == std::errc() && stopped == end && number >= shape_.min && number <= shape_.max) {
      return number;
    }
  }
  refuse();
  return std::nullopt;
}

std::optional<std::uint64_t> Field::cpu() const {
  if (value_.kind == Value::Kind::scalar) {
    if (const auto cores = parse_cpu(value_.text)) return cores;
  }
  refuse();
  return std::nullopt;
}

std::optional<std::uint64_t> Field::size() const {
  if (value_.kind == Value::Kind::scalar) {
    if (const auto bytes = parse_size(value_.text)) return bytes;
  }
  refuse();
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> Field::time() const {
  if (value_.kind == Value::Kind::scalar) {
    const auto time = parse_time(value_.text);
    if (time && time->count() >= shape_.min) return time;
  }
  refuse();
  return std::nullopt;
}

std::optional<bool> Field::flag() const {
  // As in YAML 1.1, which the predecessor's files are written in.
  constexpr std::string_view kTrue[] = {"true", "True", "TRUE", "yes", "Yes", "on", "On"};
  constexpr std::string_view kFalse[] = {"false", "False", "FALSE", "no", "No", "off", "Off"};
  if (const std::string* word = plain()) {
    if (std::ranges::find(kTrue, *word) != std::end(kTrue)) return true;
    if (std::ranges::find(kFalse, *word) != std::end(kFalse)) return false;
  }
  refuse();
  return std::nullopt;
}

std::optional<std::size_t> Field::choice() const {
  if (value_.kind != Value::Kind::scalar) {
    refuse();
    return std::nullopt;
  }
  const auto found = std::ranges::find(shape_.choices, value_.text);
  if (found != shape_.choices.end()) {
    return static_cast<std::size_t>(found - shape_.choices.begin());
  }
  const std::vector<std::string> known(shape_.choices.begin(), shape_.choices.end());
  complain(fmt::format("{} is not {}{}", value_.shown(), shape_.allowed(),
                       value_.text.size() <= kMaxName ? did_you_mean(value_.text, known) : ""));
  return std::nullopt;
}

std::map<std::string, std::string> Field::text_map(bool (*is_key)(std::string_view),
                                                   std::string_view key_rule) const {
  std::map<std::string, std::string> result;
  const Value* entries = map();
  if (entries == nullptr) return result;
  for (const Member& member : entries->members) {
    const Value& value = member.value;
    if (!is_key(member.key)) {
      complain(member.line, fmt::format("{} is not {}", quoted_text(member.key), key_rule));
    } else if (value.kind == Value::Kind::list || value.kind == Value::Kind::map ||
               has_nul(value.text)) {
      complain(member.line, fmt::format("the value of {} has to be a text, not {}",
                                        quoted_text(member.key), value.shown()));
    } else {
      result.emplace(member.key, value.text);
    }
  }
  return result;
}

std::map<std::string, std::string> Field::variables() const {
  return text_map(is_variable, "the name of an environment variable");
}

std::map<std::string, std::string> Field::labels() const {
  return text_map(is_label, "a label (letters, digits, '-', '_', '.' and '/', at most 63)");
}

std::vector<std::string> Field::names() const {
  std::vector<std::string> result;
  if (value_.kind != Value::Kind::list || value_.items.empty()) {
    refuse();
    return result;
  }
  for (const Value& item : value_.items) {
    const Field field(item, {.kind = Shape::Kind::name}, path_, problems_);
    if (auto name = field.name()) result.push_back(std::move(*name));
  }
  return result;
}

const Value* Field::map() const {
  static const Value kNothing;
  if (value_.kind == Value::Kind::map) return &value_;
  if (value_.kind == Value::Kind::null) return &kNothing;
  refuse();
  return nullptr;
}

}  // namespace muster::cluster
