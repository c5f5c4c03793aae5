#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/cluster/launch/launcher.h"
#include "muster/net/http/unix_http.h"

namespace muster::cluster {

struct ContainerEnd {
  int exit_code = 0;
  bool out_of_memory = false;
};

/// A Docker engine of this machine, through its socket. Failures are `Errc::unavailable` with what
/// the engine said. Thread-safe: it keeps no connection.
class DockerEngine {
 public:
  /// The engine at $DOCKER_HOST (unix://…), else at /var/run/docker.sock. Fails if none answers
  /// there, and says why.
  [[nodiscard]] static Result<DockerEngine> connect();

  /// Makes a container for an order; brings the image if it is not here. Returns its id.
  Result<std::string> create(const LaunchOrder& order);
  Result<void> start(const std::string& container);
  Result<void> kill(const std::string& container, std::string_view signal);
  /// Removes it, running or not.
  Result<void> remove(const std::string& container);
  Result<ContainerEnd> inspect(const std::string& container);
  /// The containers of ours, with the attempts that they belong to.
  Result<std::vector<std::pair<std::string, std::string>>> containers();

  /// Answers when the container has ended.
  Result<net::UnixHttpExchange> begin_wait(const std::string& container);
  /// What it prints, as frames for `DockerLogReader`.
  Result<net::UnixHttpExchange> begin_logs(const std::string& container);

 private:
  explicit DockerEngine(std::string socket) : socket_(std::move(socket)) {}

  Result<net::HttpResponse> ask(std::string_view method, const std::string& target,
                                const std::string& json = {},
                                Duration patience = std::chrono::seconds(30)) const;
  Result<void> pull(const std::string& image) const;

  std::string socket_;
};

/// The description of a container, as the engine wants it.
[[nodiscard]] std::string container_json(const LaunchOrder& order);

/// Takes the frames apart in which an engine sends what a container prints. Not thread-safe.
class DockerLogReader {
 public:
  /// The output in these bytes, stdout and stderr together.
  [[nodiscard]] std::string take(std::string_view bytes);

 private:
  std::string pending_;
};

}  // namespace muster::cluster
