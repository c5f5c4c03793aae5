#include "muster/comm/discovery/entry.h"

#include <charconv>
#include <chrono>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/base/wall_clock.h"
#include "muster/comm/errc.h"
#include "muster/runtime/host.h"
#include "muster/runtime/process_life.h"

namespace muster::comm {
namespace {

// Entries come from outside: a longer one is not an entry.
constexpr std::size_t kLongest = 64 * 1024;
constexpr std::size_t kLongestName = 1024;

tl::unexpected<Error> malformed(std::string_view why) {
  return fail(Errc::malformed, fmt::format("not a registry entry: {}", why));
}

std::optional<InstanceId> instance_from(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0) return std::nullopt;
  return InstanceId(value);
}

}  // namespace

std::string Entry::to_json() const {
  return nlohmann::json{{"name", name.view()},
                        {"type", type.view()},
                        {"instance", fmt::format("{:016x}", instance.value())},
                        {"addresses", addresses},
                        {"host", host},
                        {"process", process},
                        {"born", born},
                        {"pid_start", pid_start},
                        {"pid", pid},
                        {"pid_namespace", pid_namespace}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Entry> Entry::from_json(std::string_view text) {
  if (text.size() > kLongest) return malformed(fmt::format("{} bytes are too many", text.size()));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return malformed("no JSON object");
  try {
    Entry entry;
    entry.name = Name(json.at("name").get<std::string>());
    entry.type = Name(json.at("type").get<std::string>());
    const auto instance = instance_from(json.at("instance").get<std::string>());
    if (!instance) return malformed("'instance' is not a hexadecimal number above 0");
    entry.instance = *instance;
    entry.addresses = json.at("addresses").get<std::map<std::string, std::string>>();
    entry.host = json.at("host").get<std::string>();
    entry.process = json.at("process").get<std::string>();
    entry.born = json.at("born").get<std::int64_t>();
    entry.pid_start = json.at("pid_start").get<std::uint64_t>();
    entry.pid = json.at("pid").get<std::int64_t>();
    entry.pid_namespace = json.at("pid_namespace").get<std::string>();
    if (entry.name.empty() || entry.name.size() > kLongestName)
      return malformed("'name' is empty or too long");
    if (entry.type.empty() || entry.type.size() > kLongestName)
      return malformed("'type' is empty or too long");
    return entry;
  } catch (const nlohmann::json::exception& error) {
    return malformed(error.what());
  }
}

std::string whereabouts(const Entry& entry) {
  if (entry.host == host_id()) {
    return fmt::format("process {} on this host{}", entry.pid,
                       entry.pid_namespace == pid_namespace() ? "" : ", in another pid namespace");
  }
  const auto network = entry.addresses.find("zmq");
  return fmt::format("process {} on another host{}", entry.pid,
                     network == entry.addresses.end() ? "" : fmt::format(" ({})", network->second));
}

Error name_taken(const Entry& entry, const std::string& group, const Entry& holder) {
  return {make_error_code(Errc::refused),
          fmt::format("{} took the name '{}' in group '{}'", whereabouts(holder), entry.name.view(),
                      group)};
}

Entry local_entry(Name name, Name type) {
  return {.name = std::move(name),
          .type = std::move(type),
          .instance = new_instance_id(),
          .addresses = {},
          .host = host_id(),
          .process = process_id(),
          .born = wall_clock<std::chrono::microseconds>(),
          .pid = ::getpid(),
          .pid_start = process_start(::getpid()),
          .pid_namespace = pid_namespace()};
}

}  // namespace muster::comm
