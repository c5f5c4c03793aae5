#include "muster/cli/engine/environment.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "muster/cluster/job/quantity.h"

namespace muster::cli {
namespace {

using nlohmann::json;

constexpr const char* kPrefixes[] = {"MUSTER_", "MARS_"};

struct Variable {
  std::string name;
  std::string value;
};

tl::unexpected<Error> wrong(const Variable& variable, std::string_view right) {
  return fail(std::errc::invalid_argument,
              fmt::format("{}='{}' is not {}", variable.name, variable.value, right));
}

std::optional<std::uint64_t> whole(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Reads variables one after the other; the first that is wrong is kept as the failure.
class Reader {
 public:
  explicit Reader(const Lookup& lookup) : lookup_(lookup) {}

  [[nodiscard]] std::optional<Variable> find(std::string_view suffix) const {
    for (const char* const prefix : kPrefixes) {
      std::string name = std::string(prefix).append(suffix);
      auto value = lookup_(name);
      if (value && !value->empty()) return Variable{std::move(name), *std::move(value)};
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string text(std::string_view suffix) const {
    auto found = find(suffix);
    return found ? std::move(found->value) : "";
  }

  void complain(const Variable& variable, std::string_view right) {
    if (!error_) error_ = wrong(variable, right).value();
  }

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  const Lookup& lookup_;
  std::optional<Error> error_;
};

void read_port(Reader& reader, RoleEnvironment& environment) {
  const auto variable = reader.find("BIND_PORT");
  if (!variable) return;
  const auto port = whole(variable->value);
  if (!port || *port > std::numeric_limits<std::uint16_t>::max())
    return reader.complain(*variable, "a port: a number up to 65535");
  environment.port = static_cast<std::uint16_t>(*port);
}

void read_totals(Reader& reader, RoleEnvironment& environment) {
  if (const auto variable = reader.find("CPU_TOTAL")) {
    const auto cpus = cluster::parse_cpu(variable->value);
    if (!cpus) return reader.complain(*variable, "a number of cores");
    environment.cpus = (*cpus + 999) / 1000;
  }
  if (const auto variable = reader.find("MEMORY_TOTAL")) {
    const auto memory = cluster::parse_size(variable->value);
    if (!memory) return reader.complain(*variable, "a size in bytes");
    environment.memory = *memory;
  }
}

void read_storage(Reader& reader, RoleEnvironment& environment) {
  if (const auto variable = reader.find("CACHE_MEM_PERCENTAGE")) {
    const auto percentage =
        parse_cache_size(variable->value.ends_with('%') ? variable->value : variable->value + '%');
    if (!percentage) return reader.complain(*variable, "a percentage above 0");
    environment.cache = *percentage;
  }
  if (const auto variable = reader.find("CACHE_MEM_SIZE")) {
    const auto size = parse_cache_size(variable->value);
    if (!size) return reader.complain(*variable, "a size (4g) or a percentage (45%)");
    environment.cache = *size;
  }
  environment.spill_dirs = parse_folders(reader.text("SPILL_DIRS"));
  const auto places = parse_folders(reader.text("PLASMA_DIRS"));
  if (!places.empty()) environment.plasma_dir = places.front();
  if (const auto variable = reader.find("LOCK_FREE_FILEIO")) {
    const std::string& value = variable->value;
    const bool yes = value == "1" || value == "true" || value == "True";
    const bool no = value == "0" || value == "false" || value == "False";
    if (!yes && !no) return reader.complain(*variable, "0 or 1");
    environment.lock_free_io = yes;
  }
}

// {"cluster": {"scheduler": ["host:port", …], …}, "task": {"resources": {"cpu_procs", "phy_mem"}}}
void read_detail(Reader& reader, const Variable& variable, RoleEnvironment& environment) {
  constexpr std::string_view kRight =
      "the JSON of a cluster: {\"cluster\": {\"scheduler\": [\"HOST:PORT\"]}}";
  const json detail = json::parse(variable.value, nullptr, false);
  if (!detail.is_object()) return reader.complain(variable, kRight);
  try {
    const json cluster = detail.value("cluster", json::object());
    for (const char* const key : {"scheduler", "supervisor"}) {
      const auto list = cluster.value(key, std::vector<std::string>());
      if (environment.schedulers.empty())
        environment.schedulers = fmt::format("{}", fmt::join(list, ","));
    }
    const json resources = detail.value("task", json::object()).value("resources", json::object());
    if (environment.cpus == 0)
      environment.cpus = static_cast<std::size_t>(std::ceil(resources.value("cpu_procs", 0.0)));
    if (environment.memory == 0) environment.memory = resources.value("phy_mem", std::uint64_t{0});
  } catch (const json::exception&) {
    reader.complain(variable, kRight);
  }
}

void read_schedulers(Reader& reader, RoleEnvironment& environment) {
  environment.schedulers = reader.text("SCHEDULERS");
  for (const char* const suffix : {"CLUSTER_DETAIL", "TASK_DETAIL"}) {
    if (const auto variable = reader.find(suffix)) read_detail(reader, *variable, environment);
  }
  if (!environment.schedulers.empty()) return;
  const std::string service = reader.text("K8S_SERVICE_NAME");
  const std::string port = reader.text("K8S_SERVICE_PORT");
  if (!service.empty() && !port.empty())
    environment.schedulers = fmt::format("{}:{}", service, port);
}

}  // namespace

std::optional<CacheSize> parse_cache_size(std::string_view text) {
  if (!text.ends_with('%')) {
    const auto bytes = cluster::parse_size(text);
    if (!bytes || *bytes == 0) return std::nullopt;
    return CacheSize{.bytes = bytes};
  }
  text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value > 0) ||
      !std::isfinite(value))
    return std::nullopt;
  return CacheSize{.percentage = value};
}

std::vector<std::string> parse_folders(std::string_view text) {
  std::vector<std::string> folders;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(",:"), text.size());
    if (end > 0) folders.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return folders;
}

Result<RoleEnvironment> read_environment(const Lookup& lookup) {
  Reader reader(lookup);
  RoleEnvironment environment;
  environment.host = reader.text("BIND_HOST");
  if (environment.host.empty()) environment.host = reader.text("CONTAINER_IP");
  environment.name = reader.text("K8S_POD_NAME");
  read_port(reader, environment);
  read_totals(reader, environment);
  read_storage(reader, environment);
  read_schedulers(reader, environment);
  if (reader.error()) return fail(*reader.error());
  return environment;
}

Result<RoleEnvironment> read_environment() {
  return read_environment([](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

}  // namespace muster::cli
