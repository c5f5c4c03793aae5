// What a worker does when its memory is short.
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "muster/service/worker/worker_testing.h"

namespace muster::service {
namespace {

using engine::ChunksLost;
using engine::Index;
using engine::MemoryReported;
using engine::TaskFailed;
using engine::TaskFault;
using engine::TaskFinished;
using engine::TestFolder;
using testing::HasSubstr;

constexpr std::size_t kBudget = 4u << 20;
constexpr Index kItems = 32'768;  ///< of a chunk: 256 KiB

class WorkerMemory : public WorkerTest {
 protected:
  WorkerOptions small(const std::string& name) {
    WorkerOptions small = options(name);
    small.store.budget = kBudget;
    small.store.spill.directories = {folder.path(name)};
    return small;
  }
  /// Chunks 0, 1, ... with the numbers from their own on.
  void make(const std::string& worker, std::uint32_t count) {
    std::vector<Order> orders;
    for (std::uint32_t i = 0; i < count; ++i) orders.emplace_back(run(i, arange(i, kItems)));
    scheduler->order(worker, std::move(orders));
    ASSERT_TRUE(scheduler->hears_finished(count));
  }

  TestFolder folder;
};

TEST_F(WorkerMemory, FinishesADataSetOfFourTimesItsBudget) {
  const auto worker = start(small("a"));
  constexpr std::uint32_t kChunks = 4 * kBudget / (kItems * 8);
  make("a", kChunks);
  EXPECT_TRUE(scheduler->hears<MemoryReported>(1));
  EXPECT_GT(scheduler->all<MemoryReported>().back().spilled, 0u);
  std::vector<Order> orders;
  for (std::uint32_t i = 0; i < kChunks; ++i)
    orders.emplace_back(
        run(kChunks + i, add_up(kItems), {{chunk(i), ""}, {chunk((i * 7 + 3) % kChunks), ""}}));
  scheduler->order("a", std::move(orders));
  ASSERT_TRUE(scheduler->hears_finished(2 * kChunks));
  for (std::uint32_t i = 0; i < kChunks; ++i) {
    const auto sum = fetch("a", kChunks + i);
    ASSERT_EQ(sum.as<double>()[kItems - 1], i + (i * 7 + 3) % kChunks + 2 * (kItems - 1));
  }
  EXPECT_TRUE(scheduler->all<TaskFailed>().empty());
}

TEST_F(WorkerMemory, FetchesWhatOthersHaveOnDisk) {
  const auto a = start(small("a"));
  const auto b = start(small("b"));
  constexpr std::uint32_t kChunks = 2 * kBudget / (kItems * 8);
  make("a", kChunks);
  std::vector<Order> orders;
  for (std::uint32_t i = 0; i + 1 < kChunks; ++i)
    orders.emplace_back(run(kChunks + i, add_up(kItems), {{chunk(i), "a"}, {chunk(i + 1), "a"}}));
  scheduler->order("b", std::move(orders));
  ASSERT_TRUE(scheduler->hears_finished(2 * kChunks - 1));
  EXPECT_EQ(fetch("b", kChunks).as<double>()[0], 1);
}

TEST_F(WorkerMemory, RunsTasksAfterEachOtherThatDoNotFitTogether) {
  const auto worker = start(small("a"));
  make("a", 24);
  std::vector<Order> orders;
  for (std::uint32_t i = 0; i < 6; ++i) {
    std::vector<OrderInput> inputs;  // three quarters of the budget
    for (std::uint32_t j = 0; j < 12; ++j) inputs.push_back({chunk((i + 2 * j) % 24), ""});
    orders.emplace_back(run(100 + i, add_up(kItems), inputs));
  }
  scheduler->order("a", std::move(orders));
  ASSERT_TRUE(scheduler->hears_finished(30));
  EXPECT_TRUE(scheduler->all<TaskFailed>().empty());
}

TEST_F(WorkerMemory, KeepsAPartOfAnInputThatLeavesItNoRoom) {
  constexpr Index kLarge = kBudget / 8 / 4 * 3;
  const auto part = [](engine::KernelContext& context) {
    context.set(context.input(0).slice({0}, {kLarge / 2}));
  };
  const auto every_second = [](engine::KernelContext& context) {
    context.set(context.input(0).slice({1}, {kLarge / 2}, {2}));
  };
  const auto worker = start(small("a"), {{"part", part}, {"every_second", every_second}});
  scheduler->order("a", {run(0, arange(0, kLarge))});
  ASSERT_TRUE(scheduler->hears_finished(1));
  scheduler->order("a", {run(1, function("part", kLarge / 2), {{chunk(0), ""}}),
                         run(2, function("every_second", kLarge / 2), {{chunk(0), ""}})});
  ASSERT_TRUE(scheduler->hears_finished(3)) << "it does not wait for itself";
  EXPECT_EQ(fetch("a", 1).as<double>()[kLarge / 2 - 1], kLarge / 2 - 1);
  EXPECT_EQ(fetch("a", 2).as<double>()[kLarge / 2 - 1], kLarge - 1);
  EXPECT_TRUE(scheduler->all<TaskFailed>().empty());
}

TEST_F(WorkerMemory, CountsAResultThatWaitsForRoomOnTheHeap) {
  Door door;
  const std::vector<double> items(kBudget / 8 / 2);  // half of the budget
  const auto hold = [&](engine::KernelContext& context) {
    door.pass();
    context.set(context.input(0).slice({0}, {1}));
  };
  const auto surprise = [&](engine::KernelContext& context) {
    context.set(engine::Array::copy_of(engine::Type::f64, {static_cast<Index>(items.size())},
                                       items.data()));
  };
  const auto worker = start(small("a"), {{"hold", hold}, {"surprise", surprise}});
  constexpr Index kLarge = kBudget / 8 / 4 * 3;
  scheduler->order("a", {run(0, arange(0, kLarge))});
  ASSERT_TRUE(scheduler->hears_finished(1));
  EXPECT_THAT(worker->metrics(), HasSubstr("muster_worker_heap_bytes 0\n"));
  scheduler->order("a", {run(1, function("hold"), {{chunk(0), ""}})});
  ASSERT_TRUE(door.has_visitors(1));
  scheduler->order("a", {run(2, function("surprise"))});
  EXPECT_TRUE(engine::eventually([&] {
    return worker->metrics().find(fmt::format("muster_worker_heap_bytes {}\n", kBudget / 2)) !=
           std::string::npos;
  })) << worker->metrics();
  EXPECT_EQ(scheduler->ask("a", "status").body["heap"], kBudget / 2);
  door.open();
  ASSERT_TRUE(scheduler->hears_finished(3));
  EXPECT_THAT(worker->metrics(), HasSubstr("muster_worker_heap_bytes 0\n"));
}

TEST_F(WorkerMemory, WorkersGiveEachOtherChunksThatFillThem) {
  const auto a = start(small("a"));
  const auto b = start(small("b"));
  constexpr Index kLarge = kBudget / 8 / 4 * 3;
  constexpr std::uint32_t kRounds = 4;
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    const std::uint32_t first = 4 * i;
    scheduler->order("a", {run(first, arange(first, kLarge))});
    scheduler->order("b", {run(first + 1, arange(first + 1, kLarge))});
    ASSERT_TRUE(scheduler->hears_finished(first + 2));
    scheduler->order("a", {run(first + 2, add_up(kLarge), {{chunk(first + 1), "b"}})});
    scheduler->order("b", {run(first + 3, add_up(kLarge), {{chunk(first), "a"}})});
    ASSERT_TRUE(scheduler->hears_finished(first + 4)) << "both wait for what the other holds";
    EXPECT_EQ(fetch("a", first + 2).as<double>()[0], first + 1);
    EXPECT_EQ(fetch("b", first + 3).as<double>()[0], first);
  }
  EXPECT_TRUE(scheduler->all<TaskFailed>().empty());
}

TEST_F(WorkerMemory, FindsInputsAPlaceThatJustFitTogether) {
  const auto first = [](engine::KernelContext& context) {
    context.set(context.input(0).slice({0}, {1}));
  };
  const auto worker = start(small("a"), {{"first", first}});
  constexpr std::uint32_t kChunks = 9;
  // Of one, two, ... nine tenths of the budget.
  const auto items = [](std::uint32_t i) {
    return static_cast<Index>((kBudget / 8 - 1024) * (i + 1) / (kChunks + 1));
  };
  std::vector<Order> orders;
  for (std::uint32_t i = 0; i < kChunks; ++i) orders.emplace_back(run(i, arange(i, items(i))));
  scheduler->order("a", std::move(orders));
  ASSERT_TRUE(scheduler->hears_finished(kChunks));
  orders.clear();
  std::uint32_t tasks = kChunks;
  for (int round = 0; round < 3; ++round)
    for (std::uint32_t i = 0; i < kChunks; ++i) {
      std::vector<OrderInput> inputs{{chunk(i), ""}};
      if (i != kChunks - 2 - i) inputs.push_back({chunk(kChunks - 2 - i), ""});
      if (i == kChunks - 1) inputs.resize(1);
      orders.emplace_back(run(tasks++, function("first"), inputs));
    }
  scheduler->order("a", std::move(orders));
  ASSERT_TRUE(scheduler->hears_finished(tasks));
  EXPECT_TRUE(scheduler->all<TaskFailed>().empty());
}

TEST_F(WorkerMemory, RefusesATaskWhoseInputsNeverFit) {
  const auto worker = start(small("a"));
  make("a", 24);
  std::vector<OrderInput> inputs;
  for (std::uint32_t i = 0; i < 24; ++i) inputs.push_back({chunk(i), ""});
  scheduler->order("a", {run(100, add_up(kItems), inputs)});
  ASSERT_TRUE(scheduler->hears<TaskFailed>(1));
  const TaskFailed failed = scheduler->all<TaskFailed>()[0];
  EXPECT_EQ(failed.fault, TaskFault::retryable) << "another worker may have more";
  EXPECT_THAT(failed.message, HasSubstr("raise workerCacheSize"));
}

TEST_F(WorkerMemory, FailsWithoutSpillDirectoriesWhenItIsFull) {
  WorkerOptions full = small("a");
  full.store.spill.directories.clear();
  full.store.wait = std::chrono::milliseconds(100);
  const auto worker = start(full);
  std::vector<Order> orders;
  for (std::uint32_t i = 0; i < 17; ++i) orders.emplace_back(run(i, arange(i, kItems)));
  scheduler->order("a", std::move(orders));
  ASSERT_TRUE(scheduler->hears<TaskFailed>(1));
  EXPECT_EQ(scheduler->all<TaskFailed>()[0].fault, TaskFault::retryable);
  EXPECT_THAT(scheduler->all<TaskFailed>()[0].message, HasSubstr("spillDirs"));
}

TEST_F(WorkerMemory, ReportsAChunkWhoseSpillFileIsDamaged) {
  const auto worker = start(small("a"));
  make("a", 32);
  const auto files = folder.chunk_files();
  ASSERT_FALSE(files.empty());
  for (const std::string& file : files) std::ofstream(file, std::ios::trunc) << "nonsense";
  std::vector<Order> orders;
  for (std::uint32_t i = 0; i < 32; ++i)
    orders.emplace_back(run(100 + i, add_up(kItems), {{chunk(i), ""}}));
  scheduler->order("a", std::move(orders));
  ASSERT_TRUE(scheduler->eventually([&] {
    return scheduler->heard<TaskFinished>().size() + scheduler->heard<TaskFailed>().size() >= 64;
  }));
  const auto failed = scheduler->all<TaskFailed>();
  ASSERT_FALSE(failed.empty());
  EXPECT_EQ(failed[0].fault, TaskFault::inputs_missing);
  EXPECT_THAT(failed[0].message, HasSubstr("recomputed"));
  EXPECT_EQ(scheduler->all<ChunksLost>().size(), failed.size());
}

}  // namespace
}  // namespace muster::service
