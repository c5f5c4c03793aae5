#include "muster/cluster/launch/docker/docker_engine.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/cluster/errc.h"

namespace muster::cluster {
namespace {

using nlohmann::json;

constexpr std::string_view kApi = "/v1.40";
constexpr char kLabel[] = "muster.attempt";
constexpr Duration kPullTime = std::chrono::minutes(20);
constexpr int kNotFound = 404;

std::string engine_socket() {
  const char* const host = std::getenv("DOCKER_HOST");
  constexpr std::string_view kScheme = "unix://";
  if (host != nullptr && std::string_view(host).starts_with(kScheme)) return host + kScheme.size();
  return "/var/run/docker.sock";
}

std::string encoded(std::string_view text) {
  std::string result;
  for (const unsigned char c : text) {
    const bool plain = std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '~';
    result += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return result;
}

// What the engine complained about.
tl::unexpected<Error> refused(std::string_view doing, const net::HttpResponse& response) {
  const json document = json::parse(response.body, nullptr, false);
  std::string why = fmt::format("status {}", response.status);
  if (document.is_object() && document.contains("message") && document["message"].is_string())
    why = document["message"];
  return fail(Errc::unavailable, fmt::format("{}: {}", doing, why));
}

bool good(const net::HttpResponse& response) {
  return response.status >= 200 && response.status < 400;  // 304: it was so already
}

std::string mount_text(const MountSpec& mount) {
  return fmt::format("{}:{}{}", mount.source, mount.target, mount.read_only ? ":ro" : "");
}

}  // namespace

std::string container_json(const LaunchOrder& order) {
  json binds = json::array();
  for (const auto& mount : order.mounts) binds.push_back(mount_text(mount));
  json document{
      {"Image", order.image},
      {"Cmd", order.command},
      {"Env", order.environment},
      {"Labels", {{kLabel, order.id}}},
      {"HostConfig",
       {{"Binds", binds},
        // As processes do: components find each other on the host's addresses.
        {"NetworkMode", "host"},
        {"NanoCpus", order.limits.cpu_milli * 1'000'000},
        {"Memory", order.limits.memory},
        {"MemorySwap", order.limits.memory},  // no swap beside it
        // The shim keeps the log; the engine's own copy only feeds it.
        {"LogConfig",
         {{"Type", "json-file"}, {"Config", {{"max-size", "10m"}, {"max-file", "2"}}}}}}}};
  if (!order.working_dir.empty()) document["WorkingDir"] = order.working_dir;
  if (::geteuid() != 0) document["User"] = fmt::format("{}:{}", ::geteuid(), ::getegid());
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<DockerEngine> DockerEngine::connect() {
  DockerEngine engine(engine_socket());
  std::error_code ignored;
  if (!std::filesystem::exists(engine.socket_, ignored)) {
    return fail(Errc::unavailable,
                fmt::format("there is no Docker engine: '{}' does not exist; start one, or name "
                            "its socket with DOCKER_HOST=unix://PATH",
                            engine.socket_));
  }
  const auto response = engine.ask("GET", "/_ping");
  if (!response || !good(*response)) {
    return fail(Errc::unavailable,
                fmt::format("the Docker engine at '{}' does not answer: {}", engine.socket_,
                            response ? fmt::format("status {}", response->status)
                                     : response.error().message()));
  }
  return engine;
}

Result<net::HttpResponse> DockerEngine::ask(std::string_view method, const std::string& target,
                                            const std::string& json, Duration patience) const {
  return net::unix_http(socket_, method, std::string(kApi) + target, json,
                        SteadyClock().now() + patience);
}

Result<void> DockerEngine::pull(const std::string& image) const {
  const bool tagged = image.rfind(':') != std::string::npos &&
                      image.find('/', image.rfind(':')) == std::string::npos;
  const auto response =
      ask("POST",
          fmt::format("/images/create?fromImage={}{}", encoded(image),
                      tagged || image.find('@') != std::string::npos ? "" : "&tag=latest"),
          {}, kPullTime);
  if (!response) return fail(response.error());
  if (!good(*response)) return refused(fmt::format("cannot get image '{}'", image), *response);
  return {};
}

Result<std::string> DockerEngine::create(const LaunchOrder& order) {
  for (bool first = true;; first = false) {
    const auto response = ask("POST", "/containers/create", container_json(order));
    if (!response) return fail(response.error());
    if (response->status == kNotFound && first) {
      if (auto pulled = pull(order.image); !pulled) return fail(pulled.error());
      continue;
    }
    if (!good(*response))
      return refused(fmt::format("cannot make a container of '{}'", order.image), *response);
    const json document = json::parse(response->body, nullptr, false);
    if (document.is_object() && document.contains("Id")) return document["Id"].get<std::string>();
    return fail(Errc::unavailable, "the Docker engine made a container without an id");
  }
}

Result<void> DockerEngine::start(const std::string& container) {
  const auto response = ask("POST", fmt::format("/containers/{}/start", container));
  if (!response) return fail(response.error());
  if (!good(*response)) return refused("cannot start the container", *response);
  return {};
}

Result<void> DockerEngine::kill(const std::string& container, std::string_view signal) {
  const auto response =
      ask("POST", fmt::format("/containers/{}/kill?signal={}", container, signal));
  if (!response) return fail(response.error());
  if (!good(*response)) return refused("cannot signal the container", *response);
  return {};
}

Result<void> DockerEngine::remove(const std::string& container) {
  const auto response = ask("DELETE", fmt::format("/containers/{}?force=1&v=1", container));
  if (!response) return fail(response.error());
  if (!good(*response) && response->status != kNotFound)
    return refused("cannot remove the container", *response);
  return {};
}

Result<ContainerEnd> DockerEngine::inspect(const std::string& container) {
  const auto response = ask("GET", fmt::format("/containers/{}/json", container));
  if (!response) return fail(response.error());
  if (!good(*response)) return refused("cannot look at the container", *response);
  const json state = json::parse(response->body, nullptr, false).value("State", json::object());
  return ContainerEnd{.exit_code = state.value("ExitCode", 1),
                      .out_of_memory = state.value("OOMKilled", false)};
}

Result<std::vector<std::pair<std::string, std::string>>> DockerEngine::containers() {
  const auto response =
      ask("GET", "/containers/json?all=1&filters=" + encoded(R"({"label":["muster.attempt"]})"));
  if (!response) return fail(response.error());
  if (!good(*response)) return refused("cannot list containers", *response);
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& each : json::parse(response->body, nullptr, false)) {
    found.emplace_back(each.value("Id", ""),
                       each.value("Labels", json::object()).value(kLabel, ""));
  }
  return found;
}

Result<net::UnixHttpExchange> DockerEngine::begin_wait(const std::string& container) {
  return net::UnixHttpExchange::begin(socket_, "POST",
                                      fmt::format("{}/containers/{}/wait", kApi, container), "",
                                      SteadyClock().now() + std::chrono::seconds(30));
}

Result<net::UnixHttpExchange> DockerEngine::begin_logs(const std::string& container) {
  return net::UnixHttpExchange::begin(
      socket_, "GET",
      fmt::format("{}/containers/{}/logs?follow=1&stdout=1&stderr=1", kApi, container), "",
      SteadyClock().now() + std::chrono::seconds(30));
}

std::string DockerLogReader::take(std::string_view bytes) {
  // A frame is its stream, three zeros, its length as four bytes, most significant first.
  constexpr std::size_t kHead = 8;
  pending_.append(bytes);
  std::string output;
  std::size_t at = 0;
  while (pending_.size() - at >= kHead) {
    std::size_t length = 0;
    for (std::size_t i = 4; i < kHead; ++i)
      length = length << 8 | static_cast<unsigned char>(pending_[at + i]);
    if (pending_.size() - at - kHead < length) break;
    output.append(pending_, at + kHead, length);
    at += kHead + length;
  }
  pending_.erase(0, at);
  return output;
}

}  // namespace muster::cluster
