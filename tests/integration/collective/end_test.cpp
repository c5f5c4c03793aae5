#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/group.h"
#include "muster/comm/errc.h"
#include "tests/integration/collective/ranks.h"

// When one call of a group has failed, all others do, whatever carries them.

namespace muster::comm {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr int kRanks = 3;
constexpr Duration kSoon = std::chrono::seconds(30);

/// What one rank or all do so that the calls of all fail.
struct Cause {
  const char* name;
  Errc errc;  ///< of all later calls
  std::function<void(Group&, int tag)> bring_about;
};

const Cause kCauses[] = {
    {"a mismatch", Errc::mismatch,
     [](Group& group, int tag) {
       std::vector<int> data(group.rank() == 1 ? 5 : 4);
       EXPECT_FALSE(group.allreduce(data, {}, {.tag = tag, .timeout = kSoon}));
     }},
    {"counts that differ", Errc::mismatch,
     [](Group& group, int tag) {
       std::vector<int> all(9);
       // Who only gives may be done before anybody notices.
       static_cast<void>(group.gatherv(std::vector<int>(group.rank() == 1 ? 2 : 3), all, {3, 3, 3},
                                       0, {.tag = tag, .timeout = kSoon}));
     }},
    {"a call that was cancelled", Errc::cancelled,
     [](Group& group, int tag) {
       if (group.rank() == 1) static_cast<void>(group.ibarrier({.tag = tag}));
     }},
    {"a call that took too long", Errc::cancelled,
     [](Group& group, int tag) {
       if (group.rank() != 1) return;
       EXPECT_FALSE(group.barrier({.tag = tag, .timeout = std::chrono::milliseconds(20)}));
     }},
    {"a function that failed", Errc::function_failed,
     [](Group& group, int tag) {
       const auto function = [&](std::byte*, const std::byte*, std::size_t) {
         if (group.rank() == 1) throw std::runtime_error("nothing fits");
       };
       std::vector<double> values(20'000);
       // Another rank may be done with its part before.
       static_cast<void>(group.allreduce(values, collective::Reduction::of(function),
                                         {.tag = tag, .timeout = kSoon}));
     }},
    {"a call that needs more memory than there is", Errc::internal,
     [](Group& group, int tag) {
       if (group.rank() != 1) return;
       // What it works on is not touched: there is no room beside it.
       static std::int64_t item = 0;
       const std::span<std::int64_t> all(&item, std::size_t{1} << 47);
       const auto call = [&](int at) { return group.iallreduce(all, {}, {.tag = at}); };
       // In memory such a call needs no room of its own.
       auto started = call(group.plane() == Plane::shared ? kTagWithoutChannel : tag);
       EXPECT_FALSE(started && started->wait(kSoon));
     }},
    {"a function that failed with words that are no text", Errc::function_failed,
     [](Group& group, int tag) {
       const auto function = [&](std::byte*, const std::byte*, std::size_t) {
         if (group.rank() == 1) throw std::runtime_error("half of a letter: \xc3");
       };
       std::vector<double> values(20'000);
       static_cast<void>(group.allreduce(values, collective::Reduction::of(function),
                                         {.tag = tag, .timeout = kSoon}));
     }},
};

Result<void> outcome(Result<Handle> started) {
  return started ? started->wait(kSoon) : Result<void>(fail(started.error()));
}

/// The words with which calls fail, one for each kind.
std::vector<std::string> words_of_later_calls(Group& group, Errc errc) {
  std::vector<int> data(3);
  const int other = (group.rank() + 1) % kRanks;
  std::vector<std::string> words;
  const auto note = [&](const char* kind, const auto& result) {
    ASSERT_FALSE(result) << kind;
    EXPECT_TRUE(result.error().is(errc)) << kind << ": " << result.error().message();
    words.push_back(result.error().message());
  };
  // Others may not have come to the end yet.
  note("receive", group.recv(other, data, {.timeout = kSoon}));
  note("receive, started", outcome(group.irecv(other, data)));
  note("send", group.send(other, data, {.timeout = kSoon}));
  note("send, started", outcome(group.isend(other, data)));
  for (const int tag : {0, 1, kTagWithoutChannel}) {
    note("call", group.allreduce(data, {}, {.tag = tag, .timeout = kSoon}));
    note("call, started", outcome(group.iallreduce(data, {}, {.tag = tag})));
  }
  note("split", group.split(0, 0, {.timeout = kSoon}));
  note("grow", group.grow(1, kSoon));
  return words;
}

class EndOn : public OnPlanes {
 protected:
  void end_by_each_cause(int tag) const {
    for (const Cause& cause : kCauses) {
      as_threads(kRanks, [&](int rank) {
        SCOPED_TRACE(fmt::format("{}, seen by rank {}", cause.name, rank));
        Group group = join_or_throw(options(kRanks, rank));
        use_up_channels(group);
        cause.bring_about(group, tag);
        const auto words = words_of_later_calls(group, cause.errc);
        EXPECT_THAT(words, Each(words.front()));
        require(group.agree(1, kSoon));
      });
    }
  }
};

TEST_P(EndOn, AfterACallHasFailedEveryCallSaysTheSame) { end_by_each_cause(0); }

TEST_P(EndOn, AfterACallByMessagesHasFailedEveryCallSaysTheSame) {
  end_by_each_cause(kTagWithoutChannel);
}

/// All that waits for another rank, which does not come.
struct Waiting {
  const char* name;
  std::function<Result<void>(Group&)> call;
};

template <class T>
Result<void> outcome_of(const Result<T>& result) {
  if (!result) return fail(result.error());
  return {};
}

const Waiting kWaiting[] = {
    {"barrier", [](Group& group) { return group.barrier(); }},
    {"barrier by messages",
     [](Group& group) { return group.barrier({.tag = kTagWithoutChannel}); }},
    {"a handle", [](Group& group) { return group.ibarrier().value().wait(); }},
    {"recv",
     [](Group& group) {
       int item = 0;
       return group.recv(1, std::span(&item, 1));
     }},
    {"agree", [](Group& group) { return outcome_of(group.agree(1)); }},
    {"shrink", [](Group& group) { return outcome_of(group.shrink()); }},
    {"grow", [](Group& group) { return outcome_of(group.grow(1)); }},
    {"split", [](Group& group) { return outcome_of(group.split(0)); }},
};

TEST_P(EndOn, WhateverWaitsEndsWhenAnotherThreadClosesTheGroup) {
  for (const Waiting& waiting : kWaiting) {
    std::promise<void> over;
    as_threads(2, [&](int rank) {
      std::atomic<bool> waits = false;
      std::promise<void> asked;
      GroupOptions given = options(2, rank);
      if (rank == 0)
        given.interrupted = [&] {
          if (waits.exchange(false)) asked.set_value();
          return false;
        };
      Group group = join_or_throw(std::move(given));
      use_up_channels(group);
      if (rank == 1) return over.get_future().wait();
      waits = true;
      auto result = std::async(std::launch::async, [&] { return waiting.call(group); });
      asked.get_future().wait();
      group.close();
      const Result<void> told = result.get();
      over.set_value();
      EXPECT_TRUE(!told && told.error().is(Errc::closed))
          << waiting.name << ": " << (told ? "went well" : told.error().message());
    });
  }
}

TEST_P(EndOn, ARankThatReceivesIsToldThatTheOthersDisagree) {
  as_threads(kRanks, [&](int rank) {
    Group group = join_or_throw(options(kRanks, rank));
    std::vector<int> data(static_cast<std::size_t>(3 + rank));
    const auto result = rank == 0 ? group.recv(1, data, {.timeout = kSoon})
                                  : group.allreduce(data, {}, {.timeout = kSoon});
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is(Errc::mismatch)) << result.error().message();
    EXPECT_THAT(result.error().message(), HasSubstr("rank 2"));
    require(group.agree(1, kSoon));
  });
}

TEST_P(EndOn, ARankThatGrowsIsToldThatTheOthersDisagree) {
  as_threads(kRanks, [&](int rank) {
    Group group = join_or_throw(options(kRanks, rank));
    std::vector<int> data(static_cast<std::size_t>(3 + rank));
    const auto started = std::chrono::steady_clock::now();
    const auto result = rank == 0 ? Result<void>(fail(group.grow(1, kSoon).error()))
                                  : group.allreduce(data, {}, {.timeout = kSoon});
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is(Errc::mismatch)) << result.error().message();
    EXPECT_LT(std::chrono::steady_clock::now() - started, kSoon / 2);
    require(group.agree(1, kSoon));
  });
}

/// Does something in one thread at a certain step of this rank.
class AtStep {
 public:
  [[nodiscard]] std::function<void()> hook() {
    return [this] {
      if (std::this_thread::get_id() == thread_ && ++steps_ == at_) then_();
    };
  }
  /// How many steps a call of this thread has.
  template <class Call>
  int count(Call call) {
    steps_ = at_ = 0;
    thread_ = std::this_thread::get_id();
    call();
    thread_ = std::thread::id();
    return steps_;
  }
  /// Next time, at this one.
  template <class Call>
  void interpose(int at, std::function<void()> then, Call call) {
    then_ = std::move(then);
    steps_ = 0;
    at_ = at;
    thread_ = std::this_thread::get_id();
    call();
    thread_ = std::thread::id();
  }

 private:
  std::atomic<std::thread::id> thread_{};
  int steps_ = 0;
  int at_ = 0;
  std::function<void()> then_;
};

TEST(End, AGroupThatHasEndedWhileItWasMadeIsOfNoUse) {
  constexpr Duration kShort = std::chrono::seconds(3);
  const Meeting meeting;
  AtStep last;
  as_threads(2, [&](int rank) {
    GroupOptions given = meeting.options(2, rank);
    given.plane = Plane::shared;
    if (rank == 1) given.at_step = last.hook();
    Group group = join_or_throw(std::move(given));
    std::vector<int> data(1);
    if (rank == 0) {
      require(group.split(0, 0, {.timeout = kSoon}));
      require(group.agree(1, kSoon));  // both begin at once
      EXPECT_FALSE(group.split(0, 0, {.timeout = kShort})) << "rank 1 does not come to the end";
      require(group.send(1, data, {.timeout = kSoon}));
      return require(group.agree(1, kSoon));
    }
    std::optional<Group> made;
    const int steps = last.count([&] { made = group.split(0, 0, {.timeout = kSoon}).value(); });
    require(group.agree(1, kSoon));
    last.interpose(
        steps, [&] { require(group.recv(0, data, {.timeout = kSoon})); },
        [&] {
          auto part = group.split(0, 0, {.timeout = kSoon});
          ASSERT_TRUE(part) << part.error().message();
          const auto result = part->barrier({.timeout = kSoon});
          ASSERT_FALSE(result);
          EXPECT_TRUE(result.error().is(Errc::cancelled)) << result.error().message();
          EXPECT_THAT(result.error().message(), HasSubstr("rank 0 could not make"));
        });
    require(group.agree(1, kSoon));
  });
}

INSTANTIATE_TEST_SUITE_P(Planes, EndOn, kEveryPlane, testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
