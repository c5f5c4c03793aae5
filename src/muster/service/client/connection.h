#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "muster/base/result.h"
#include "muster/engine/value/memory.h"
#include "muster/service/client/web_calls.h"

namespace muster::service {

struct ConnectionOptions {
  WebCallsOptions calls{};
  std::string name{};          ///< for lists of sessions; empty: user, host and process
  Duration session_timeout{};  ///< how long the cluster keeps the session without a sign of life
};

/// An open session at the web role: a thread says that the client is alive and releases what it no
/// longer needs. Shared by the session and its results, which may outlive it. Thread-safe.
/// Inherited through fork it refuses to do anything.
class Connection {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Connection>> open(const std::string& url,
                                                                ConnectionOptions options);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Closes the session; what it held on the cluster is released. Idempotent, bounded.
  void close();

  /// Throws ArrayError when it is closed or was inherited through fork.
  void check_open() const;
  [[nodiscard]] bool is_open() const;
  [[nodiscard]] const WebCalls& web() const { return calls_; }
  /// Below the session: "/api/sessions/ID" and `rest`.
  [[nodiscard]] std::string path(std::string_view rest) const;
  /// A name for a tensor or an execution that this session has not given before.
  [[nodiscard]] std::string fresh_name(std::string_view kind);
  [[nodiscard]] engine::Memory& memory() const { return *memory_; }
  [[nodiscard]] const std::string& id() const { return id_; }

  /// Some time soon, from the connection's own thread; never fails.
  void release_later(std::string key);
  /// Releases now what was to be released later, so that what comes next finds the room.
  void release_now();

 private:
  Connection(WebCalls calls, std::string id, Duration session_timeout);
  void keep(const std::stop_token& stop);
  void release(std::vector<std::string> keys);  ///< `releasing_` must be held
  [[nodiscard]] bool is_late() const;

  WebCalls calls_;
  std::string id_;
  Duration session_timeout_;
  std::shared_ptr<engine::Memory> memory_;
  std::uint64_t generation_;  ///< of forks, when it was opened
  std::mutex releasing_;      ///< taken before `mutex_`: one request at a time
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::string> to_release_;  ///< `mutex_` must be held
  std::uint64_t names_ = 0;              ///< likewise
  bool closed_ = false;                  ///< likewise
  bool late_ = false;                    ///< likewise: the last request was in vain
  std::thread keeping_;
  std::stop_source stop_;
};

}  // namespace muster::service
