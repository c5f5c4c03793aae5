#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "muster/base/clock.h"
#include "muster/comm/discovery/store.h"
#include "muster/comm/driver/context.h"
#include "muster/engine/schedule/schedule_options.h"
#include "muster/engine/storage/chunk_store.h"

namespace muster::service {

/// What all roles share.
struct RoleOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: a free one
  /// Where the scheduler is (worker, web): HOST:PORT, or several separated by commas, of which the
  /// first that answers is taken.
  std::string scheduler{};
  std::string driver = "auto";  ///< of comm
  comm::Security security{};    ///< the secret comes from MUSTER_SECRET when it is empty here
  Duration lease = std::chrono::seconds(3);
  /// How long a role looks for the scheduler before it gives up.
  Duration patience = std::chrono::seconds(100);
  /// Instead of the scheduler's own: the store where roles in one process meet.
  std::shared_ptr<comm::Store> store{};
};

struct SchedulerOptions {
  RoleOptions role{};
  /// Empty: a folder below the user's state directory, named after host and port.
  std::string journal_dir{};
  std::uint16_t metrics_port = 0;  ///< 0: only by the verb `metrics`
  engine::ScheduleOptions schedule{};
  /// The journal is written anew, with what is still needed, when it has more bytes than this, and
  /// than four times what was needed last.
  std::size_t journal_bytes = std::size_t{16} << 20;
  std::size_t executions = 16;  ///< graphs that are tiled and run at the same time; others queue
};

struct WorkerOptions {
  RoleOptions role{};
  std::string name{};       ///< empty: made up
  std::size_t threads = 0;  ///< 0: one for each core
  engine::StoreOptions store{};
  std::size_t fetches = 4;  ///< transfers at the same time
  /// When it leaves and the scheduler is gone for so long, nobody will take its data.
  Duration absence = std::chrono::seconds(5);
  std::uint16_t metrics_port = 0;
  std::string python{};              ///< interpreter for functions
  std::size_t python_processes = 0;  ///< 0: as many as threads
  std::size_t python_memory = 0;     ///< bytes that each may take; 0: no limit
  /// Processes without work end after this; zero: they stay.
  Duration python_idle = std::chrono::minutes(10);
};

struct WebOptions {
  RoleOptions role{};
  std::string token{};
  std::string token_file{};
  std::string path_prefix{};
  std::string tls_certificate{};
  std::string tls_key{};
};

}  // namespace muster::service
