#include "muster/comm/collective/formation.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "muster/base/log.h"
#include "muster/base/random.h"
#include "muster/comm/errc.h"
#include "muster/runtime/host.h"

namespace muster::comm::collective {
namespace {

using nlohmann::json;

// Who has not said what it is is asked: a hello is forgotten when its sender seems to be away,
// which the sender may not notice. Where many come at once it may merely take long, so not often.
constexpr Duration kAskFirst = std::chrono::milliseconds(200);
constexpr Duration kAskAtLeast = std::chrono::seconds(2);
// Where all are seen to run, one that has left, and whose place another takes, is known to have
// left by then.
constexpr Duration kHasLeft = std::chrono::milliseconds(500);
// Whoever waits for longer than this wants to know for whom.
constexpr Duration kTellWhoIsMissing = std::chrono::seconds(5);

json to_json(const Hello& hello) {
  return {{"kind", "hello"},
          {"life", hello.life},
          {"size", hello.size},
          {"rank", hello.rank},
          {"epoch", hello.epoch},
          {"host", hello.host},
          {"pid", hello.pid},
          {"pids", hello.pid_namespace},
          {"table", hello.table},
          {"problem", hello.table_problem},
          {"plane", static_cast<int>(hello.plane)},
          {"type", hello.type},
          {"needs", hello.needs}};
}

Hello hello_of(const json& control) {
  Hello hello;
  hello.life = control.at("life").get<std::uint64_t>();
  hello.size = control.at("size").get<int>();
  hello.rank = control.at("rank").get<int>();
  hello.epoch = control.at("epoch").get<std::uint32_t>();
  hello.host = control.at("host").get<std::string>();
  hello.pid = control.at("pid").get<std::int64_t>();
  hello.pid_namespace = control.at("pids").get<std::string>();
  hello.table = control.at("table").get<std::uint64_t>();
  hello.table_problem = control.at("problem").get<std::string>();
  hello.plane = static_cast<Plane>(control.at("plane").get<int>());
  hello.type = control.at("type").get<std::string>();
  hello.needs = control.at("needs").get<std::map<std::string, int>>();
  return hello;
}

/// One attempt to make a group, as one member sees it.
class Formation {
 public:
  Formation(Crew& crew, const FormationOptions& options) : crew_(crew), options_(options) {
    Hello& own = own_;
    own.life = secure_random_u64();
    own.size = options.size;
    own.rank = options.rank.value_or(-1);
    own.epoch = options.epoch;
    own.host = host_id();
    own.pid = ::getpid();
    own.pid_namespace = pid_namespace();
    own.plane = crew.options().plane;
    own.type = options.type;
    own.needs = options.needs;
    if (const auto& table = crew.table()) {
      own.table = table->digest();
    } else {
      own.table_problem = table.error().message();
    }
  }

  Result<std::optional<Formed>> step() {
    listen();
    if (refused_) return fail(*refused_);
    // Others may have gone on, and even left, by now.
    const auto told = go_ ? told_.find(go_->digest) : told_.end();
    if (told != told_.end() && go_->from == told->second.members.front())
      return Formed{told->second, go_->id, go_->epoch};
    greet();
    if (!std::exchange(news_, false) && crew_.hellos().size() == heard_of_ && !full_)
      return roster_ ? agree(*roster_) : std::nullopt;
    return look_who_came();
  }
  /// Why the group is not made yet; `when` is "in time".
  [[nodiscard]] Error missing(std::string_view when) const {
    return full_ ? full_->error : incomplete(when);
  }

 private:
  struct Go {
    std::string from;
    std::uint64_t digest;
    std::uint64_t id;
    std::uint32_t epoch;
  };
  struct Full {
    Error error;
    TimePoint since;
  };

  Result<std::optional<Formed>> look_who_came() {
    heard_of_ = crew_.hellos().size();
    roster_.reset();
    const Hellos hellos = valid();
    const std::string& group = crew_.options().name;
    if (auto fit = check_sizes(group, hellos); !fit) return refuse(hellos, fit.error());
    auto roster = make_roster(group, options_.size, hellos);
    if (!roster) return wait_for_room(hellos, roster.error());
    full_.reset();
    if (!*roster) return std::nullopt;
    if (auto alike = check_alike(group, **roster); !alike) return refuse(hellos, alike.error());
    roster_ = **std::move(roster);
    return agree(*roster_);
  }

  [[nodiscard]] Error incomplete(std::string_view when) const {
    const Hellos hellos = valid();
    std::string text = describe_missing(options_.size, hellos, when);
    if (roster_) text += fmt::format("; {}", undecided());
    const auto peers = crew_.peers();
    const auto silent = std::count_if(peers.begin(), peers.end(), [&](const std::string& peer) {
      return !hellos.contains(peer);
    });
    if (silent > 0) text += fmt::format("; {} more are there, but do not join now", silent);
    if (const auto strangers = crew_.strangers(); strangers > 0)
      text += fmt::format(
          "; {} times somebody could not prove to belong here: is MUSTER_SECRET the same?",
          strangers);
    return {make_error_code(Errc::discovery_incomplete),
            fmt::format("group '{}': {}", crew_.options().name, text)};
  }

  /// Whose word is missing when all are there.
  [[nodiscard]] std::string undecided() const {
    if (roster_->members.front() != crew_.self()) return "rank 0 has not said that all have met";
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 1; rank < roster_->members.size(); ++rank)
      if (!has_told(roster_->members[rank], *roster_)) ranks.push_back(rank);
    return fmt::format("rank {} has not met all others", fmt::join(ranks, ", "));
  }
  [[nodiscard]] bool has_told(const std::string& member, const Roster& roster) const {
    const auto it = formed_.find(member);
    return it != formed_.end() && it->second == roster.digest;
  }

  /// Where too many want to be in, some may be dead, and others here in their place. Of those that
  /// cannot be watched this is known after a lease.
  Result<std::optional<Formed>> wait_for_room(const Hellos& hellos, const Error& error) {
    if (!error.is(Errc::group_full)) return fail(error);
    const TimePoint now = std::chrono::steady_clock::now();
    full_ = Full{error, full_ ? full_->since : now};
    const bool all_run = std::all_of(hellos.begin(), hellos.end(), [&](const auto& item) {
      return crew_.runs_here(item.first, item.second);
    });
    const Duration lease = crew_.options().lease;
    const Duration patience = all_run ? std::min(kHasLeft, lease) : lease;
    if (now >= after(full_->since, patience)) return refuse(hellos, error);
    return std::nullopt;
  }

  /// Without what ranks of a group that grows said before it was made.
  [[nodiscard]] Hellos valid() const {
    Hellos hellos = crew_.hellos();
    std::erase_if(hellos, [&](const auto& item) {
      return options_.old_ranks.contains(item.first) && item.second.epoch != options_.epoch;
    });
    hellos[crew_.self()] = own_;
    return hellos;
  }

  [[nodiscard]] bool has_said_hello(const std::string& peer) const {
    const auto hello = crew_.hellos().find(peer);
    return hello != crew_.hellos().end() &&
           (!options_.old_ranks.contains(peer) || hello->second.epoch == options_.epoch);
  }

  void greet() {
    const TimePoint now = std::chrono::steady_clock::now();
    const std::uint64_t version = crew_.peers_version();
    const bool asks = now >= ask_at_;
    if (version == peers_version_ && !asks && !std::exchange(asked_, false)) return;
    peers_version_ = version;
    const auto peers = crew_.peers();
    std::erase_if(greeted_, [&](const std::string& peer) { return !peers.contains(peer); });
    std::erase_if(crew_.hellos(), [&](const auto& item) { return !peers.contains(item.first); });
    for (const std::string& peer : peers)
      if (greeted_.insert(peer).second) crew_.send(peer, to_json(own_));
    if (asks) ask(peers, now);
  }

  void ask(const std::set<std::string>& peers, TimePoint now) {
    using std::chrono::milliseconds;
    const auto waited = std::chrono::duration_cast<milliseconds>(now - began_);
    for (const std::string& peer : peers)
      if (!has_said_hello(peer))
        crew_.send(peer, {{"kind", "ask"},
                          {"life", own_.life},
                          {"size", own_.size},
                          {"waited", waited.count()}});
    ask_pause_ = std::min(2 * ask_pause_, kAskAtLeast);
    ask_at_ = now + ask_pause_;
  }

  /// Those that have not heard of all yet would wait for this one.
  tl::unexpected<Error> refuse(const Hellos& hellos, const Error& error) {
    for (const auto& [member, hello] : hellos)
      if (member != crew_.self())
        crew_.send(member, {{"kind", "refused"},
                            {"life", hello.life},
                            {"code", error.code().value()},
                            {"text", error.message()}});
    return fail(error);
  }

  void listen() {
    auto& messages = crew_.formation();
    for (; !messages.empty(); messages.pop_front()) {
      const auto& [from, control] = messages.front();
      try {
        take(from, control);
      } catch (const json::exception&) {
        continue;  // from another version; its silence will show
      }
    }
  }
  void take(const std::string& from, const json& control) {
    const auto kind = control.at("kind").get<std::string>();
    if (kind == "hello") {
      const Hello hello = hello_of(control);
      crew_.hellos()[from] = hello;
      crew_.watch(from, hello);
      news_ = true;
    } else if (kind == "ask") {
      greeted_.erase(from);
      asked_ = true;
    } else if (kind == "refused") {
      // Not what was said to an earlier attempt.
      if (control.at("life").get<std::uint64_t>() == own_.life)
        refused_ = Error(make_error_code(static_cast<Errc>(control.at("code").get<int>())),
                         control.at("text").get<std::string>());
    } else if (kind == "formed") {
      formed_[from] = control.at("digest").get<std::uint64_t>();
    } else if (kind == "go") {
      go_ = Go{from, control.at("digest").get<std::uint64_t>(),
               control.at("id").get<std::uint64_t>(), control.at("epoch").get<std::uint32_t>()};
    }
  }

  std::optional<Formed> agree(const Roster& roster) {
    if (roster.members.front() != crew_.self()) {
      if (last_told_ != roster.digest)
        crew_.send(roster.members.front(), {{"kind", "formed"}, {"digest", roster.digest}});
      last_told_ = roster.digest;
      told_.emplace(roster.digest, roster);
      return std::nullopt;
    }
    const bool all =
        std::all_of(roster.members.begin() + 1, roster.members.end(),
                    [&](const std::string& member) { return has_told(member, roster); });
    if (!all) return std::nullopt;
    Formed formed{roster, secure_random_u64(), 0};
    for (const Hello& hello : roster.hellos) formed.epoch = std::max(formed.epoch, hello.epoch + 1);
    for (auto member = roster.members.begin() + 1; member != roster.members.end(); ++member)
      crew_.send(
          *member,
          {{"kind", "go"}, {"digest", roster.digest}, {"id", formed.id}, {"epoch", formed.epoch}});
    return formed;
  }

  Crew& crew_;
  const FormationOptions& options_;
  Hello own_;
  std::set<std::string> greeted_;
  std::uint64_t peers_version_ = 0;
  bool asked_ = false;  // somebody wants to hear who this is
  const TimePoint began_ = std::chrono::steady_clock::now();
  Duration ask_pause_ = kAskFirst;
  TimePoint ask_at_ = began_ + ask_pause_;
  bool news_ = true;                             // since the last look who came
  std::size_t heard_of_ = 0;                     // then
  std::optional<Roster> roster_;                 // of those that have come, when they are all
  std::map<std::string, std::uint64_t> formed_;  // what others have told as rank 0
  // What rank 0 was told, by digest: it may have said "go" before it heard of the last.
  std::map<std::uint64_t, Roster> told_;
  std::uint64_t last_told_ = 0;
  std::optional<Go> go_;
  std::optional<Error> refused_;
  std::optional<Full> full_;  // more want to be in than there is room for
};

/// While a group is made. With the lock held.
class Forming {
 public:
  explicit Forming(Crew& crew) : crew_(crew) { crew_.set_forming(true); }
  Forming(const Forming&) = delete;
  Forming& operator=(const Forming&) = delete;
  ~Forming() { crew_.set_forming(false); }

 private:
  Crew& crew_;
};

}  // namespace

Result<Formed> form(Crew& crew, Crew::Lock& lock, const FormationOptions& options,
                    TimePoint deadline) {
  Formation formation(crew, options);
  const Forming forming(crew);
  TimePoint tell_at = std::chrono::steady_clock::now() + kTellWhoIsMissing;
  Deadline ask_at;
  while (true) {
    auto formed = formation.step();
    if (!formed) return fail(formed.error());
    if (*formed) return **std::move(formed);
    if (auto error = options.ended()) return fail(*std::move(error));
    const TimePoint now = std::chrono::steady_clock::now();
    if (now >= deadline) return fail(formation.missing("in time"));
    if (now >= tell_at) {
      tell_at = TimePoint::max();
      log(LogLevel::warning, "comm", "'{}' waits for others: {}", crew.self(),
          formation.missing("so far").message());
    }
    if (auto ok = crew.wait(lock, deadline, ask_at); !ok) return fail(ok.error());
  }
}

}  // namespace muster::comm::collective
