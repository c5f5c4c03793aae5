#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "muster/comm/proxy/proxy.h"
#include "tests/support/child.h"
#include "tests/support/redis_server.h"
#include "tests/support/temp_dir.h"

namespace muster::comm {

/// Where the proxies of one test meet: a folder or a Redis server of the test's own.
class MeetingPlace {
 public:
  explicit MeetingPlace(const std::string& store) {
    if (store == "redis") redis_ = std::make_unique<test::RedisServer>();
  }

  [[nodiscard]] std::string address() const {
    if (!redis_) return "file:" + folder_.path().string() + "/store";
    const auto address = redis_->address();
    return "redis://" + address.host + ":" + std::to_string(address.port);
  }
  [[nodiscard]] test::RedisServer& redis() { return *redis_; }
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path() / "store"; }

 private:
  test::TempDir folder_;
  std::unique_ptr<test::RedisServer> redis_;
};

inline Proxy join_or_throw(ProxyOptions options) {
  auto proxy = Proxy::join(std::move(options));
  if (!proxy) throw std::runtime_error(proxy.error().message());
  return *std::move(proxy);
}

/// Answers every request with its own body until the master says "exit" or is gone.
inline void serve(ProxyOptions options) {
  Proxy proxy = join_or_throw(std::move(options));
  while (true) {
    auto message = proxy.receive_once(std::chrono::milliseconds(100));
    if (!message) return;
    if (!*message) {
      if (proxy.peers().empty()) return;
      continue;
    }
    if ((*message)->tag == "exit") return;
    if ((*message)->tag != "ignore") {
      static_cast<void>(proxy.reply(**message, {}, (*message)->body));
    }
  }
}

}  // namespace muster::comm
