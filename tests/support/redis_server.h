#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "muster/net/redis/redis_address.h"
#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

namespace muster::test {

struct RedisServerOptions {
  std::string password{};
  bool tcp = true;  ///< on a free port; else only on a unix socket
};

/// A real redis-server of this test's own, in a temporary folder, that keeps nothing on disk and
/// dies with the test.
class RedisServer {
 public:
  explicit RedisServer(RedisServerOptions options = {});

  /// With the password. The port stays the same through restarts.
  [[nodiscard]] net::RedisAddress address() const;
  [[nodiscard]] net::RedisAddress unix_address() const;

  /// Starts again, empty, where it was.
  void start();
  /// SIGKILL.
  void kill();
  void restart() {
    kill();
    start();
  }
  /// SIGSTOP and SIGCONT.
  void pause() const;
  void resume() const;

 private:
  [[nodiscard]] bool try_start();
  [[nodiscard]] bool answers() const;

  const RedisServerOptions options_;
  TempDir folder_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Child> process_;
};

}  // namespace muster::test
