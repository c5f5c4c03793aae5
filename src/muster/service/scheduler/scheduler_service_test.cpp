#include "muster/service/scheduler/scheduler_service.h"

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/engine/ops/linalg/products.h"
#include "muster/service/scheduler/scheduler_testing.h"
#include "muster/tensor.h"
#include "muster/version.h"

namespace muster::service {
namespace {

using namespace engine;
using testing::AllOf;
using testing::HasSubstr;

double only(const Array& array) {
  EXPECT_EQ(array.size(), 1);
  return *array.as<double>();
}

/// Names under which the receiver has the outputs of a stored step, in a test with one of them.
KeysOf key_of_stored(const std::string& key) {
  return [key](const PlanStep& step) {
    return step.is_stored() ? std::vector<std::string>{key} : std::vector<std::string>{};
  };
}

/// Stands for a tensor that the session has.
Tensor known(DType dtype, Splits splits) {
  static constexpr OperatorRow kRow{.name = "known", .summary = "for a test"};
  auto node = std::make_shared<Node>(kRow, Attributes(), std::vector<Tensor>(),
                                     std::vector<Meta>{{dtype, shape_of(splits)}}, Origin());
  std::vector<Array> none(chunk_count(splits));
  node->keep(0, std::make_shared<StoredChunks>(dtype, std::move(splits), std::move(none)));
  return {node, 0};
}

TEST_F(ClusterTest, ComputesWhatAClientSubmits) {
  start(2);
  const std::uint32_t session = client->open();
  const Tensor x = ones({200, 200}, Type::f64, std::int64_t{50});
  const Tensor y = inner(x, x);
  const nlohmann::json status = client->execute(session, y, "y");
  ASSERT_EQ(status.value("state", ""), "finished") << status;
  EXPECT_EQ(status["done"], status["total"]);
  EXPECT_GT(status["done"].get<int>(), 16);
  const Array fetched = client->fetch(session, "y");
  EXPECT_EQ(fetched.shape(), (Shape{200, 200}));
  for (Index i = 0; i < fetched.size(); ++i) ASSERT_EQ(fetched.as<double>()[i], 200);
}

TEST_F(ClusterTest, TilesInStagesAndComputesNothingTwice) {
  start(1);  // two would take tasks from each other that these workers cannot take back
  const std::uint32_t session = client->open();
  const Tensor x = arange(0.0, 1000.0, 1.0, std::int64_t{100});
  // How many there are is known only when they were counted; rechunking needs to know.
  const Tensor some = compress(x, greater(x, constant(Scalar(499.5))), 0);
  const Tensor y = rechunk(some, std::int64_t{77});
  const nlohmann::json status = client->execute(session, y, "y");
  ASSERT_EQ(status.value("state", ""), "finished") << status;
  const Array fetched = client->fetch(session, "y");
  ASSERT_EQ(fetched.shape(), (Shape{500}));
  for (Index i = 0; i < 500; ++i) ASSERT_EQ(fetched.as<double>()[i], 500.0 + double(i));
  const std::scoped_lock lock(stores->mutex);
  for (const auto& [task, runs] : stores->runs_of) EXPECT_EQ(runs, 1) << "task " << task.second;
}

TEST_F(ClusterTest, GivesResultsWhoseSizesWereUnknown) {
  start(1);
  const std::uint32_t session = client->open();
  const Tensor x = arange(0.0, 100.0, 1.0, std::int64_t{10});
  const nlohmann::json status =
      client->execute(session, compress(x, less(x, constant(Scalar(33.0))), 0), "y");
  ASSERT_EQ(status.value("state", ""), "finished") << status;
  EXPECT_EQ(client->fetch(session, "y").shape(), (Shape{33}));
}

TEST_F(ClusterTest, GoesOnFromTensorsThatItHas) {
  start(2);
  const std::uint32_t session = client->open();
  ASSERT_EQ(client->execute(session, ones({100}, Type::f64, std::int64_t{30}), "x")["state"],
            "finished");
  const std::uint64_t before = stores->runs;
  const Tensor x = known(Type::f64, {{30, 30, 30, 10}});
  ASSERT_EQ(client->submit(session, "sum", {x.sum()}, {"y"}, key_of_stored("x")).status, 200);
  ASSERT_EQ(client->wait(session, "sum")["state"], "finished");
  EXPECT_EQ(only(client->fetch(session, "y")), 100);
  EXPECT_LE(stores->runs - before, 7u) << "the ones are not made again";

  // A tensor that is released while somebody waits for what is made of it stays for that.
  ASSERT_EQ(client->submit(session, "again", {x.sum()}, {"z"}, key_of_stored("x")).status, 200);
  ASSERT_EQ(client->ask("release", {{"session", session}, {"keys", {"x"}}}).status, 200);
  ASSERT_EQ(client->wait(session, "again")["state"], "finished");
  EXPECT_EQ(client->ask("tensor", {{"session", session}, {"key", "x"}}).status, 404);
  const Answer refused = client->submit(session, "third", {x.sum()}, {"w"}, key_of_stored("x"));
  const nlohmann::json status = client->wait(session, "third");
  EXPECT_EQ(status["state"], "failed") << refused.body;
  EXPECT_THAT(status["error"].get<std::string>(), HasSubstr("there is no tensor 'x'"));
  EXPECT_EQ(status["kind"], "ValueError");
}

TEST_F(ClusterTest, DropsWhatIsReleasedAndClosesSessions) {
  start(2);
  const std::uint32_t session = client->open();
  const Tensor x = ones({100}, Type::f64, std::int64_t{10});
  ASSERT_EQ(client->execute(session, x, "x")["state"], "finished");
  ASSERT_EQ(client->execute(session, x, "x2")["state"], "finished");
  const auto held = [&] { return workers[0]->holds() + workers[1]->holds(); };
  EXPECT_GE(held(), 20u);
  client->ask("release", {{"session", session}, {"keys", {"x"}}});
  EXPECT_TRUE(eventually([&] { return held() <= 10; })) << held();
  client->ask("close", {{"session", session}});
  EXPECT_TRUE(eventually([&] { return held() == 0; })) << held();
  EXPECT_EQ(client->ask("alive", {{"session", session}}).status, 404);
}

TEST_F(ClusterTest, TellsWhichExceptionAFailedTaskIs) {
  FakeWorker::Options options;
  options.before = [](const RunOrder&, const TaskBody& body) {
    if (body.operator_name == "sum") throw ArrayError(Wrong::linalg, "[sum] not today");
  };
  start(2, options);
  const std::uint32_t session = client->open();
  const nlohmann::json status =
      client->execute(session, ones({40}, Type::f64, std::int64_t{10}).sum(), "y");
  EXPECT_EQ(status["state"], "failed");
  EXPECT_EQ(status["kind"], "LinAlgError");
  EXPECT_THAT(status["error"].get<std::string>(), HasSubstr("[sum] not today"));
  // Others go on.
  EXPECT_EQ(client->execute(session, ones({40}, Type::f64, std::int64_t{10}), "z")["state"],
            "finished");
}

TEST_F(ClusterTest, TakesUploadsAndComputesWithThem) {
  start(2);
  const std::uint32_t session = client->open();
  const Answer upload = client->ask(
      "upload", {{"session", session}, {"key", "x"}, {"dtype", "float64"}, {"splits", {{3, 2}}}});
  ASSERT_EQ(upload.status, 200) << upload.body;
  const Tensor x = known(Type::f64, {{3, 2}});
  ASSERT_EQ(client->submit(session, "sum", {x.sum()}, {"y"}, key_of_stored("x")).status, 200);
  const double items[] = {1, 2, 3, 4, 5};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& chunk = upload.body["chunks"].at(i);
    comm::Message message;
    message.tag = kPutTag;
    message.destination = chunk["worker"].get<std::string>();
    message.body =
        encode(PutChunk{{engine::SessionId(session), chunk["chunk"].get<std::uint32_t>()},
                        chunk_bytes(Array::copy_of(Type::f64, {i == 0 ? 3 : 2}, items + 3 * i))});
    ASSERT_EQ(client->proxy().send(std::move(message), 10s)->messages.size(), 1u);
  }
  ASSERT_EQ(client->wait(session, "sum")["state"], "finished");
  EXPECT_EQ(only(client->fetch(session, "y")), 15);
}

TEST_F(ClusterTest, MakesAgainWhatALostWorkerHeld) {
  start(3);
  const std::uint32_t session = client->open();
  ASSERT_EQ(client->execute(session, arange(0.0, 600.0, 1.0, std::int64_t{10}), "x")["state"],
            "finished");
  workers[0]->die();
  ASSERT_TRUE(eventually([&] { return well() == 2; }));
  const Array fetched = [&] {
    Array out;
    EXPECT_TRUE(eventually([&] {
      try {
        out = client->fetch(session, "x");
        return true;
      } catch (const std::exception&) {
        return false;  // some chunks are not there yet
      }
    }));
    return out;
  }();
  ASSERT_EQ(fetched.size(), 600);
  for (Index i = 0; i < 600; ++i) ASSERT_EQ(fetched.as<double>()[i], double(i));
}

TEST_F(ClusterTest, GoesOnWhenAWorkerDiesInTheMiddle) {
  std::promise<void> reached;
  std::atomic<int> count = 0;
  std::atomic<bool> hold = true;
  FakeWorker::Options options;
  options.before = [&](const RunOrder&, const TaskBody&) {
    if (++count == 20) reached.set_value();
    while (count >= 20 && hold) std::this_thread::sleep_for(1ms);
  };
  start(3, options);
  const std::uint32_t session = client->open();
  const Tensor x = arange(0.0, 600.0, 1.0, std::int64_t{10});
  ASSERT_EQ(client->submit(session, "run", {multiply(x, x).sum()}, {"y"}).status, 200);
  ASSERT_EQ(reached.get_future().wait_for(30s), std::future_status::ready);
  std::jthread dying([&] { workers[0]->die(); });
  hold = false;
  ASSERT_EQ(client->wait(session, "run")["state"], "finished");
  EXPECT_EQ(only(client->fetch(session, "y")), 599.0 * 600 * 1199 / 6);
}

TEST_F(ClusterTest, LetsAWorkerLeaveWithItsData) {
  start(2);
  const std::uint32_t session = client->open();
  ASSERT_EQ(client->execute(session, ones({100}, Type::f64, std::int64_t{10}), "x")["state"],
            "finished");
  const std::uint64_t runs = stores->runs;
  workers[0]->leave();
  ASSERT_TRUE(eventually([&] { return workers[0]->released(); }));
  workers[0]->die();
  ASSERT_TRUE(eventually([&] {
    return client->ask("cluster", nlohmann::json::object()).body["workers"].size() == 1;
  }));
  EXPECT_EQ(client->fetch(session, "x").size(), 100);
  EXPECT_EQ(stores->runs, runs) << "nothing was made again";
}

TEST_F(ClusterTest, TellsWorkersThatItStops) {
  start(2);
  EXPECT_FALSE(workers[0]->heard_last());
  scheduler->stop();
  for (const auto& worker : workers) EXPECT_TRUE(eventually([&] { return worker->heard_last(); }));
}

TEST_F(ClusterTest, CancelsWhatWaitsForWorkers) {
  start_scheduler();
  client = std::make_unique<FakeClient>(board);
  const std::uint32_t session = client->open();
  ASSERT_EQ(client->submit(session, "run", {ones({10})}, {"x"}).status, 200);
  ASSERT_EQ(client->ask("cancel", {{"session", session}, {"execution", "run"}}).status, 200);
  EXPECT_EQ(client->wait(session, "run")["state"], "cancelled");
}

TEST_F(ClusterTest, StopsTilingWhatNobodyWaitsFor) {
  start(1);
  constexpr Index kTasks = 5'000'000;
  const Tensor huge = ones({kTasks}, Type::f64, std::int64_t{1});
  const auto tasks_of = [&](const std::string& execution) -> std::optional<Index> {
    const nlohmann::json logs = client->ask("logs", {{"lines", 1000}}).body;
    const std::string marker = "nobody waits for '" + execution + "' any more; ";
    for (const auto& line : logs["lines"]) {
      const std::string text = line.get<std::string>();
      if (const auto at = text.find(marker); at != std::string::npos)
        return std::stoll(text.substr(at + marker.size()));
    }
    return std::nullopt;
  };
  const std::uint32_t session = client->open();
  const auto begin = [&](const std::string& execution) {
    ASSERT_EQ(client->submit(session, execution, {huge}, {execution}).status, 200);
    const nlohmann::json which{{"session", session}, {"execution", execution}};
    ASSERT_TRUE(eventually([&] { return !client->ask("graph", which).body["nodes"].empty(); }));
  };
  begin("cancelled");
  ASSERT_EQ(client->ask("cancel", {{"session", session}, {"execution", "cancelled"}}).status, 200);
  ASSERT_TRUE(eventually([&] { return tasks_of("cancelled").has_value(); }));
  EXPECT_LT(*tasks_of("cancelled"), kTasks);
  begin("closed");
  ASSERT_EQ(client->ask("close", {{"session", session}}).status, 200);
  ASSERT_TRUE(eventually([&] { return tasks_of("closed").has_value(); }));
  EXPECT_LT(*tasks_of("closed"), kTasks);
}

TEST_F(ClusterTest, ClosesSessionsOfClientsThatAreGone) {
  start(1);
  const std::uint32_t session = client->open(false, 0.3);
  EXPECT_TRUE(eventually(
      [&] { return client->ask("cluster", nlohmann::json::object()).body["sessions"] == 0; }));
  EXPECT_EQ(client->ask("alive", {{"session", session}}).status, 404);
}

TEST_F(ClusterTest, ClosesThemAlsoWhileOthersLookAtThem) {
  start(1);
  const std::uint32_t session = client->open(false, 0.3);
  EXPECT_TRUE(eventually([&] {
    return client->ask("progress", {{"session", session}, {"execution", "none"}, {"looks", true}})
               .body.value("error", "")
               .find("no session") != std::string::npos;
  }));
}

TEST_F(ClusterTest, RefusesWhatHostileClientsSend) {
  start(1);
  const std::uint32_t session = client->open();
  const auto failed = [&](const Tensor& tensor, const std::string& name) {
    EXPECT_EQ(client->submit(session, name, {tensor}, {name}).status, 200);
    const nlohmann::json status = client->wait(session, name);
    EXPECT_EQ(status["state"], "failed") << status;
    return status.value("error", "");
  };
  EXPECT_THAT(failed(ones({Index{1} << 40}, Type::f64, std::int64_t{1}), "chunks"),
              HasSubstr("at most 10000000"));
  const Answer garbage =
      client->ask("submit", {{"session", session}, {"execution", "garbage"}, {"keys", {"x"}}},
                  Buffer::copy_of(as_bytes("MGRFwhatever this is")));
  EXPECT_EQ(garbage.status, 200);
  EXPECT_EQ(client->wait(session, "garbage")["kind"], "ValueError");
  EXPECT_EQ(client->ask("submit", {{"session", session}, {"execution", 7}}).status, 400);
  EXPECT_EQ(client->ask("submit", {{"session", "x"}, {"execution", "y"}}).status, 400);
  EXPECT_EQ(
      client
          ->ask("upload",
                {{"session", session}, {"key", "k"}, {"dtype", "float64"}, {"splits", {{-1}}}})
          .status,
      400);
  EXPECT_EQ(client
                ->ask("upload",
                      {{"session", session}, {"key", "k"}, {"dtype", "pickle"}, {"splits", {{1}}}})
                .status,
            400);
  EXPECT_EQ(client->ask("dance", nlohmann::json::object()).status, 404);
  EXPECT_EQ(client->execute(session, ones({10}), "fine")["state"], "finished");
}

TEST_F(ClusterTest, RefusesWorkersOfAnotherVersion) {
  start(1);
  comm::Proxy stranger = testing_join(testing_proxy(board, std::string(kWorkerType), "stranger"));
  const auto enroll = [&](comm::Body body) {
    comm::Message message;
    message.tag = kRegisterTag;
    message.destination = kSchedulerName;
    message.body = std::move(body);
    const auto replies = stranger.send(std::move(message), 30s);
    return replies && !replies->messages.empty()
               ? read_answer(replies->messages.front().body).value()
               : Answer{0, {}, {}};
  };
  const auto refused = [&](comm::Body body) {
    const Answer answer = enroll(std::move(body));
    EXPECT_EQ(answer.status, kOtherVersion);
    return answer.body.value("error", "");
  };
  Registration registration;
  registration.name = "stranger";
  registration.program = {"99.1.2", kWireVersion + 7};
  EXPECT_THAT(refused(encode(registration)),
              AllOf(HasSubstr("'stranger'"), HasSubstr("Muster 99.1.2"),
                    HasSubstr(std::string(muster::kVersion)), HasSubstr("Install the same")));
  // What comes after the versions may be anything.
  ByteWriter other;
  write_program(other, registration.program);
  other.raw(as_bytes("another form"));
  EXPECT_THAT(refused(comm::Body::bytes(Buffer::take(other.take()))), HasSubstr("99.1.2"));
  ByteWriter old;
  old.text("stranger");
  old.text("host");
  EXPECT_THAT(refused(comm::Body::bytes(Buffer::take(old.take()))), HasSubstr("older Muster"));
  EXPECT_THAT(refused(comm::Body()), HasSubstr("older Muster"));
  EXPECT_EQ(enroll(comm::Body::bytes(as_bytes("MREGxx"))).status, 400);
  EXPECT_EQ(client->ask("cluster", nlohmann::json::object()).body["workers"].size(), 1);

  registration.program = {"99.1.2", kWireVersion};
  EXPECT_EQ(enroll(encode(registration)).status, 200);
}

TEST_F(ClusterTest, SaysWhatGoesOn) {
  start(2);
  const std::uint32_t session = client->open();
  ASSERT_EQ(client->execute(session, ones({40}, Type::f64, std::int64_t{10}).sum(), "y")["state"],
            "finished");
  const nlohmann::json here{{"session", session}, {"execution", "run of y"}};
  const Answer tasks = client->ask("tasks", here);
  ASSERT_EQ(tasks.status, 200) << tasks.body;
  EXPECT_FALSE(tasks.body["operators"].empty());
  const Answer graph = client->ask("graph", here);
  ASSERT_EQ(graph.status, 200);
  EXPECT_FALSE(graph.body["nodes"].empty());
  const Answer sessions = client->ask("sessions", nlohmann::json::object());
  ASSERT_EQ(sessions.body["sessions"].size(), 1u);
  EXPECT_EQ(sessions.body["sessions"][0]["tensors"], 1);
  EXPECT_GT(sessions.body["sessions"][0]["bytes"].get<int>(), 0);
  const Answer metrics = client->ask("metrics", nlohmann::json::object());
  EXPECT_THAT(std::string(metrics.payload.text()), HasSubstr("muster_scheduler_workers 2"));
  EXPECT_FALSE(client->ask("logs", {{"lines", 10}}).body["lines"].empty());
}

TEST_F(ClusterTest, SendsNewsToTheWeb) {
  start(1);
  FakeClient web(board, "web_1", std::string(kWebType));
  const std::uint32_t session = client->open();
  std::string news;
  int round = 0;
  EXPECT_TRUE(eventually([&] {
    client->execute(session, ones({10}), "x" + std::to_string(++round));
    for (;;) {
      auto message = web.proxy().receive_once(0s);
      if (!message || !*message) break;
      if ((*message)->tag == kNewsTag) news += (*message)->body.text();
    }
    return news.find("\"state\":\"finished\"") != std::string::npos;
  }));
  EXPECT_EQ(nlohmann::json::parse(news.substr(0, news.find('\n'))).value("event", ""), "task")
      << news;
}

// ---- Restarts

TEST_F(ClusterTest, GoesOnFromItsJournal) {
  with_journal();
  std::atomic<bool> hold = true;
  std::atomic<int> waiting = 0;
  FakeWorker::Options options;
  options.before = [&](const RunOrder&, const TaskBody& body) {
    ++waiting;
    while (hold && body.operator_name == "sum") std::this_thread::sleep_for(1ms);
  };
  start(2, options);
  const std::uint32_t session = client->open();
  ASSERT_EQ(client->execute(session, ones({100}, Type::f64, std::int64_t{10}), "x")["state"],
            "finished");
  const std::uint64_t runs = stores->runs;
  const int before = waiting;
  ASSERT_EQ(client
                ->submit(session, "sum", {known(Type::f64, {std::vector<Index>(10, 10)}).sum()},
                         {"y"}, key_of_stored("x"))
                .status,
            200);
  ASSERT_TRUE(eventually([&] { return waiting > before; }));
  scheduler->stop();
  scheduler.reset();
  hold = false;
  start_scheduler();
  const nlohmann::json status = client->wait(session, "sum");
  ASSERT_EQ(status["state"], "finished") << status;
  EXPECT_EQ(only(client->fetch(session, "y")), 100);
  EXPECT_EQ(client->fetch(session, "x").size(), 100);
  EXPECT_TRUE(eventually([&] { return workers[0]->registrations() >= 2; }));
  EXPECT_LE(stores->runs - runs, 30u) << "the ones were not made again";
}

TEST_F(ClusterTest, TilesAnewWhatWasInTheMiddleOfThat) {
  with_journal();
  std::atomic<bool> hold = true;
  std::atomic<int> waiting = 0;
  FakeWorker::Options options;
  options.before = [&](const RunOrder&, const TaskBody&) {
    ++waiting;
    while (hold) std::this_thread::sleep_for(1ms);
  };
  start(1, options);
  const std::uint32_t session = client->open();
  const Tensor x = arange(0.0, 100.0, 1.0, std::int64_t{10});
  const Tensor y = rechunk(compress(x, less(x, constant(Scalar(33.0))), 0), std::int64_t{7});
  ASSERT_EQ(client->submit(session, "run", {y}, {"y"}).status, 200);
  ASSERT_TRUE(eventually([&] { return waiting > 0; }));
  scheduler->stop();
  scheduler.reset();
  hold = false;
  start_scheduler();
  const nlohmann::json status = client->wait(session, "run");
  ASSERT_EQ(status["state"], "finished") << status;
  EXPECT_EQ(client->fetch(session, "y").shape(), (Shape{33}));
}

TEST_F(ClusterTest, GoesOnFromAJournalThatWasBegunAnew) {
  with_journal();
  journal_bytes = 1;
  std::atomic<bool> hold = true;
  std::atomic<int> waiting = 0;
  FakeWorker::Options options;
  options.before = [&](const RunOrder&, const TaskBody& body) {
    if (body.operator_name != "sum") return;
    ++waiting;
    while (hold) std::this_thread::sleep_for(1ms);
  };
  start(1, options);
  add_worker();
  wait_for_workers(2);
  const std::uint32_t session = client->open();
  const Tensor x = arange(0.0, 100.0, 1.0, std::int64_t{10});
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(client->execute(session, x, "x" + std::to_string(i))["state"], "finished");
  client->ask("release", {{"session", session}, {"keys", {"x0", "x1", "x2"}}});
  const Tensor some = compress(x, less(x, constant(Scalar(33.0))), 0);
  ASSERT_EQ(client->execute(session, some, "some")["state"], "finished");
  ASSERT_EQ(client
                ->submit(session, "sum", {known(Type::f64, {std::vector<Index>(10, 10)}).sum()},
                         {"y"}, key_of_stored("x7"))
                .status,
            200);
  ASSERT_TRUE(eventually([&] {
    const Answer logs = client->ask("logs", {{"lines", 1000}});
    for (const auto& line : logs.body["lines"])
      if (line.get<std::string>().find("begun anew") != std::string::npos) return true;
    return false;
  }));
  for (int life = 0; life < 2; ++life) {
    scheduler->stop();
    scheduler.reset();
    start_scheduler();
    const Answer kept = client->ask("tensor", {{"session", session}, {"key", "x5"}});
    ASSERT_EQ(kept.status, 200) << kept.body;
    EXPECT_EQ(kept.body["chunks"].size(), 10u);
    const Answer brief =
        client->ask("tensor", {{"session", session}, {"key", "x5"}, {"chunks", false}});
    EXPECT_EQ(brief.body["splits"], kept.body["splits"]);
    EXPECT_FALSE(brief.body.contains("chunks"));
    EXPECT_EQ(client->ask("tensor", {{"session", session}, {"key", "x1"}}).status, 404);
    EXPECT_EQ(client->wait(session, "run of x3")["state"], "finished");
  }
  hold = false;
  const nlohmann::json status = client->wait(session, "sum");
  ASSERT_EQ(status["state"], "finished") << status;
  EXPECT_EQ(only(client->fetch(session, "y")), 4950);
  EXPECT_EQ(client->fetch(session, "some").shape(), (Shape{33}));
  EXPECT_EQ(client->fetch(session, "x5").size(), 100);
  EXPECT_EQ(client->execute(session, x, "last")["state"], "finished");
}

TEST_F(ClusterTest, ForgetsWorkersThatDoNotComeBackAfterARestart) {
  with_journal();
  start(2);
  const std::uint32_t session = client->open();
  ASSERT_EQ(client->execute(session, arange(0.0, 100.0, 1.0, std::int64_t{10}), "x")["state"],
            "finished");
  scheduler->stop();
  scheduler.reset();
  workers.erase(workers.begin());
  start_scheduler();
  EXPECT_TRUE(eventually(
      [&] {
        try {
          return client->fetch(session, "x").size() == 100;
        } catch (const std::exception&) {
          return false;
        }
      },
      40s));
}

TEST_F(ClusterTest, DoesNotShareItsJournal) {
  with_journal();
  start_scheduler();
  SchedulerOptions options;
  options.role.store =
      std::make_shared<comm::MemoryStore>(std::make_shared<comm::MemoryBoard>(clock));
  options.journal_dir = folder;
  const auto second = SchedulerService::start(options);
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message(), HasSubstr("used by another scheduler"));
}

}  // namespace
}  // namespace muster::service
