#include "muster/service/worker/worker_service.h"

#include <new>

#include <gmock/gmock.h>

#include "muster/service/errc.h"
#include "muster/service/protocol/failure.h"
#include "muster/service/worker/worker_testing.h"

namespace muster::service {
namespace {

using namespace std::chrono_literals;
using engine::Array;
using engine::ChunksCopied;
using engine::ChunksLost;
using engine::KernelContext;
using engine::TaskFailed;
using engine::TaskFault;
using engine::TaskFinished;
using engine::TaskStarted;
using engine::Type;
using engine::WorkerId;
using engine::WorkerLeaving;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

void set_one(KernelContext& context) {
  Array one = context.make(Type::f64, {1});
  one.mutable_as<double>()[0] = 1;
  context.set(std::move(one));
}

TEST_F(WorkerTest, RegistersWithWhatItIs) {
  const auto worker = start(options("a"));
  const Registration registration = scheduler->registrations().front();
  EXPECT_EQ(registration.name, "a");
  EXPECT_EQ(registration.threads, 2u);
  EXPECT_EQ(registration.memory, 16u << 20);
  EXPECT_TRUE(registration.held.empty());
  EXPECT_EQ(worker->name(), "a");
}

TEST_F(WorkerTest, RunsATaskAndKeepsItsChunk) {
  const auto worker = start(options("a"));
  scheduler->order("a", {run(5, arange(3, 4))});
  ASSERT_TRUE(scheduler->hears<TaskFinished>(1));
  const TaskFinished finished = scheduler->all<TaskFinished>()[0];
  EXPECT_EQ(finished.worker, WorkerId(1));
  EXPECT_EQ(finished.task, task(5));
  EXPECT_EQ(finished.attempt, 1005u);
  EXPECT_EQ(finished.output_bytes, std::vector<std::uint64_t>{kChunkHeader + 32});
  const Report report = scheduler->reports().back();
  EXPECT_EQ(report.shapes, std::vector<engine::Shape>{{4}});
  EXPECT_GT(report.started, 0);
  EXPECT_GE(report.ended, report.started);
  EXPECT_GT(finished.took, 0);
  EXPECT_EQ(fetch("a", 5).as<double>()[3], 6);
}

TEST_F(WorkerTest, ReadsWhatItMadeAndKeepsLargeResultsWhereTheyAre) {
  const auto worker = start(options("a"));
  constexpr engine::Index kCount = 100'000;
  scheduler->order("a", {run(1, arange(0, kCount)), run(2, arange(5, kCount))});
  ASSERT_TRUE(scheduler->hears<TaskFinished>(2));
  scheduler->order("a", {run(3, add_up(kCount), {{chunk(1), ""}, {chunk(2), ""}})});
  ASSERT_TRUE(scheduler->hears<TaskFinished>(3));
  EXPECT_EQ(fetch("a", 3).as<double>()[kCount - 1], 2 * kCount + 3);
  EXPECT_THAT(worker->metrics(), HasSubstr("muster_worker_outputs_copied_total 0\n"));
}

TEST_F(WorkerTest, FetchesInputsFromOthersOnceAndReportsThem) {
  const auto a = start(options("a"));
  const auto b = start(options("b"));
  scheduler->order("a", {run(1, arange(0, 10)), run(2, arange(100, 10))});
  ASSERT_TRUE(scheduler->hears<TaskFinished>(2));
  scheduler->order("b", {run(3, add_up(10), {{chunk(1), "a"}, {chunk(2), "a"}}),
                         run(4, add_up(10), {{chunk(1), "a"}, {chunk(1), "a"}})});
  ASSERT_TRUE(scheduler->hears<TaskFinished>(4));
  EXPECT_EQ(fetch("b", 3).as<double>()[9], 118);
  EXPECT_EQ(fetch("b", 4).as<double>()[9], 18);
  std::size_t copied = 0;
  for (const auto& event : scheduler->all<ChunksCopied>()) copied += event.chunks.size();
  EXPECT_EQ(copied, 2u);
  EXPECT_EQ(fetch("b", 1).as<double>()[9], 9) << "what was fetched stays";
}

TEST_F(WorkerTest, CopiesChunksByOrder) {
  const auto a = start(options("a"));
  const auto b = start(options("b"));
  scheduler->order("a", {run(1, arange(0, 10)), run(2, arange(100, 10))});
  ASSERT_TRUE(scheduler->hears<TaskFinished>(2));
  scheduler->order("b", {CopyOrder{"a", {chunk(1), chunk(2), chunk(3)}}});
  ASSERT_TRUE(scheduler->hears<ChunksLost>(1));
  EXPECT_EQ(scheduler->all<ChunksLost>()[0].chunks, std::vector{chunk(3)});
  EXPECT_EQ(fetch("b", 2).as<double>()[0], 100);
}

TEST_F(WorkerTest, SaysWhichInputsAreMissing) {
  const auto a = start(options("a"));
  const auto b = start(options("b"));
  scheduler->order("b",
                   {run(3, add_up(10), {{chunk(1), "a"}}), run(4, add_up(10), {{chunk(2), ""}})});
  ASSERT_TRUE(scheduler->hears<TaskFailed>(2));
  for (const TaskFailed& failed : scheduler->all<TaskFailed>()) {
    EXPECT_EQ(failed.fault, TaskFault::inputs_missing);
    EXPECT_EQ(failed.missing, std::vector<std::uint32_t>{failed.task.index - 2});
  }
  EXPECT_THAT(scheduler->all<ChunksLost>(), SizeIs(1)) << "the one that it should have had itself";
}

TEST_F(WorkerTest, GoesOnWhenAHolderDiesBeforeItAnswers) {
  const auto a = start(options("a"));
  // A worker that never answers.
  comm::ProxyOptions silent;
  silent.group = kGroup;
  silent.type = kWorkerType;
  silent.name = "silent";
  silent.driver = "inproc";
  silent.expected_peers = {{std::string(kSchedulerType), 1}};
  silent.store = std::make_shared<comm::MemoryStore>(board);
  silent.rejoin.enabled = true;
  auto dying = comm::Proxy::join(std::move(silent));
  ASSERT_TRUE(dying);
  scheduler->order("a", {run(3, add_up(10), {{chunk(1), "silent"}})});
  const auto asked = dying->receive_once(20s);
  ASSERT_TRUE(asked && *asked);
  EXPECT_EQ((*asked)->tag, kGetTag);
  dying->close();
  ASSERT_TRUE(scheduler->hears<TaskFailed>(1));
  EXPECT_EQ(scheduler->all<TaskFailed>()[0].fault, TaskFault::inputs_missing);
  scheduler->order("a", {run(5, arange(0, 10))});
  EXPECT_TRUE(scheduler->hears<TaskFinished>(1));
}

TEST_F(WorkerTest, SaysWhatWentWrongAndWhetherAnotherTryMayHelp) {
  const auto worker = start(
      options("a"), {{"divide", [](KernelContext&) { engine::wrong_value("[divide] by nothing"); }},
                     {"hungry", [](KernelContext&) { throw std::bad_alloc(); }}});
  scheduler->order("a", {run(1, function("divide")), run(2, function("hungry")),
                         run(3, TaskBody{"no_such_kernel", "x", "", {}, {}})});
  ASSERT_TRUE(scheduler->hears<TaskFailed>(3));
  for (const TaskFailed& failed : scheduler->all<TaskFailed>()) {
    EXPECT_EQ(failed.fault, failed.task.index == 2 ? TaskFault::retryable : TaskFault::error);
    if (failed.task.index != 1) continue;
    EXPECT_EQ(read_failure(failed.message).wrong, engine::Wrong::value);
    EXPECT_THAT(failed.message, HasSubstr("[divide] by nothing\n  in divide (kernel function, "
                                          "task 1), made at test.py:3"));
  }
}

TEST_F(WorkerTest, SaysWhenThereIsNoPythonForFunctions) {
  WorkerOptions none = options("a");
  none.python = "/no/such/python";
  auto worker = WorkerService::start(none);
  ASSERT_TRUE(worker);
  ASSERT_TRUE(engine::eventually([&] { return (*worker)->is_registered(); }));
  scheduler->order("a", {run(1, function("f"))});
  ASSERT_TRUE(scheduler->hears<TaskFailed>(1));
  EXPECT_THAT(scheduler->all<TaskFailed>()[0].message,
              HasSubstr("no Python interpreter '/no/such/python'"));
  EXPECT_EQ(scheduler->all<TaskFailed>()[0].fault, TaskFault::retryable);
}

TEST_F(WorkerTest, SaysThatALongTaskBegan) {
  Door door;
  const auto worker = start(options("a"), {{"wait", [&](KernelContext& context) {
                                              door.pass();
                                              set_one(context);
                                            }}});
  scheduler->order("a", {run(1, function("wait"))});
  ASSERT_TRUE(scheduler->hears<TaskStarted>(1));
  EXPECT_EQ(scheduler->all<TaskStarted>()[0].task, task(1));
  door.open();
  EXPECT_TRUE(scheduler->hears<TaskFinished>(1));
}

TEST_F(WorkerTest, DropsATaskThatIsCancelledBeforeItBegan) {
  Door door;
  WorkerOptions one = options("a");
  one.threads = 1;
  const auto worker = start(one, {{"wait", [&](KernelContext& context) {
                                     door.pass();
                                     set_one(context);
                                   }}});
  scheduler->order("a", {run(1, function("wait")), run(2, arange(0, 4)), run(3, arange(0, 4)),
                         CancelOrder{task(2), 1002}});
  ASSERT_TRUE(door.has_visitors(1));
  door.open();
  ASSERT_TRUE(scheduler->hears<TaskFinished>(2));
  EXPECT_EQ(scheduler->all<TaskFinished>()[1].task, task(3));
  EXPECT_TRUE(scheduler->get("a", {chunk(2)}).chunks.at(0).empty());
}

TEST_F(WorkerTest, LeavesNothingOfATaskThatIsCancelledWhileItRuns) {
  Door door;
  const auto worker = start(options("a"), {{"wait", [&](KernelContext& context) {
                                              door.pass();
                                              set_one(context);
                                            }}});
  scheduler->order("a", {run(1, function("wait"))});
  ASSERT_TRUE(door.has_visitors(1));
  scheduler->order("a", {CancelOrder{task(1), 1001}});
  (void)scheduler->ask("a", "status");  // answered after the order was read
  door.open();
  scheduler->order("a", {run(2, arange(0, 4))});
  ASSERT_TRUE(scheduler->hears<TaskFinished>(1));
  EXPECT_EQ(scheduler->all<TaskFinished>()[0].task, task(2));
  EXPECT_TRUE(scheduler->get("a", {chunk(1)}).chunks.at(0).empty());
}

TEST_F(WorkerTest, DropsForgetsAndCloses) {
  const auto worker = start(options("a"));
  scheduler->order("a", {run(1, arange(0, 4)), run(2, arange(0, 4)), run(3, arange(0, 4))});
  ASSERT_TRUE(scheduler->hears<TaskFinished>(3));
  const auto is_here = [&](std::uint32_t index) {
    return !scheduler->get("a", {chunk(index)}).chunks.at(0).empty();
  };
  scheduler->order("a", {DropOrder{chunk(1)}, ForgetOrder{task(2)}});
  EXPECT_FALSE(is_here(1));
  EXPECT_FALSE(is_here(2));
  EXPECT_TRUE(is_here(3));
  scheduler->order("a", {CloseOrder{kSession}});
  EXPECT_FALSE(is_here(3));
}

TEST_F(WorkerTest, IgnoresOrdersOfAnotherTime) {
  const auto worker = start(options("a"));
  comm::Message stale;
  stale.tag = kOrdersTag;
  stale.destination = "a";
  stale.session_type = comm::SessionType::notification;
  stale.body = encode(Orders{6, WorkerId(1), {run(1, arange(0, 4))}});
  ASSERT_TRUE(scheduler->proxy().isend(std::move(stale)));
  scheduler->order("a", {run(2, arange(0, 4))});
  ASSERT_TRUE(scheduler->hears<TaskFinished>(1));
  EXPECT_EQ(scheduler->all<TaskFinished>()[0].task, task(2));
}

TEST_F(WorkerTest, RegistersAgainWithASchedulerThatForgotIt) {
  const auto worker = start(options("a"));
  scheduler->order("a", {run(1, arange(0, 4))});
  ASSERT_TRUE(scheduler->hears<TaskFinished>(1));
  scheduler->beat("a", {7, true, WorkerId(1)});
  scheduler->beat("a", {7, false, {}});
  ASSERT_TRUE(scheduler->hears_registrations(2));
  const Registration again = scheduler->registrations()[1];
  EXPECT_EQ(again.before, WorkerId(1));
  EXPECT_EQ(again.epoch, 7u);
  EXPECT_THAT(again.held, SizeIs(1));
  ASSERT_TRUE(engine::eventually([&] { return worker->is_registered(); }));
  scheduler->order("a", {run(2, arange(0, 4))});
  EXPECT_TRUE(scheduler->eventually([&] {
    const auto finished = scheduler->heard<TaskFinished>();
    return !finished.empty() && finished.back().task == task(2);
  }));
}

TEST_F(WorkerTest, OutlivesItsSchedulerAndTellsTheNextOneWhatItDid) {
  Door door;
  const auto worker = start(options("a"), {{"wait", [&](KernelContext& context) {
                                              door.pass();
                                              set_one(context);
                                            }}});
  scheduler->order("a", {run(1, arange(0, 4)), run(2, function("wait")), run(3, function("wait"))});
  ASSERT_TRUE(scheduler->hears<TaskFinished>(1));
  ASSERT_TRUE(door.has_visitors(2));
  scheduler.reset();
  scheduler = schedule(8);
  ASSERT_TRUE(engine::eventually([&] {
    const auto peers = scheduler->proxy().peers();
    return peers.contains(Name(kWorkerType));
  }));
  scheduler->beat("a", {8, false, {}});
  ASSERT_TRUE(scheduler->hears_registrations(1));
  const Registration again = scheduler->registrations()[0];
  EXPECT_EQ(again.epoch, 7u);
  EXPECT_THAT(again.held, SizeIs(1));
  EXPECT_THAT(again.running, SizeIs(2));
  door.open();
  ASSERT_TRUE(scheduler->hears<TaskFinished>(3)) << "the first is told again";
  EXPECT_TRUE(engine::eventually([&] { return worker->is_registered(); }));
}

TEST_F(WorkerTest, EndsWhenTheSchedulerIsOfAnotherVersion) {
  const std::string why = "worker 'a' is Muster 1, and the scheduler is Muster 2";
  scheduler->refuse({kOtherVersion, {{"error", why}}, {}});
  const auto worker = WorkerService::start(options("a"), calls({}));
  ASSERT_TRUE(worker) << worker.error().message();
  ASSERT_TRUE(engine::eventually([&] { return !(*worker)->is_alive(); }));
  EXPECT_EQ((*worker)->why_gone(), why);
  EXPECT_THAT(scheduler->registrations(), SizeIs(1));
  const auto left = (*worker)->leave(10min);
  ASSERT_FALSE(left);
  EXPECT_TRUE(left.error().is(Errc::closed));
  EXPECT_THAT(left.error().message(), HasSubstr(why));
}

TEST_F(WorkerTest, EndsWhenTheNextSchedulerIsOfAnotherVersion) {
  const auto worker = start(options("a"));
  // Anything may stand in the answer of another version.
  scheduler->refuse({kOtherVersion, nlohmann::json::array({1}), {}});
  scheduler->beat("a", {8, false, {}, false});
  ASSERT_TRUE(engine::eventually([&] { return !worker->is_alive(); }));
  EXPECT_EQ(worker->why_gone(), "[1]");
}

TEST_F(WorkerTest, AsksAgainWhenItIsRefusedForAnotherReason) {
  scheduler->refuse({400, {{"error", "not now"}}, {}});
  const auto worker = WorkerService::start(options("a"), calls({}));
  ASSERT_TRUE(worker) << worker.error().message();
  EXPECT_TRUE(scheduler->hears_registrations(2));
  EXPECT_TRUE((*worker)->is_alive());
  EXPECT_FALSE((*worker)->is_registered());
}

TEST_F(WorkerTest, TakesUploads) {
  const auto worker = start(options("a"));
  std::vector<std::byte> bytes(kChunkHeader + 16);
  write_chunk_header(std::span(bytes).first<kChunkHeader>(), {Type::f64, {2}});
  const double item = 42;
  std::memcpy(bytes.data() + kChunkHeader + 8, &item, 8);
  const PutChunk put{chunk(9), Buffer::take(bytes)};
  EXPECT_EQ(scheduler->put("a", put).status, 200);
  EXPECT_EQ(scheduler->put("a", put).status, 200) << "once more does no harm";
  ASSERT_TRUE(scheduler->hears<ChunksCopied>(1));
  EXPECT_EQ(scheduler->all<ChunksCopied>()[0].chunks[0].chunk, chunk(9));
  EXPECT_EQ(fetch("a", 9).as<double>()[1], 42);
  const Answer refused = scheduler->put("a", {chunk(10), Buffer::copy_of(as_bytes("nonsense"))});
  EXPECT_EQ(refused.status, 400);
}

TEST_F(WorkerTest, ServesChunksWhileAllThreadsAreBusy) {
  Door door;
  const auto worker = start(options("a"), {{"wait", [&](KernelContext& context) {
                                              door.pass();
                                              set_one(context);
                                            }}});
  scheduler->order("a", {run(1, arange(0, 4))});
  ASSERT_TRUE(scheduler->hears<TaskFinished>(1));
  scheduler->order("a", {run(2, function("wait")), run(3, function("wait"))});
  ASSERT_TRUE(door.has_visitors(2));
  EXPECT_EQ(fetch("a", 1).as<double>()[3], 3);
  door.open();
}

TEST_F(WorkerTest, LeavesWhenItIsReleased) {
  const auto worker = start(options("a"));
  auto left = std::async(std::launch::async, [&] { return worker->leave(20s); });
  ASSERT_TRUE(scheduler->hears<WorkerLeaving>(1));
  scheduler->order("a", {ReleaseOrder{}});
  EXPECT_TRUE(left.get());
}

TEST_F(WorkerTest, DoesNotWaitForEverToBeReleased) {
  const auto worker = start(options("a"));
  const auto left = worker->leave(10ms);
  ASSERT_FALSE(left);
  EXPECT_TRUE(left.error().is(Errc::timeout));
}

TEST_F(WorkerTest, DoesNotWaitForASchedulerThatSaidThatItStops) {
  const auto worker = start(options("a"));
  auto left = std::async(std::launch::async, [&] { return worker->leave(10min); });
  ASSERT_TRUE(scheduler->hears<WorkerLeaving>(1));
  scheduler->beat("a", {7, true, scheduler->id_of("a"), true});
  ASSERT_EQ(left.wait_for(30s), std::future_status::ready);
  const auto result = left.get();
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().is(Errc::unreachable)) << result.error().message();
}

TEST_F(WorkerTest, DoesNotWaitForASchedulerThatIsGone) {
  WorkerOptions hasty = options("a");
  hasty.absence = 100ms;
  const auto worker = start(hasty);
  auto left = std::async(std::launch::async, [&] { return worker->leave(10min); });
  ASSERT_TRUE(scheduler->hears<WorkerLeaving>(1));
  scheduler.reset();
  ASSERT_EQ(left.wait_for(30s), std::future_status::ready);
  const auto result = left.get();
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().is(Errc::unreachable)) << result.error().message();
}

TEST_F(WorkerTest, WaitsForASchedulerThatIsThereAndSaysNothing) {
  WorkerOptions hasty = options("a");
  hasty.absence = 100ms;
  const auto worker = start(hasty);
  auto left = std::async(std::launch::async, [&] { return worker->leave(10min); });
  ASSERT_TRUE(scheduler->hears<WorkerLeaving>(1));
  EXPECT_EQ(left.wait_for(5 * hasty.absence), std::future_status::timeout);
  scheduler->order("a", {ReleaseOrder{}});
  EXPECT_TRUE(left.get());
}

TEST_F(WorkerTest, AnswersQuestions) {
  const auto worker = start(options("a"));
  scheduler->order("a", {run(1, arange(0, 4))});
  ASSERT_TRUE(scheduler->hears<TaskFinished>(1));
  EXPECT_THAT(std::string(scheduler->ask("a", "metrics").payload.text()),
              HasSubstr("muster_worker_tasks_finished_total 1\n"));
  EXPECT_EQ(scheduler->ask("a", "status").body["finished"], 1);
  EXPECT_THAT(std::string(scheduler->ask("a", "metrics").payload.text()),
              HasSubstr("muster_worker_python_processes 0\n"));
  EXPECT_EQ(scheduler->ask("a", "status").body["python"]["calls"], 0);
  EXPECT_THAT(scheduler->ask("a", "logs").body["lines"], Not(IsEmpty()));
  EXPECT_EQ(scheduler->ask("a", "dance").status, 404);
}

TEST_F(WorkerTest, RunsThousandsOfEmptyTasks) {
  const auto worker = start(options("a"));
  constexpr std::uint32_t kCount = 20'000;
  const TaskBody body = arange(0, 1);
  std::vector<Order> orders;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    orders.emplace_back(run(i, body));
    if (orders.size() == 256 || i + 1 == kCount) scheduler->order("a", std::exchange(orders, {}));
  }
  ASSERT_TRUE(scheduler->hears_finished(kCount));
}

}  // namespace
}  // namespace muster::service
