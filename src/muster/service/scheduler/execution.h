#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "muster/base/buffer.h"
#include "muster/base/clock.h"
#include "muster/comm/message/message.h"
#include "muster/engine/schedule/action.h"
#include "muster/service/protocol/ask.h"
#include "muster/service/scheduler/cluster_stored.h"
#include "muster/service/scheduler/core.h"
#include "muster/service/scheduler/records.h"

namespace muster::service {

enum class ExecutionState : std::uint8_t { tiling, running, finished, failed, cancelled };
[[nodiscard]] std::string_view name(ExecutionState state);
[[nodiscard]] constexpr bool is_over(ExecutionState state) {
  return state >= ExecutionState::finished;
}

/// The operators of an execution's plan, for people.
struct PlanOutline {
  std::vector<std::string> operators;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
};

/// One graph that a client submitted: what is asked for, how far it is, and who waits to hear of
/// it. Thread-safe.
class Execution {
 public:
  struct Order {
    engine::SessionId session;
    std::string name;  ///< the client's
    std::vector<std::string> keys;
    std::string options;  ///< JSON
    Buffer graph;
  };
  explicit Execution(Order order) : order_(std::move(order)) {}

  [[nodiscard]] engine::SessionId session() const { return order_.session; }
  [[nodiscard]] const std::string& name() const { return order_.name; }
  [[nodiscard]] const std::vector<std::string>& keys() const { return order_.keys; }
  [[nodiscard]] const std::string& options() const { return order_.options; }
  /// Empty once it is over.
  [[nodiscard]] Buffer graph_bytes() const;

  // What the client sees.
  [[nodiscard]] nlohmann::json status() const;
  [[nodiscard]] ExecutionState state() const;
  [[nodiscard]] bool over() const { return is_over(state()); }
  void set_progress(std::uint32_t done, std::uint32_t total, std::uint64_t bytes);
  /// False if it was over before.
  bool end(ExecutionState state, std::string kind, std::string error);
  void cancel();
  [[nodiscard]] bool cancelled() const;

  // Tensors that were released after this was submitted and before all of it was.
  void keep_input(const std::string& key, std::shared_ptr<const ClusterStored> stored);
  [[nodiscard]] std::shared_ptr<const ClusterStored> find_input(std::string_view key);
  using Inputs = std::map<std::string, std::shared_ptr<const ClusterStored>, std::less<>>;
  [[nodiscard]] Inputs inputs() const;
  void graph_was_read();

  // Stages: the thread that tiles waits for the scheduler.
  void begin(engine::GraphId graph);
  [[nodiscard]] std::optional<engine::GraphId> graph() const;
  void before_stage();
  /// Everything is submitted, or will be at once: the next end of the graph is the end.
  void before_last(std::vector<TensorPlace> results);
  /// From the scheduler. True when the whole is over and wants to be finished.
  bool graph_ended(const engine::GraphEnded& ended);
  /// Waits for the end of the stage; nothing at the time given.
  [[nodiscard]] std::optional<engine::GraphEnded> wait_for_stage(Duration time);
  /// An end that nobody has waited for; of the whole when `is_last()`.
  [[nodiscard]] std::optional<engine::GraphEnded> last_end() const;
  [[nodiscard]] bool is_last() const;
  [[nodiscard]] std::vector<TensorPlace> results() const;

  void add_range(Core::Range range);
  [[nodiscard]] std::vector<Core::Range> ranges() const;
  void set_outline(PlanOutline outline);
  [[nodiscard]] PlanOutline outline() const;

  // Questions that wait for news.
  struct Waiter {
    comm::Message question;
    std::uint64_t seen = 0;
    TimePoint deadline;
  };
  /// False when there is something to say at once, or too many wait.
  [[nodiscard]] bool park(const Waiter& waiter);
  /// Those that can be answered now.
  [[nodiscard]] std::vector<comm::Message> due(TimePoint now);

 private:
  void changed();  ///< `mutex_` must be held

  const Order order_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable stage_ended_;
  std::uint64_t version_ = 1;
  ExecutionState state_ = ExecutionState::tiling;
  std::uint32_t done_ = 0;
  std::uint32_t total_ = 0;
  std::uint64_t bytes_ = 0;
  std::string kind_;
  std::string error_;
  bool cancelled_ = false;
  bool read_ = false;
  bool freed_ = false;  ///< the graph's bytes are not needed any more
  std::optional<engine::GraphId> graph_;
  std::optional<engine::GraphEnded> ended_;
  bool last_ = false;
  std::vector<TensorPlace> results_;
  std::vector<Core::Range> ranges_;
  PlanOutline outline_;
  Inputs inputs_;
  std::set<std::string, std::less<>> used_;  ///< keys that the graph names
  std::vector<Waiter> waiters_;
};

}  // namespace muster::service
