#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/collective/choice.h"
#include "muster/comm/collective/inside.h"
#include "muster/comm/collective/options.h"
#include "muster/comm/collective/outbox.h"
#include "muster/comm/collective/roster.h"
#include "muster/comm/message/message.h"
#include "muster/comm/proxy/proxy.h"
#include "muster/runtime/fd.h"
#include "muster/runtime/interrupt.h"

namespace muster::comm::collective {

namespace shared {
class SharedPlane;
}

/// A group as the crew sees it: what concerns it is delivered here, with the crew's lock held.
class CrewSink {
 public:
  virtual void on_control(const std::string& from, const nlohmann::json& control) = 0;
  virtual void on_data(const std::string& from, const Message& message) = 0;
  /// The process of a member has ended; what it sent may still be on its way. Another one may have
  /// come in its place, with the same name.
  virtual void on_exit(const std::string& member, std::int64_t pid) = 0;
  /// A member is gone, and all that it sent was delivered: with its process, which has ended, or
  /// none, when it may be paused or cut off.
  virtual void on_departure(const std::string& member, std::optional<std::int64_t> pid) = 0;
  /// Why a process that wants to be in a group of `size` ranks, and waits for that long, cannot;
  /// nothing while it may.
  [[nodiscard]] virtual std::optional<Error> turn_away(const std::string& from, int size,
                                                       Duration waited) const = 0;
  /// Carries on what was started; true when something is left that a message may carry on.
  virtual bool progress() = 0;

 protected:
  ~CrewSink() = default;
};

/// The processes that joined under one name, and the messages between them: a proxy, the thread
/// that watches who dies, and the delivery to the groups made among them (by joining, `split`,
/// `shrink` and `grow`). Thread-safe; one lock, `mutex`, guards the crew and what its groups know
/// about each other. Ends with its last group.
class Crew : public std::enable_shared_from_this<Crew> {
 public:
  using Lock = std::unique_lock<std::mutex>;

  /// Joins; the others are met later.
  [[nodiscard]] static Result<std::shared_ptr<Crew>> join(const GroupOptions& options);
  ~Crew();

  [[nodiscard]] const GroupOptions& options() const { return options_; }
  [[nodiscard]] const std::string& self() const { return self_; }
  /// By MUSTER_COLLECTIVES as it was when the crew was joined.
  [[nodiscard]] const Result<ChoiceTable>& table() const { return table_; }
  [[nodiscard]] std::mutex& mutex() { return mutex_; }
  /// For what the program may do from inside a function (see `Inside`): does it with the lock held,
  /// which this thread may have already. Where another one keeps the lock for long, the function
  /// does not wait, and the background thread does it soon.
  template <class Work>
  void with_lock(Work work) {
    if (inside_ == std::this_thread::get_id()) return work();
    Lock lock(mutex_, std::defer_lock);
    if (Inside::lock(lock)) return work();
    do_later([this, work] {
      const std::lock_guard later(mutex_);
      work();
    });
  }
  /// Does it in the background, without the lock. Needs no lock.
  void do_later(std::function<void()> work);
  /// With the lock held: calls what may call such a function.
  template <class Work>
  auto call_out(Work work) {
    inside_ = std::this_thread::get_id();
    auto result = work();
    inside_ = std::thread::id();
    return result;
  }

  // With the lock held:

  /// `plane`, if there is one, is carried on in the background.
  void add(std::uint64_t group, CrewSink& sink, const std::shared_ptr<shared::SharedPlane>& plane);
  void remove(std::uint64_t group);

  /// Never waits: when the member is silent or its queue is full, the message goes out later. To
  /// one that is gone for good nothing happens.
  void send(const std::string& member, const nlohmann::json& control);
  /// The same, and again whenever the member is back after a silence: what it must not miss.
  void send_for_ever(const std::string& member, const nlohmann::json& control);
  /// `Errc::would_block` when the queue is full: try again later.
  Result<void> send_data(const std::string& member, std::span<const std::byte> header,
                         std::span<const std::byte> data);

  /// Those that are there now, without this one. Until `joined`, also those of this host that are
  /// silent though nobody has stopped them: where many join at once, they wait for the processor.
  [[nodiscard]] std::set<std::string> peers() const;
  /// Changes whenever these do.
  [[nodiscard]] std::uint64_t peers_version() const { return proxy_.peers_version(); }
  /// From now on who is silent for longer than the lease is lost, wherever it is.
  void joined();
  /// How often somebody could not prove to belong here.
  [[nodiscard]] std::uint64_t strangers() const { return proxy_.counters().drivers.strangers; }
  /// Tells when the process of a member ends, as soon as it does, where it can be seen from here;
  /// also when it has ended by now.
  void watch(const std::string& member, const Hello& hello);
  /// Whether its process is seen to run on this host.
  [[nodiscard]] bool runs_here(const std::string& member, const Hello& hello) const;

  /// Whether a group is being made: else those that ask for it are told when they cannot be in.
  void set_forming(bool forming) { forming_ = forming; }
  /// What came about making a group: (from, control), oldest first.
  [[nodiscard]] std::deque<std::pair<std::string, nlohmann::json>>& formation() {
    return formation_;
  }

  /// What the others that are there said of themselves last; a newcomer may have said it before the
  /// group grows.
  [[nodiscard]] Hellos& hellos() { return hellos_; }

  /// Waits until what was said has reached the members that are there, for a second at most. Those
  /// who call it wait in vain for three seconds at most, all together, until all has arrived once
  /// more. Without the lock.
  void flush();
  /// Lets messages in until something came, or the deadline. Unlocks meanwhile.
  Result<void> wait(Lock& lock, TimePoint deadline, std::uint64_t carried = kNoGroup);
  /// The same for a loop that may go on for long: ends with `Errc::interrupted` when the program
  /// wants to stop. `ask_at` belongs to the loop: when it is asked next, nothing at first.
  Result<void> wait(Lock& lock, TimePoint deadline, Deadline& ask_at,
                    std::uint64_t carried = kNoGroup);
  static constexpr std::uint64_t kNoGroup = 0;
  /// Wakes those that wait, to look again.
  void notify() { changed_.notify_all(); }
  /// There is something to carry on that nobody may be waiting for. Needs no lock.
  void wake_background();

 private:
  /// A member that will be taken to be gone.
  struct Going {
    std::string member;
    TimePoint due;
    std::optional<std::int64_t> pid;  // of its process, when that has ended
  };
  struct Watched {
    std::string member;
    std::int64_t pid;
    FileDescriptor process;
  };

  Crew(GroupOptions options, Proxy proxy, Interrupt interrupt);
  /// The last owner is gone.
  void let_go();
  Outbox::Attempt try_send(const std::string& member, const std::string& control);
  void send_the_rest(TimePoint deadline);
  bool take_messages(Lock& lock, Timeout timeout);
  void deliver(const Message& message);
  void deliver_control(const Message& message);
  void deliver_formation(const std::string& from, nlohmann::json control);
  bool take_next(Lock& lock, Timeout timeout);
  void exit(const std::string& member, std::int64_t pid);
  void depart(const Going& going);
  void look_who_left(Lock& lock);
  /// Silent, but not gone while this one joins.
  [[nodiscard]] std::set<std::string> starved() const;
  [[nodiscard]] std::vector<CrewSink*> sinks() const;
  void run(const std::stop_token& stop);
  void watch_processes(Duration at_most);
  /// How long nothing needs to be looked at again.
  Duration progress();
  bool progress_in_memory();
  void regain_patience();
  void do_what_was_left();

  GroupOptions options_;
  Result<ChoiceTable> table_;
  std::string self_;
  std::mutex mutex_;
  std::atomic<std::thread::id> inside_{};  // who calls a function of the program
  std::condition_variable changed_;
  Proxy proxy_;
  bool receiving_ = false;
  std::uint64_t arrivals_ = 0;
  std::uint64_t peers_version_ = 0;
  std::set<std::string> seen_peers_;
  bool joining_ = true;
  Deadline look_at_starved_;  // again, when there are some
  bool forming_ = false;
  std::map<std::uint64_t, CrewSink*> sinks_;  // each removes itself before it ends
  std::map<std::uint64_t, std::weak_ptr<shared::SharedPlane>> planes_;
  std::set<std::uint64_t> past_;  // groups that were removed
  std::vector<Going> going_;
  std::deque<Message> early_;  // for groups that are not made here yet
  std::deque<std::pair<std::string, nlohmann::json>> formation_;
  Hellos hellos_;
  Outbox outbox_;
  std::map<std::string, std::vector<nlohmann::json>> for_ever_;  // by member
  std::vector<Watched> watched_;
  Interrupt interrupt_;
  std::optional<Error> ended_;
  std::mutex later_mutex_;
  std::vector<std::function<void()>> later_;  // guarded by later_mutex_
  std::atomic<Duration> patience_;            // for how long `flush` still waits in vain
  bool is_its_own_ = false;                   // the thread lets go of the crew when it ends
  std::jthread thread_;
};

}  // namespace muster::comm::collective
