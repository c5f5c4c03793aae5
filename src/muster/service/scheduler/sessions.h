#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/service/scheduler/cluster_stored.h"
#include "muster/service/scheduler/core.h"
#include "muster/service/scheduler/execution.h"
#include "muster/service/scheduler/job_pool.h"

namespace muster::service {

/// Against clients that ask for too much. Errors name the limit.
struct SessionLimits {
  std::size_t sessions = 10'000;
  std::size_t executions = 1'000;  ///< of a session, that are not over
  std::size_t remembered = 100;    ///< of a session, that are
  std::size_t tensors = 1'000'000;
  std::size_t tasks = 10'000'000;  ///< of a session, remembered at a time
  std::size_t graph_bytes = std::size_t{1} << 30;
  std::size_t body_bytes = std::size_t{4} << 30;  ///< of one stage
  std::size_t key_length = 512;
};

/// One client's tensors and executions.
struct Session {
  engine::SessionId id;
  std::string name;
  double timeout = 0;  ///< seconds; 0 for none
  bool trusted = false;

  /// Held from numbering tasks until they are submitted.
  std::mutex submitting;

  // The table's lock guards what follows.
  TimePoint heard;
  bool closed = false;
  std::uint32_t next_graph = 0;
  std::map<std::string, std::shared_ptr<const ClusterStored>, std::less<>> tensors;
  std::map<std::string, std::shared_ptr<Execution>, std::less<>> executions;
  std::vector<std::string> over;  ///< executions that are, oldest first
  std::map<engine::GraphId, std::weak_ptr<Execution>> by_graph;
  /// Tensors whose chunks a graph still wants, to find out which of them share chunks.
  std::map<engine::GraphId, std::vector<std::weak_ptr<const ClusterStored>>> made_by;
};

/// The sessions and what runs in them. Thread-safe.
class Sessions {
 public:
  /// What an execution needs of the network: the sizes of a chunk that no report told.
  using FetchShape = std::function<std::optional<engine::Shape>(engine::ChunkId)>;
  /// Answers a question that waited.
  using Answer = std::function<void(const comm::Message& question, const nlohmann::json& status)>;

  /// `core` and `logs` outlive this.
  Sessions(Core& core, LogRing& logs, std::size_t executions, SessionLimits limits = {});
  ~Sessions();

  // Before start().
  [[nodiscard]] Core::Replay replaying();
  [[nodiscard]] engine::SessionId next_session() const;

  /// Goes on with what the journal had.
  void start(FetchShape fetch_shape, Answer answer);
  void stop();

  // What clients ask.
  [[nodiscard]] Result<engine::SessionId> open(const std::string& name, double timeout,
                                               bool trusted);
  enum class Heard : bool { no, yes };
  /// `heard`: this comes from its client, who is there. `Errc::not_found` for one that is over.
  [[nodiscard]] Result<std::shared_ptr<Session>> find(engine::SessionId session,
                                                      Heard heard = Heard::yes);
  void close(const std::shared_ptr<Session>& session, const std::string& why);
  [[nodiscard]] Result<void> submit(const std::shared_ptr<Session>& session,
                                    Execution::Order order);
  [[nodiscard]] Result<std::shared_ptr<Execution>> execution(
      const std::shared_ptr<Session>& session, std::string_view name) const;
  void cancel(const std::shared_ptr<Session>& session, const std::shared_ptr<Execution>& execution);
  [[nodiscard]] Result<std::shared_ptr<const ClusterStored>> tensor(
      const std::shared_ptr<Session>& session, std::string_view key) const;
  /// Chunks that clients will put to workers.
  [[nodiscard]] Result<std::shared_ptr<const ClusterStored>> upload(
      const std::shared_ptr<Session>& session, const std::string& key, engine::DType dtype,
      engine::Splits splits);
  void release(const std::shared_ptr<Session>& session, const std::vector<std::string>& keys);
  /// Fails where so many tasks more would be too many. The session's `submitting` must be held.
  [[nodiscard]] Result<void> has_room(engine::SessionId session, std::size_t tasks) const;

  /// All sessions, for those who look; with the lock held.
  template <class Look>
  void each(Look&& look) const {
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, session] : sessions_) look(*session);
  }

  // From the core, and from the clock.
  void graph_ended(const engine::GraphEnded& ended);
  void graph_progressed(const engine::GraphProgress& progress);
  void pass_time(TimePoint now);

 private:
  friend class ExecutionRun;

  /// Chunks that nobody needs any more, to be released when no lock is held.
  struct Garbage {
    struct Item {
      engine::SessionId session;
      engine::GraphId graph;
      std::vector<std::uint32_t> chunks;
    };
    std::mutex mutex;
    std::vector<Item> items;
  };

  void replay(ServiceRecord record);
  [[nodiscard]] std::shared_ptr<Execution> execution_of(engine::SessionId session,
                                                        engine::GraphId graph) const;
  [[nodiscard]] std::shared_ptr<ClusterStored> make_tensor(const Session& session,
                                                           TensorPlace place);
  /// `mutex_` must be held.
  void keep(Session& session, const std::string& key, std::shared_ptr<const ClusterStored> tensor);
  void let_go(Session& session, const std::string& key);

  void run_later(const std::shared_ptr<Session>& session,
                 const std::shared_ptr<Execution>& execution);
  /// All of it is there, or it failed.
  void finish(const std::shared_ptr<Session>& session, const std::shared_ptr<Execution>& execution);
  [[nodiscard]] std::vector<TensorPlace> with_sizes(const Session& session,
                                                    std::vector<TensorPlace> places) const;
  [[nodiscard]] engine::Shape shape_of(engine::ChunkId chunk) const;
  void end(Session& session, Execution& execution, ExecutionState state, std::string kind,
           std::string error);
  void answer_due(Execution& execution, TimePoint now);
  /// Begins the journal anew if it should be and nobody is in the middle of something.
  void compact();
  [[nodiscard]] static bool save(Session& session, std::vector<ServiceRecord>& into);
  void collect();

  Core& core_;
  LogRing& logs_;
  const SessionLimits limits_;
  FetchShape fetch_shape_;
  Answer answer_;
  std::shared_ptr<Garbage> garbage_ = std::make_shared<Garbage>();
  std::atomic<bool> stopping_ = false;

  mutable std::mutex mutex_;  ///< guards what follows
  std::map<engine::SessionId, std::shared_ptr<Session>> sessions_;
  std::uint32_t next_session_ = 0;

  JobPool runs_;       ///< threads that tile, and wait for stages
  JobPool finishing_;  ///< never waits
};

}  // namespace muster::service
