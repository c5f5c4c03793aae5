// A real scheduler with real workers, in one process.
#include <cmath>
#include <filesystem>

#include <gmock/gmock.h>

#include "muster/comm/discovery/memory/memory_board.h"
#include "muster/comm/discovery/memory/memory_store.h"
#include "muster/engine/ops/creation/full.h"
#include "muster/engine/ops/reduction/over.h"
#include "muster/engine/storage/storage_testing.h"
#include "muster/engine/wire/graphs.h"
#include "muster/service/scheduler/scheduler_service.h"
#include "muster/service/worker/worker_testing.h"

namespace muster::service {
namespace {

using namespace std::chrono_literals;
using engine::Tensor;
using nlohmann::json;

/// Slow enough that something can happen meanwhile, whatever the machine: it waits for the test.
TestFunctions waits_at(Door& door) {
  return {{"wait", [&](engine::KernelContext& context) {
             door.pass();
             engine::Array out = context.make(engine::Type::f64, context.input(0).shape());
             copy_items(context.input(0), out);
             context.set(std::move(out));
           }}};
}

class Cluster : public testing::Test {
 protected:
  void SetUp() override {
    start_scheduler();
    comm::ProxyOptions options;
    options.group = kGroup;
    options.type = kWebType;
    options.name = "client";
    options.driver = "inproc";
    options.expected_peers = {{std::string(kSchedulerType), 1}};
    options.store = std::make_shared<comm::MemoryStore>(board);
    options.rejoin.enabled = true;
    options.rejoin.max_rejoins = 1000;
    options.rejoin.minimal_peers_timeout = 20s;
    client.emplace(comm::Proxy::join(std::move(options)).value());
    session = ask("open", {{"timeout", 600}, {"name", "test"}, {"trusted", true}})["session"];
  }

  void start_scheduler() {
    SchedulerOptions options;
    options.role.driver = "inproc";
    options.role.lease = 500ms;
    options.role.store = std::make_shared<comm::MemoryStore>(board);
    options.journal_dir = folder.path("journal");
    auto started = SchedulerService::start(options);
    ASSERT_TRUE(started) << started.error().message();
    scheduler = *std::move(started);
  }
  void start_worker(const std::string& name, TestFunctions functions = {}) {
    WorkerOptions options;
    options.name = name;
    options.threads = 2;
    options.role.driver = "inproc";
    options.role.store = std::make_shared<comm::MemoryStore>(board);
    options.store.budget = 8u << 20;
    options.store.spill.directories = {folder.path(name)};
    auto started = WorkerService::start(options, calls(std::move(functions)));
    ASSERT_TRUE(started) << started.error().message();
    workers[name] = *std::move(started);
    ASSERT_TRUE(engine::eventually([&] { return workers[name]->is_registered(); }));
  }

  std::optional<comm::Body> request(const std::string& role, std::string_view tag,
                                    const comm::Body& body) {
    comm::Message message;
    message.tag = tag;
    message.destination = role;
    message.body = body;
    auto replies = client->send(std::move(message), 20s);
    if (!replies || replies->messages.empty()) return {};
    return replies->messages.front().body;
  }
  /// Verbs may be asked twice, so a scheduler that dies is asked again.
  json ask(const std::string& verb, json arguments, Buffer payload = {}) {
    const auto end = engine::in(30s);
    if (!session.is_null()) arguments["session"] = session;
    while (SteadyClock().now() < *end) {
      const auto body =
          request(std::string(kSchedulerName), kAskTag, encode(Ask{verb, arguments, payload}));
      if (!body) continue;
      const Answer answer = read_answer(*body).value();
      EXPECT_EQ(answer.status, 200) << verb << ": " << answer.body.dump();
      return answer.body;
    }
    ADD_FAILURE() << "no answer to " << verb;
    return {};
  }

  void submit(const std::string& key, const Tensor& tensor) {
    ask("submit", {{"execution", key}, {"keys", {key}}},
        Buffer::take(engine::write_graph({tensor})));
  }
  json finish(const std::string& key) {
    json status = {{"version", 0}, {"state", "running"}};
    const auto end = engine::in(50s);
    while ((status["state"] == "tiling" || status["state"] == "running") &&
           SteadyClock().now() < *end)
      status = ask("progress", {{"execution", key}, {"wait", 1}, {"seen", status["version"]}});
    return status;
  }
  /// The only item of a tensor of one chunk.
  double item(const std::string& key) {
    const json tensor = ask("tensor", {{"key", key}});
    const json& chunk = tensor.at("chunks").at(0);
    const engine::ChunkId id{engine::SessionId(session.get<std::uint32_t>()),
                             chunk.at("chunk").get<std::uint32_t>()};
    const auto body = request(chunk.at("holders").at(0), kGetTag, encode(GetChunks{{id}}));
    if (!body) return NAN;
    return array_of(read_got(*body, 1).chunks.at(0)).as<double>()[0];
  }
  static Tensor ones() { return engine::ones({400, 500}, engine::Type::f64, std::int64_t{100}); }
  /// A product of matrices, so that workers need each other's chunks.
  static Tensor sum() {
    return engine::apply_one("matmul", {ones(), engine::apply_one("transpose", {ones()})}).sum();
  }
  static Tensor waiting_sum() {
    const std::shared_ptr<const engine::PythonFunction> function =
        std::make_shared<PickledFunction>("wait", Buffer::copy_of(as_bytes("x")));
    return engine::apply_one("map_chunk", {ones()},
                             {{"function", function},
                              {"dtypes", engine::List{{engine::DType(engine::Type::f64)}}},
                              {"elementwise", true}})
        .sum();
  }

  SteadyClock clock;
  std::shared_ptr<comm::MemoryBoard> board = std::make_shared<comm::MemoryBoard>(clock);
  engine::TestFolder folder;
  std::unique_ptr<SchedulerService> scheduler;
  std::map<std::string, std::unique_ptr<WorkerService>> workers;
  std::optional<comm::Proxy> client;
  json session;
};

TEST_F(Cluster, ComputesOnOneWorker) {
  start_worker("a");
  submit("x", ones().sum());
  EXPECT_EQ(finish("x")["state"], "finished");
  EXPECT_EQ(item("x"), 200'000);
}

TEST_F(Cluster, ComputesOnTwoWorkersThatExchangeChunks) {
  start_worker("a");
  start_worker("b");
  submit("x", sum());
  const json status = finish("x");
  EXPECT_EQ(status["state"], "finished") << status.dump();
  EXPECT_EQ(item("x"), 400.0 * 400 * 500);
}

TEST_F(Cluster, SaysWhatWentWrong) {
  start_worker(
      "a", {{"wait", [](engine::KernelContext&) { engine::wrong_value("this data is too old"); }}});
  submit("x", waiting_sum());
  const json status = finish("x");
  EXPECT_EQ(status["state"], "failed");
  EXPECT_EQ(status["kind"], "ValueError");
  EXPECT_THAT(status["error"].get<std::string>(), testing::HasSubstr("this data is too old"));
}

TEST_F(Cluster, GoesOnWhenAWorkerDies) {
  Door door;
  start_worker("a", waits_at(door));
  start_worker("b", waits_at(door));
  submit("x", waiting_sum());
  ASSERT_TRUE(door.has_visitors(4)) << "both are busy";
  auto dying = std::async(std::launch::async, [&] { workers["a"]->stop(); });
  door.open();
  dying.get();
  EXPECT_EQ(finish("x")["state"], "finished");
  EXPECT_EQ(item("x"), 200'000);
}

TEST_F(Cluster, GoesOnWhenTheSchedulerIsRestarted) {
  Door door;
  start_worker("a", waits_at(door));
  submit("x", waiting_sum());
  ASSERT_TRUE(door.has_visitors(2));
  scheduler->stop();
  scheduler.reset();
  door.open();
  start_scheduler();
  EXPECT_EQ(finish("x")["state"], "finished");
  EXPECT_EQ(item("x"), 200'000);
}

TEST_F(Cluster, HandsOverWhatALeavingWorkerHas) {
  start_worker("a");
  submit("x", sum());
  EXPECT_EQ(finish("x")["state"], "finished");
  start_worker("b");
  const auto left = workers["a"]->leave(20s);
  ASSERT_TRUE(left) << left.error().message();
  workers["a"]->stop();
  EXPECT_EQ(item("x"), 400.0 * 400 * 500);
}

}  // namespace
}  // namespace muster::service
