#include "muster/comm/discovery/file/file_store.h"

#include <array>
#include <fstream>
#include <signal.h>
#include <stdexcept>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

namespace muster::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using test::Child;
using test::Milestone;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Duration kLong = minutes(5);

TimePoint in(Duration duration) { return SteadyClock().now() + duration; }

void must(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message());
}

struct FileStoreTest : testing::Test {
  test::TempDir temp;
  std::filesystem::path root = temp.path() / "root";
  std::unique_ptr<Store> store = make_file_store(root).value();

  std::vector<std::string> names() {
    std::vector<std::string> found;
    const auto listed = store->list("g").value();
    for (const auto& entry : listed) found.push_back(entry.name.str());
    return found;
  }

  void join_and_stay(const char* name, Milestone& joined) const {
    auto own = make_file_store(root).value();
    must(own->put("g", local_entry(name, "actor"), kLong));
    joined.reach();
    for (;;) ::pause();
  }

  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& item : std::filesystem::recursive_directory_iterator(root))
      count += item.is_regular_file() ? 1 : 0;
    return count;
  }
};

TEST_F(FileStoreTest, AKilledProcessIsGoneAtOnceAndLeavesNothing) {
  Milestone joined;
  Child child([&] { join_and_stay("a", joined); });
  ASSERT_TRUE(joined.wait());
  ASSERT_THAT(names(), ElementsAre("a"));
  child.kill();
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(root));
}

TEST_F(FileStoreTest, TheDeathOfAProcessEndsAWait) {
  Milestone joined;
  Child child([&] { join_and_stay("a", joined); });
  ASSERT_TRUE(joined.wait());
  ASSERT_THAT(names(), ElementsAre("a"));
  child.signal(SIGKILL);
  while (!names().empty()) ASSERT_TRUE(store->wait_for_change("g", in(seconds(20))).has_value());
}

TEST_F(FileStoreTest, AForkedChildDoesNotKeepItsKilledParentAlive) {
  Milestone joined;
  std::array<int, 2> report{};
  ASSERT_EQ(::pipe(report.data()), 0);
  Child child([&] {
    auto own = make_file_store(root).value();
    must(own->put("g", local_entry("parent", "actor"), kLong));
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      ::alarm(60);  // it outlives its parent, but not a test that failed
      for (;;) ::pause();
    }
    if (::write(report[1], &grandchild, sizeof grandchild) != sizeof grandchild) ::_exit(4);
    joined.reach();
    for (;;) ::pause();
  });
  ASSERT_TRUE(joined.wait());
  pid_t grandchild = 0;
  ASSERT_EQ(::read(report[0], &grandchild, sizeof grandchild),
            static_cast<ssize_t>(sizeof grandchild));
  EXPECT_THAT(names(), ElementsAre("parent"));
  child.kill();
  EXPECT_EQ(::kill(grandchild, 0), 0);
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(files(), 0u);
  ::kill(grandchild, SIGKILL);
  for (const int fd : report) ::close(fd);
}

TEST_F(FileStoreTest, AStoreInheritedThroughForkIsUselessAndHarmless) {
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(store->put("g", entry, kLong).has_value());
  Child child([&] {
    const bool refused = store->list("g").error().is(Errc::forked) &&
                         store->put("g", entry, kLong).error().is(Errc::forked) &&
                         store->remove("g", "a", entry.instance).error().is(Errc::forked);
    store.reset();
    ::_exit(refused ? 0 : 5);
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(FileStoreTest, TwoStoresOfOneProcessDoNotShareTheirFate) {
  auto other = make_file_store(root).value();
  ASSERT_TRUE(store->put("g", local_entry("a", "actor"), kLong).has_value());
  ASSERT_TRUE(other->put("g", local_entry("b", "actor"), kLong).has_value());
  EXPECT_THAT(names(), ElementsAre("a", "b"));
  other.reset();
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(FileStoreTest, APausedProcessIsNotListedAndComesBackWhenItRenews) {
  Milestone joined;
  Milestone again;
  const Entry entry = local_entry("a", "actor");
  Child child([&] {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    auto own = make_file_store(root).value();
    must(own->put("g", entry, milliseconds(1)));
    joined.reach();
    int number = 0;
    ::sigwait(&set, &number);
    must(own->put("g", entry, kLong));
    again.reach();
    for (;;) ::pause();
  });
  ASSERT_TRUE(joined.wait());
  while (!names().empty()) ASSERT_TRUE(store->wait_for_change("g", in(seconds(10))).has_value());
  EXPECT_EQ(files(), 1u);
  child.signal(SIGUSR1);
  while (names().empty()) ASSERT_TRUE(store->wait_for_change("g", in(seconds(10))).has_value());
  EXPECT_TRUE(again.wait());
}

TEST_F(FileStoreTest, AReturnedProcessReplacesItsPausedFormerSelf) {
  Milestone joined;
  Child child([&] { join_and_stay("a", joined); });
  ASSERT_TRUE(joined.wait());
  child.signal(SIGSTOP);
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(store->put("g", entry, kLong).has_value());
  EXPECT_THAT(store->list("g").value(), ElementsAre(entry));
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileStoreTest, RemovesLeftoversWholeOrHalfWritten) {
  const auto folder = root / "group.g";
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "a.0000000000000001.0000000000000001") << "1 1 1 1 1 1\n{}";
  std::ofstream(folder / ".a.0000000000000001.0000000000000002") << "half a fi";
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(root));
}

TEST_F(FileStoreTest, LeavesFilesAloneThatItDidNotMake) {
  const auto folder = root / "group.g";
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "thesis.tex") << "years of work";
  std::ofstream(folder / "a.0000000000000001.000000000000000g") << "not quite";
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(store->put("g", entry, kLong).has_value());
  ASSERT_TRUE(store->remove("g", "a", entry.instance).has_value());
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(files(), 2u);
}

TEST_F(FileStoreTest, ComesBackAfterTheWholeFolderWasRemoved) {
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(store->put("g", entry, kLong).has_value());
  std::filesystem::remove_all(root);
  EXPECT_THAT(names(), IsEmpty());
  ASSERT_TRUE(store->put("g", entry, kLong).has_value());
  EXPECT_THAT(store->list("g").value(), ElementsAre(entry));
}

TEST_F(FileStoreTest, LeavesNothingWhenTheLastOneGoes) {
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(store->put("g", entry, kLong).has_value());
  ASSERT_TRUE(store->put("h", entry, kLong).has_value());
  ASSERT_TRUE(store->remove("g", "a", entry.instance).has_value());
  store.reset();
  EXPECT_TRUE(std::filesystem::is_empty(root));
}

TEST_F(FileStoreTest, JoinersAndLeaversMayRaceForTheFolder) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto own = make_file_store(root).value();
      const Entry entry = local_entry("peer_" + std::to_string(t), "actor");
      for (int i = 0; i < 300; ++i) {
        const auto put = own->put("g", entry, kLong);
        ASSERT_TRUE(put.has_value()) << put.error().message();
        const auto removed = own->remove("g", entry.name, entry.instance);
        ASSERT_TRUE(removed.has_value()) << removed.error().message();
      }
    });
  }
  threads.clear();
  EXPECT_TRUE(std::filesystem::is_empty(root));
}

TEST_F(FileStoreTest, AGroupWhoseMembersAllDiedIsSweptByWhoJoinsAnother) {
  const auto join_group = [&](const char* group, const char* name, Milestone& joined) {
    auto own = make_file_store(root).value();
    must(own->put(group, local_entry(name, "actor"), kLong));
    joined.reach();
    for (;;) ::pause();
  };
  Milestone joined;
  Child a([&] { join_group("dead", "a", joined); });
  Child b([&] { join_group("dead", "b", joined); });
  Child c([&] { join_group("paused", "c", joined); });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(joined.wait());
  c.signal(SIGSTOP);
  const auto foreign = root / "group.notes";
  std::filesystem::create_directory(foreign);
  std::ofstream(foreign / "thesis.tex") << "years of work";
  std::filesystem::create_directory(root / "group.empty");
  a.kill();
  b.kill();
  EXPECT_TRUE(std::filesystem::exists(root / "group.dead"));
  ASSERT_TRUE(store->put("g", local_entry("d", "actor"), kLong).has_value());
  EXPECT_FALSE(std::filesystem::exists(root / "group.dead"));
  EXPECT_FALSE(std::filesystem::exists(root / "group.empty"));
  EXPECT_TRUE(std::filesystem::exists(root / "group.paused"));
  EXPECT_TRUE(std::filesystem::exists(foreign / "thesis.tex"));
}

TEST_F(FileStoreTest, JoinersOfOneGroupAreSafeFromThoseWhoSweepForAnother) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::string group = "group_" + std::to_string(t);
      for (int i = 0; i < 200; ++i) {
        auto own = make_file_store(root).value();
        const Entry entry = local_entry("a", "actor");
        const auto put = own->put(group, entry, kLong);
        ASSERT_TRUE(put.has_value()) << put.error().message();
        ASSERT_THAT(own->list(group).value(), ElementsAre(entry));
      }
    });
  }
  threads.clear();
  EXPECT_TRUE(std::filesystem::is_empty(root));
}

TEST_F(FileStoreTest, SaysWhichProcessTookTheName) {
  const Entry older = local_entry("a", "actor");
  ASSERT_TRUE(store->put("g", older, kLong).has_value());
  Milestone joined;
  Child child([&] { join_and_stay("a", joined); });
  ASSERT_TRUE(joined.wait());
  const auto refused = store->put("g", older, kLong);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(Errc::refused));
  EXPECT_THAT(refused.error().message(),
              HasSubstr("process " + std::to_string(child.pid()) + " on this host"));
}

TEST_F(FileStoreTest, MakesWayForANewerOneThatHasNotRemovedItsFileYet) {
  const Entry older = local_entry("a", "actor");
  ASSERT_TRUE(store->put("g", older, kLong).has_value());
  std::filesystem::path file;
  for (const auto& item : std::filesystem::recursive_directory_iterator(root))
    if (item.is_regular_file()) file = item.path();
  const auto aside = temp.path() / "aside";
  std::filesystem::create_hard_link(file, aside);
  const auto other = make_file_store(root).value();
  ASSERT_TRUE(other->put("g", local_entry("a", "actor"), kLong).has_value());
  ASSERT_FALSE(std::filesystem::exists(file));
  // As it is for a moment while a newer one registers.
  std::filesystem::create_hard_link(aside, file);
  const auto refused = store->put("g", older, kLong);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(Errc::refused)) << refused.error().message();
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(FileStoreTest, KeepsItsFilesPrivate) {
  ASSERT_TRUE(store->put("g", local_entry("a", "actor"), kLong).has_value());
  for (const auto& item : std::filesystem::recursive_directory_iterator(temp.path())) {
    struct stat status{};
    ASSERT_EQ(::stat(item.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 077, 0u) << item.path();
  }
}

TEST_F(FileStoreTest, RefusesAFolderThatLetsOthersIn) {
  ASSERT_EQ(::chmod(root.c_str(), 0755), 0);
  const auto made = make_file_store(root);
  ASSERT_FALSE(made.has_value());
  EXPECT_TRUE(made.error().is(Errc::refused));
  EXPECT_THAT(made.error().message(), HasSubstr("mode 0755"));
  EXPECT_THAT(made.error().message(), HasSubstr(root.string()));
  // The store that was opened before does not trust it any more either.
  EXPECT_TRUE(store->list("g").error().is(Errc::store_unreachable));
  ASSERT_EQ(::chmod(root.c_str(), 0700), 0);
}

TEST_F(FileStoreTest, RefusesASymbolicLinkAndAFile) {
  std::filesystem::create_directory_symlink(root, temp.path() / "link");
  const auto link = make_file_store(temp.path() / "link");
  ASSERT_FALSE(link.has_value());
  EXPECT_TRUE(link.error().is(Errc::refused));
  std::ofstream(temp.path() / "file") << "x";
  EXPECT_FALSE(make_file_store(temp.path() / "file").has_value());
}

TEST_F(FileStoreTest, RefusesAFolderOfSomebodyElse) {
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(root.c_str(), 65534, 65534), 0);
    const auto made = make_file_store(root);
    ASSERT_FALSE(made.has_value());
    EXPECT_THAT(made.error().message(), HasSubstr("belongs to user 65534"));
    ASSERT_EQ(::chown(root.c_str(), 0, 0), 0);
  } else {
    EXPECT_FALSE(make_file_store("/").has_value());
  }
}

TEST_F(FileStoreTest, MakesItsFolderWithItsParents) {
  EXPECT_TRUE(make_file_store(temp.path() / "x" / "y" / "z/").has_value());
  EXPECT_TRUE(std::filesystem::is_directory(temp.path() / "x" / "y" / "z"));
}

}  // namespace
}  // namespace muster::comm
