#pragma once

#include <cstdint>
#include <memory>

#include "muster/base/result.h"
#include "muster/service/role.h"

namespace muster::service {

/// The scheduler role: serves the store where roles meet, keeps sessions, turns graphs into tasks,
/// tells workers what to run (engine/schedule decides), and keeps a journal, from which the next
/// one goes on. Owns its threads. Thread-safe.
class SchedulerService {
 public:
  [[nodiscard]] static Result<std::unique_ptr<SchedulerService>> start(
      const SchedulerOptions& options);
  ~SchedulerService();
  SchedulerService(const SchedulerService&) = delete;
  SchedulerService& operator=(const SchedulerService&) = delete;

  /// Ends all threads; the journal stays. Idempotent, bounded.
  void stop();
  /// Where roles find it; 0 where the options brought a store.
  [[nodiscard]] std::uint16_t port() const;

 private:
  class Impl;
  explicit SchedulerService(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::service
