#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/cluster/control/job_state.h"
#include "muster/cluster/control/ticket.h"
#include "muster/net/redis/redis_client.h"

namespace muster::cluster {

/// What an agent has to store in one step.
struct StoreChanges {
  std::vector<std::pair<std::string, std::string>> jobs{};       ///< name and JSON
  std::vector<std::pair<std::string, std::string>> instances{};  ///< field and JSON
  std::vector<std::string> removed_jobs{};
  std::vector<std::string> removed_instances{};
  std::vector<std::string> done_tickets{};  ///< as they were taken

  [[nodiscard]] bool empty() const {
    return jobs.empty() && instances.empty() && removed_jobs.empty() && removed_instances.empty() &&
           done_tickets.empty();
  }
};

/// The state of jobs in Redis, under the keys of one cluster:
///
///   …:jobs       hash: name → JSON of the job without its instances
///   …:instances  hash: "job id/instance" → JSON
///   …:schedules  hash: name → JSON list of the names of its jobs
///   …:tickets    list, oldest first; …:taken  those that an agent works on
///   …:agent      hash: what the agent says about itself
///   …:changed    channel: the names of jobs that changed
///
/// A job comes in together with its ticket, and a ticket goes out together with what it led to, so
/// a crash between two calls loses nothing and repeats nothing. Thread-safe as `RedisClient` is.
class JobStore {
 public:
  JobStore(net::RedisAddress address, const std::string& cluster_id,
           Duration timeout = std::chrono::seconds(5));

  [[nodiscard]] const net::RedisAddress& address() const { return client_.address(); }
  [[nodiscard]] std::string key(std::string_view name) const { return prefix_ + std::string(name); }
  [[nodiscard]] static std::string instance_field(std::string_view job_id,
                                                  std::string_view instance);

  // For those who ask

  /// Stores jobs and their tickets, all or none. `Errc::already_exists` names the first that is
  /// there already. With a schedule's name, that too.
  Result<void> submit(const std::vector<JobState>& jobs, const std::string& schedule = {});
  Result<void> push(const Ticket& ticket);
  /// All jobs by name, with their instances.
  Result<std::vector<JobState>> jobs();
  Result<std::optional<JobState>> job(const std::string& name);
  Result<std::vector<std::string>> job_names();
  /// The names of the jobs of each schedule.
  Result<std::map<std::string, std::vector<std::string>>> schedules();
  Result<void> remove_schedule(const std::string& name);
  Result<std::map<std::string, std::string>> agent();
  /// Removes all keys of this cluster, and no others.
  Result<void> clear();

  // For the agent

  /// Tickets to work on: those taken before and not done, then new ones, up to `most`.
  Result<std::vector<std::string>> take_tickets(std::size_t most);
  Result<void> save(const StoreChanges& changes);
  Result<void> describe_agent(const std::map<std::string, std::string>& facts);
  Result<void> ping();

 private:
  Result<std::map<std::string, std::string>> hash(const std::string& name);

  std::string prefix_;
  net::RedisClient client_;
};

}  // namespace muster::cluster
