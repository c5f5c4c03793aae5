#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "muster/base/fork_guard.h"
#include "muster/comm/collective/ballot.h"
#include "muster/comm/collective/choice.h"
#include "muster/comm/collective/crew.h"
#include "muster/comm/collective/door.h"
#include "muster/comm/collective/group.h"
#include "muster/comm/collective/network/network_plane.h"
#include "muster/comm/collective/roster.h"
#include "muster/comm/collective/shared/handover.h"
#include "muster/comm/collective/shared/plane.h"

namespace muster::comm {

/// One group in one epoch: who the ranks are, the planes that carry its calls, and what became of
/// it. Calls go to the planes; membership is guarded by the crew's lock.
class Group::Impl final : public collective::CrewSink, public std::enable_shared_from_this<Impl> {
 public:
  using Crew = collective::Crew;
  using Lock = Crew::Lock;

  struct Identity {
    std::string name;
    std::uint64_t id = 0;
    std::uint32_t epoch = 1;
    int rank = 0;
    collective::Roster roster;
    bool whole_crew = true;  ///< not made by `split`
  };

  /// A group of one that nobody can join.
  static std::shared_ptr<Impl> solo(std::string name);
  /// Makes the planes; the ranks named in `identity` do so at the same time.
  static Result<std::shared_ptr<Impl>> make(std::shared_ptr<Crew> crew, Identity identity,
                                            TimePoint deadline);
  Impl(std::shared_ptr<Crew> crew, Identity identity);
  virtual ~Impl();

  [[nodiscard]] const Identity& identity() const { return identity_; }
  [[nodiscard]] int rank() const { return identity_.rank; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] Plane plane() const { return shared_ ? Plane::shared : Plane::network; }
  [[nodiscard]] std::vector<int> lost() const;

  Result<void> run(const Call& call, const CallOptions& options);
  Result<Handle> start(Call call, const CallOptions& options);
  Result<Handle> start_send(int to, ByteSpan data, Element element, const CallOptions& options);
  Result<Handle> start_receive(int from, std::span<std::byte> data, Element element,
                               const CallOptions& options);
  Result<WritableBuffer> allocate(std::size_t bytes);

  Result<Agreement> agree(std::uint64_t bits, Timeout timeout);
  Result<Shrunk> shrink(Timeout timeout);
  Result<std::shared_ptr<Impl>> grow(int newcomers, Timeout timeout);
  Result<std::shared_ptr<Impl>> split(int color, int key, const CallOptions& options);
  void close();
  /// Closes it, and lets go of it, which may be the last owner.
  static void let_go(std::shared_ptr<Impl> impl);

  // CrewSink, with the lock held.
  void on_control(const std::string& from, const nlohmann::json& control) override;
  void on_data(const std::string& from, const Message& message) override;
  void on_exit(const std::string& member, std::int64_t pid) override;
  void on_departure(const std::string& member, std::optional<std::int64_t> pid) override;
  [[nodiscard]] std::optional<Error> turn_away(const std::string& from, int size,
                                               Duration waited) const override;
  bool progress() override;

 private:
  [[nodiscard]] bool inherited() const { return fork_generation_ != fork_generation(); }
  [[nodiscard]] Result<void> usable() const;
  using Visit = collective::Door::Visit;
  /// For as long as something of the crew, or of the memory, is used.
  [[nodiscard]] Result<Visit> enter() const;
  /// The same for what waits, or is waited for. Throws in a reduction function.
  [[nodiscard]] Result<Visit> enter(std::string_view call) const;
  [[nodiscard]] Error closed_error() const;
  static void check_tag(int tag);
  void check_peer(const char* what, int rank) const;
  /// Before something is started that goes by messages.
  void look_into_memory();

  // With the lock held:
  /// Negative when it is none, or another process has its name.
  [[nodiscard]] int rank_of(const std::string& member, std::optional<std::int64_t> pid) const;
  void lose(int rank, bool dead);
  void leave(int rank);
  void expel();
  void break_group(const Error& error);
  /// What ended the calls in memory ends those by messages, too.
  void see_end_in_memory();
  void tell_all(const nlohmann::json& control);
  void say_farewell();
  void post(const collective::Ballot::Messages& messages);
  [[nodiscard]] Error loss_error() const;
  [[nodiscard]] collective::FinishedByTag finished() const;
  Result<collective::Decision> vote(Lock& lock, std::uint64_t bits, TimePoint deadline);
  [[nodiscard]] bool outnumbered(const std::vector<int>& here) const;
  [[nodiscard]] Error not_all_could() const;

  Result<void> establish(TimePoint deadline);
  Result<void> hand_out_segment(TimePoint deadline);
  Result<void> fetch_segment(TimePoint deadline);
  Result<void> map_segment(FileDescriptor fd, TimePoint deadline);
  /// Lets messages in; an error when a rank was lost, or time is up for those that it waits for.
  Result<void> still_whole(const std::vector<int>& awaited, TimePoint deadline,
                           Duration moment = {});
  void use_segment(std::shared_ptr<collective::shared::Segment> segment);
  void run_alone(const Call& call) const;

  std::shared_ptr<collective::Door> door_ = std::make_shared<collective::Door>();
  Crew* crew_;  // there for who visits the door; null for a group of one that nobody can join
  Identity identity_;
  int size_;
  std::uint64_t fork_generation_ = fork_generation();
  std::shared_ptr<collective::shared::SharedPlane> shared_;
  std::shared_ptr<collective::NetworkPlane> network_;
  std::uint64_t splits_ = 0;

  // Guarded by the crew's lock:
  collective::Ballot ballot_;
  std::set<int> gone_;  // of those that are lost, known to have ended or left
  std::optional<collective::shared::Counter> counter_;
  std::optional<Error> error_;
  bool expelled_ = false;

  std::atomic<bool> closed_{false};
};

}  // namespace muster::comm
