#include "muster/service/web/bodies.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "muster/service/errc.h"

namespace muster::service {

namespace {

using nlohmann::json;

constexpr std::size_t kLongestName = 128;
constexpr std::size_t kMostNames = 1000;
constexpr std::size_t kMostResults = 100'000;
constexpr std::size_t kDeepest = 16;
constexpr std::size_t kMostAxes = 32;
constexpr std::size_t kMostChunks = 1'000'000;
constexpr double kLongestTimeout = 7 * 24 * 3600.0;

tl::unexpected<Error> wrong(std::string message) {
  return fail(Errc::malformed, std::move(message));
}

bool is_name_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' || letter == '-';
}

/// A text of the sender as it may stand in a message: short and printable.
std::string shown(std::string_view text) {
  std::string out;
  for (const char letter : text.substr(0, 60))
    out += letter >= ' ' && letter <= '~' && letter != '\'' ? letter : '?';
  return text.size() > 60 ? out + "..." : out;
}

/// The parser calls it for every value, so that nothing is built that nests too deep.
json parse_shallow(std::string_view text) {
  bool too_deep = false;
  json value = json::parse(
      text,
      [&](int depth, json::parse_event_t, json&) {
        if (depth <= static_cast<int>(kDeepest)) return true;
        too_deep = true;
        return false;
      },
      false);
  return too_deep ? json(json::value_t::discarded) : value;
}

Result<std::string> text_of(const json& object, const char* name, std::size_t longest,
                            bool needed) {
  const auto found = object.find(name);
  if (found == object.end()) {
    if (needed) return wrong(fmt::format("'{}' is missing: a text is wanted", name));
    return std::string();
  }
  if (!found->is_string()) return wrong(fmt::format("'{}' must be a text", name));
  auto text = found->get<std::string>();
  if (text.size() > longest)
    return wrong(fmt::format("'{}' has {} bytes, but {} are the most", name, text.size(), longest));
  return text;
}

Result<void> check_known(const json& object, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : object.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      return wrong(fmt::format("'{}' is not known here", shown(name)));
  return {};
}

Result<std::vector<std::int64_t>> read_extents(const json& axis) {
  if (!axis.is_array() || axis.empty())
    return wrong("each axis in 'splits' is a list with the extent of every chunk along it");
  std::vector<std::int64_t> extents;
  std::int64_t sum = 0;
  for (const json& extent : axis) {
    const bool fits = extent.is_number_unsigned() && extent.get<std::uint64_t>() <= INT64_MAX;
    if (!fits) return wrong("extents in 'splits' are whole numbers that are not negative");
    extents.push_back(extent.get<std::int64_t>());
    if (__builtin_add_overflow(sum, extents.back(), &sum))
      return wrong("the extents in 'splits' are too large");
  }
  return extents;
}

}  // namespace

Result<void> check_name(std::string_view what, std::string_view name) {
  if (!name.empty() && name.size() <= kLongestName &&
      std::all_of(name.begin(), name.end(), is_name_letter))
    return {};
  return wrong(fmt::format("{} '{}' is no name: up to {} letters, digits, '.', '_' and '-'", what,
                           shown(name), kLongestName));
}

Result<std::vector<std::string>> read_names(std::string_view what, std::string_view list) {
  std::vector<std::string> names;
  while (true) {
    const auto comma = list.find(',');
    const std::string_view name = list.substr(0, comma);
    if (auto ok = check_name(what, name); !ok) return fail(ok.error());
    names.emplace_back(name);
    if (names.size() > kMostNames) return wrong(fmt::format("more than {} names", kMostNames));
    if (comma == std::string_view::npos) return names;
    list.remove_prefix(comma + 1);
  }
}

Result<std::uint64_t> read_number(std::string_view what, std::string_view text,
                                  std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number > most)
    return wrong(
        fmt::format("{} '{}' is no whole number between 0 and {}", what, shown(text), most));
  return number;
}

Result<json> read_object(std::string_view text) {
  if (text.size() > kMostJson)
    return wrong(fmt::format("JSON of {} bytes, but {} are the most", text.size(), kMostJson));
  json value = parse_shallow(text);
  if (value.is_discarded())
    return wrong(
        fmt::format("this is no JSON, or nested more than {} deep: '{}'", kDeepest, shown(text)));
  if (!value.is_object()) return wrong("a JSON object is wanted: {...}");
  return value;
}

Result<OpenBody> read_open(std::string_view text) {
  OpenBody body;
  if (text.empty()) return body;
  auto object = read_object(text);
  if (!object) return fail(object.error());
  if (auto ok = check_known(*object, {"name", "nonce", "timeout"}); !ok) return fail(ok.error());
  auto name = text_of(*object, "name", 256, false);
  if (!name) return fail(name.error());
  auto nonce = text_of(*object, "nonce", 256, false);
  if (!nonce) return fail(nonce.error());
  body.name = *std::move(name);
  body.nonce = *std::move(nonce);
  if (const auto found = object->find("timeout"); found != object->end()) {
    if (!found->is_number() || !(found->get<double>() >= 1) ||
        !(found->get<double>() <= kLongestTimeout))
      return wrong(
          fmt::format("'timeout' must be a number of seconds from 1 to {}", kLongestTimeout));
    body.timeout = found->get<double>();
  }
  return body;
}

Result<SubmitBody> read_submit(ByteSpan bytes) {
  const std::string_view text = as_text(bytes);
  const auto line_end = text.substr(0, kMostJson + 1).find('\n');
  if (line_end == std::string_view::npos)
    return wrong("a line of JSON is wanted, then the bytes of a graph");
  auto object = read_object(text.substr(0, line_end));
  if (!object) return fail(object.error());
  if (auto ok = check_known(*object, {"execution", "keys", "options"}); !ok)
    return fail(ok.error());
  SubmitBody body;
  auto execution = text_of(*object, "execution", kLongestName, true);
  if (!execution) return fail(execution.error());
  if (auto ok = check_name("the execution", *execution); !ok) return fail(ok.error());
  body.execution = *std::move(execution);
  const auto keys = object->find("keys");
  if (keys == object->end() || !keys->is_array() || keys->empty() || keys->size() > kMostResults)
    return wrong(
        fmt::format("'keys' must be a list of 1 to {} names, one for each result", kMostResults));
  for (const json& key : *keys) {
    if (!key.is_string()) return wrong("'keys' must be a list of names");
    body.keys.push_back(key.get<std::string>());
    if (auto ok = check_name("the key", body.keys.back()); !ok) return fail(ok.error());
  }
  body.options = object->value("options", json::object());
  if (!body.options.is_object()) return wrong("'options' must be a JSON object");
  body.graph = bytes.subspan(line_end + 1);
  if (body.graph.empty()) return wrong("the graph is missing behind the line of JSON");
  return body;
}

Result<UploadBody> read_upload(std::string_view text) {
  auto object = read_object(text);
  if (!object) return fail(object.error());
  if (auto ok = check_known(*object, {"dtype", "splits"}); !ok) return fail(ok.error());
  UploadBody body;
  auto dtype = text_of(*object, "dtype", 64, true);
  if (!dtype) return fail(dtype.error());
  body.dtype = *std::move(dtype);
  const auto splits = object->find("splits");
  if (splits == object->end() || !splits->is_array() || splits->size() > kMostAxes)
    return wrong(fmt::format("'splits' must be a list of up to {} axes", kMostAxes));
  std::size_t chunks = 1;
  for (const json& axis : *splits) {
    auto extents = read_extents(axis);
    if (!extents) return fail(extents.error());
    if (__builtin_mul_overflow(chunks, extents->size(), &chunks) || chunks > kMostChunks)
      return wrong(fmt::format("'splits' make more than {} chunks", kMostChunks));
    body.splits.push_back(*std::move(extents));
  }
  return body;
}

Result<MemoryBody> read_memory_place(std::string_view text) {
  auto object = read_object(text);
  if (!object) return fail(object.error());
  if (auto ok = check_known(*object, {"host", "pid", "proof", "proof_at", "address"}); !ok)
    return fail(ok.error());
  MemoryBody body;
  auto host = text_of(*object, "host", 256, true);
  if (!host) return fail(host.error());
  body.host = *std::move(host);
  for (const auto& [name, number] : {std::pair{"pid", &body.pid},
                                     {"proof", &body.proof},
                                     {"proof_at", &body.proof_at},
                                     {"address", &body.address}}) {
    const auto found = object->find(name);
    if (found == object->end() || !found->is_number_unsigned())
      return wrong(fmt::format("'{}' must be a whole number that is not negative", name));
    *number = found->get<std::uint64_t>();
  }
  return body;
}

Result<std::string> read_parameter(const Query& query, const std::string& name,
                                   std::string_view fallback) {
  const auto [first, last] = query.equal_range(name);
  if (first == last) return std::string(fallback);
  if (std::next(first) != last) return wrong(fmt::format("'{}' is given twice", name));
  return first->second;
}

Result<ProgressQuery> read_progress(const Query& query) {
  ProgressQuery out;
  auto wait = read_parameter(query, "wait", "0");
  if (!wait) return fail(wait.error());
  const auto [end, error] = std::from_chars(wait->data(), wait->data() + wait->size(), out.wait);
  if (error != std::errc() || end != wait->data() + wait->size() || !(out.wait >= 0) ||
      std::isinf(out.wait))
    return wrong(fmt::format("wait '{}' is no number of seconds", shown(*wait)));
  out.wait = std::min(out.wait, kLongestWait);
  auto seen = read_parameter(query, "seen", "0");
  if (!seen) return fail(seen.error());
  auto version = read_number("seen", *seen, UINT64_MAX);
  if (!version) return fail(version.error());
  out.seen = *version;
  return out;
}

}  // namespace muster::service
