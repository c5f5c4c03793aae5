#include "muster/comm/collective/formation.h"

#include <algorithm>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/base/random.h"
#include "muster/comm/errc.h"
#include "muster/runtime/host.h"

namespace muster::comm::collective {
namespace {

using nlohmann::json;

// A hello is forgotten when its sender seems to be away, which the sender may not notice.
constexpr Duration kGreetAgain = std::chrono::milliseconds(200);

json to_json(const Hello& hello) {
  return {{"kind", "hello"},      {"life", hello.life},
          {"size", hello.size},   {"rank", hello.rank},
          {"epoch", hello.epoch}, {"host", hello.host},
          {"pid", hello.pid},     {"pids", hello.pid_namespace},
          {"table", hello.table}, {"problem", hello.table_problem}};
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
    auto roster = make_roster(crew_.options().name, options_.size, valid());
    if (!roster) return wait_for_room(roster.error());
    full_.reset();
    if (!*roster) return std::nullopt;
    if (auto same = check_tables(crew_.options().name, **roster); !same) {
      refuse(**roster, same.error());
      return fail(same.error());
    }
    return agree(**roster);
  }
  /// Why the group is not made yet.
  [[nodiscard]] Error missing() const { return full_ ? full_->error : incomplete(); }

 private:
  struct Go {
    std::string from;
    std::uint64_t digest;
    std::uint64_t id;
    std::uint32_t epoch;
  };
  struct Full {
    Error error;
    TimePoint until;
  };

  [[nodiscard]] Error incomplete() const {
    std::size_t here = 0;
    std::string others;
    for (const auto& [member, hello] : valid()) {
      if (hello.size == options_.size) {
        ++here;
      } else {
        others += fmt::format("; '{}' expects {}", member, hello.size);
      }
    }
    // Who expects more is still looking for them, and says nothing here.
    if (others.empty())
      others = fmt::format("; do all ranks of the group expect a size of {}?", options_.size);
    return {make_error_code(Errc::discovery_incomplete),
            fmt::format("group '{}': only {} of {} ranks came in time{}", crew_.options().name,
                        here, options_.size, others)};
  }

  /// Where too many want to be in, some may be dead, and others here in their place. Of those that
  /// cannot be watched this is known after a lease.
  Result<std::optional<Formed>> wait_for_room(const Error& error) {
    if (!error.is(Errc::group_full)) return fail(error);
    const TimePoint now = std::chrono::steady_clock::now();
    full_ = Full{error, full_ ? full_->until : after(now, crew_.options().lease)};
    if (now >= full_->until) return fail(error);
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

  void greet() {
    const auto peers = crew_.peers();
    const TimePoint now = std::chrono::steady_clock::now();
    if (now >= greet_again_at_) {
      greeted_.clear();
      greet_again_at_ = now + kGreetAgain;
    }
    std::erase_if(greeted_, [&](const std::string& peer) { return !peers.contains(peer); });
    std::erase_if(crew_.hellos(), [&](const auto& item) { return !peers.contains(item.first); });
    for (const std::string& peer : peers)
      if (greeted_.insert(peer).second) crew_.send(peer, to_json(own_));
  }

  /// Those that have not heard of all yet would wait for this one.
  void refuse(const Roster& roster, const Error& error) {
    for (std::size_t rank = 0; rank < roster.members.size(); ++rank)
      if (roster.members[rank] != crew_.self())
        crew_.send(roster.members[rank], {{"kind", "refused"},
                                          {"life", roster.hellos[rank].life},
                                          {"code", error.code().value()},
                                          {"text", error.message()}});
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
    const bool all = std::all_of(roster.members.begin() + 1, roster.members.end(),
                                 [&](const std::string& member) {
                                   const auto it = formed_.find(member);
                                   return it != formed_.end() && it->second == roster.digest;
                                 });
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
  TimePoint greet_again_at_;
  std::map<std::string, std::uint64_t> formed_;  // what others have told as rank 0
  // What rank 0 was told, by digest: it may have said "go" before it heard of the last.
  std::map<std::uint64_t, Roster> told_;
  std::uint64_t last_told_ = 0;
  std::optional<Go> go_;
  std::optional<Error> refused_;
  std::optional<Full> full_;  // more want to be in than there is room for
};

}  // namespace

Result<Formed> form(Crew& crew, Crew::Lock& lock, const FormationOptions& options,
                    TimePoint deadline) {
  Formation formation(crew, options);
  Deadline ask_at;
  while (true) {
    auto formed = formation.step();
    if (!formed) return fail(formed.error());
    if (*formed) return **std::move(formed);
    if (auto error = options.ended()) return fail(*std::move(error));
    if (std::chrono::steady_clock::now() >= deadline) return fail(formation.missing());
    if (auto ok = crew.wait(lock, deadline, ask_at); !ok) return fail(ok.error());
  }
}

}  // namespace muster::comm::collective
