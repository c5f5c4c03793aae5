#include "muster/cluster/node/settings.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "muster/base/suggest.h"
#include "muster/cluster/errc.h"
#include "muster/cluster/job/quantity.h"
#include "muster/cluster/job/value.h"
#include "muster/cluster/job/yaml.h"
#include "muster/cluster/launch/process/exit_record.h"

namespace muster::cluster {
namespace {

constexpr std::uint32_t kMostParallel = 100'000;

template <class Number>
std::string read_number(std::string_view text, Number& number, std::uint64_t least,
                        std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return fmt::format("{} is not a whole number from {} to {}", quoted_text(text), least, most);
  }
  number = static_cast<Number>(value);
  return {};
}

std::string read_flag(std::string_view text, bool& flag) {
  for (const char* const word : {"true", "True", "yes", "on", "1"}) {
    if (text == word) return flag = true, "";
  }
  for (const char* const word : {"false", "False", "no", "off", "0"}) {
    if (text == word) return flag = false, "";
  }
  return fmt::format("{} is neither true nor false", quoted_text(text));
}

std::string read_mode(std::string_view text, bool& own) {
  if (text == "MUSTER" || text == "MARO") return own = true, "";
  if (text == "customized") return own = false, "";
  return fmt::format("{} is neither MUSTER (a server of our own) nor customized (yours)",
                     quoted_text(text));
}

std::string read_interval(std::string_view text, std::chrono::milliseconds& interval) {
  const auto time = parse_time(text);
  if (!time || time->count() < 10) {
    return fmt::format("{} is not a time of at least 10ms", quoted_text(text));
  }
  interval = *time;
  return {};
}

const std::vector<std::string> kKeys = {"redis_info.host", "redis_info.port", "redis_info.password",
                                        "redis_mode",      "parallel_level",  "keep_agent_alive",
                                        "agent_countdown", "check_interval"};

// What is wrong with the value, or nothing.
std::string take(ProcessSettings& settings, std::string_view key, std::string_view text) {
  if (key == "redis_info.host") {
    settings.redis_host = text;
    return text.empty() ? "a host needs a name" : "";
  }
  if (key == "redis_info.port") return read_number(text, settings.redis_port, 0, 65535);
  if (key == "redis_info.password") return settings.redis_password = text, "";
  if (key == "redis_mode") return read_mode(text, settings.own_redis);
  if (key == "parallel_level") return read_number(text, settings.parallel_level, 1, kMostParallel);
  if (key == "keep_agent_alive") return read_flag(text, settings.keep_agent_alive);
  if (key == "agent_countdown") return read_number(text, settings.agent_countdown, 1, 1'000'000);
  if (key == "check_interval") return read_interval(text, settings.check_interval);
  return fmt::format("unknown setting{}", did_you_mean(std::string(key), kKeys));
}

void take_map(ProcessSettings& settings, const Value& map, const std::string& prefix,
              Problems& problems) {
  for (const Member& member : map.members) {
    const std::string key = prefix + member.key;
    if (key == "redis_info" && member.value.kind == Value::Kind::map) {
      take_map(settings, member.value, "redis_info.", problems);
    } else if (member.value.kind == Value::Kind::scalar) {
      const std::string problem = take(settings, key, member.value.text);
      if (!problem.empty()) problems.add(member.line, key, problem);
    } else {
      problems.add(member.line, key, fmt::format("{} is not possible here", member.value.shown()));
    }
  }
}

// What only the whole can tell.
std::string contradiction(const ProcessSettings& settings) {
  if (settings.own_redis && settings.redis_host != "localhost" &&
      settings.redis_host != "127.0.0.1") {
    return fmt::format(
        "a redis-server of our own runs on localhost, not on '{}'; redis_mode: "
        "customized uses yours",
        settings.redis_host);
  }
  return {};
}

tl::unexpected<Error> invalid(const std::vector<SpecProblem>& problems) {
  std::vector<std::string> lines;
  for (const auto& problem : problems) lines.push_back(problem.str());
  return fail(Errc::invalid_spec, fmt::format("{}", fmt::join(lines, "\n")));
}

}  // namespace

net::RedisAddress ProcessSettings::redis_address(const ClusterLayout& layout) const {
  if (own_redis) return {.unix_path = layout.redis_socket(), .password = redis_password};
  constexpr std::uint16_t kRedisPort = 6379;
  return {.host = redis_host,
          .port = redis_port == 0 ? kRedisPort : redis_port,
          .password = redis_password};
}

std::vector<std::pair<std::string, std::string>> ProcessSettings::shown() const {
  return {{"redis_mode", own_redis ? "MUSTER" : "customized"},
          {"redis_info.host", redis_host},
          {"redis_info.port", std::to_string(redis_port)},
          {"parallel_level", std::to_string(parallel_level)},
          {"keep_agent_alive", keep_agent_alive ? "true" : "false"},
          {"agent_countdown", std::to_string(agent_countdown)},
          {"check_interval", time_text(check_interval)}};
}

bool only_comments(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const auto first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '#') return false;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return true;
}

Result<ProcessSettings> read_settings(std::string_view text, const std::string& file) {
  Problems problems(file);
  ProcessSettings settings;
  if (only_comments(text)) return settings;
  const auto value = read_yaml(text, problems);
  if (value && value->kind == Value::Kind::map) {
    take_map(settings, *value, "", problems);
  } else if (value) {
    problems.add(value->line, "", "settings are a map from names to values");
  }
  const std::string problem = contradiction(settings);
  if (problems.empty() && !problem.empty()) problems.add(0, "redis_info.host", problem);
  if (!problems.empty()) return invalid(problems.sorted());
  return settings;
}

Result<ProcessSettings> with_setting(ProcessSettings settings, std::string_view key,
                                     std::string_view value) {
  std::string problem = take(settings, key, value);
  if (problem.empty()) problem = contradiction(settings);
  if (!problem.empty()) return fail(Errc::invalid_spec, fmt::format("{}: {}", key, problem));
  return settings;
}

Result<ProcessSettings> load_settings(const ClusterLayout& layout) {
  std::ifstream file(layout.settings());
  if (!file) {
    return fail(Errc::not_running,
                "process mode is not set up; 'muster process create' sets it up");
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    const auto document = nlohmann::json::parse(text);
    return ProcessSettings{
        .cluster_id = document.at("cluster_id"),
        .own_redis = document.at("own_redis"),
        .redis_host = document.at("redis_host"),
        .redis_port = document.at("redis_port"),
        .redis_password = document.at("redis_password"),
        .parallel_level = document.at("parallel_level"),
        .keep_agent_alive = document.at("keep_agent_alive"),
        .agent_countdown = document.at("agent_countdown"),
        .check_interval = std::chrono::milliseconds(document.at("check_interval_ms"))};
  } catch (const std::exception& error) {
    return fail(Errc::corrupt_state,
                fmt::format("'{}' cannot be read: {}", layout.settings(), error.what()));
  }
}

Result<void> save_settings(const ClusterLayout& layout, const ProcessSettings& settings) {
  const nlohmann::json document = {{"cluster_id", settings.cluster_id},
                                   {"own_redis", settings.own_redis},
                                   {"redis_host", settings.redis_host},
                                   {"redis_port", settings.redis_port},
                                   {"redis_password", settings.redis_password},
                                   {"parallel_level", settings.parallel_level},
                                   {"keep_agent_alive", settings.keep_agent_alive},
                                   {"agent_countdown", settings.agent_countdown},
                                   {"check_interval_ms", settings.check_interval.count()}};
  return write_durably(layout.root, "settings.json", document.dump(2) + "\n");
}

}  // namespace muster::cluster
