// What a client with a token may send over HTTP to a real scheduler and worker: whatever it is, it
// is answered, and the next client is served.
#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "muster/base/random.h"
#include "muster/comm/discovery/memory/memory_board.h"
#include "muster/comm/discovery/memory/memory_store.h"
#include "muster/engine/ops/creation/full.h"
#include "muster/engine/ops/reduction/over.h"
#include "muster/engine/storage/storage_testing.h"
#include "muster/engine/wire/byte_writer.h"
#include "muster/engine/wire/graphs.h"
#include "muster/engine/wire/values.h"
#include "muster/net/http/http_client.h"
#include "muster/service/scheduler/scheduler_service.h"
#include "muster/service/web/web_service.h"
#include "muster/service/worker/worker_service.h"

namespace muster::service {
namespace {

using namespace std::chrono_literals;
using engine::Attributes;
using engine::ByteWriter;
using engine::Index;
using engine::Ints;
using engine::Scalar;
using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;

TimePoint in_a_minute() { return std::chrono::steady_clock::now() + 60s; }

/// A graph written by hand.
struct Forged {
  struct Node {
    std::string name;
    Attributes attributes{};
    std::vector<std::uint32_t> inputs{};
  };
  std::vector<Node> nodes;

  [[nodiscard]] std::vector<std::byte> bytes() const {
    ByteWriter out;
    out.raw(as_bytes("MGRF"));
    out.number(std::uint16_t{2});
    out.count(nodes.size());
    for (const Node& node : nodes) {
      out.number(std::uint8_t{0});
      out.text(node.name);
      write_attributes(out, node.attributes);
      out.count(node.inputs.size());
      for (const std::uint32_t input : node.inputs) {
        out.number(input);
        out.number(std::uint32_t{0});
      }
      out.text("");
    }
    out.count(1);
    out.number(static_cast<std::uint32_t>(nodes.size() - 1));
    out.number(std::uint32_t{0});
    return out.take();
  }
};

class HostileGraphs : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("MUSTER_RUNTIME_DIR", folder.path("run").c_str(), 1);
    for (const char* name : {"MUSTER_TOKEN", "MUSTER_SECRET"}) ::unsetenv(name);
    SchedulerOptions scheduler_options;
    scheduler_options.role = role();
    scheduler_options.journal_dir = folder.path("journal");
    scheduler = SchedulerService::start(scheduler_options).value();
    WorkerOptions worker_options;
    worker_options.role = role();
    worker_options.name = "a";
    worker_options.threads = 1;
    worker_options.store.budget = 8u << 20;
    worker = WorkerService::start(worker_options).value();
    WebOptions web_options;
    web_options.role = role();
    web_options.token = "word";
    web = WebService::start(web_options).value();
    client.emplace(net::HttpClient::make(web->url(), {.token = "word"}).value());
    session = ask("POST", "/api/sessions", {}).at("session").get<std::string>();
  }
  void TearDown() override { ::unsetenv("MUSTER_RUNTIME_DIR"); }

  RoleOptions role() {
    RoleOptions options;
    options.driver = "inproc";
    options.store = std::make_shared<comm::MemoryStore>(board);
    return options;
  }
  json ask(std::string_view method, const std::string& path, ByteSpan body) {
    const std::array<ByteSpan, 1> spans = {body};
    const auto reply = client->request(method, path, spans, {}, in_a_minute());
    if (!reply) throw std::runtime_error(reply.error().message());
    return json::parse(reply->body.text());
  }
  /// Sends a graph and waits for its end.
  json run(ByteSpan graph) {
    const std::string name = fmt::format("e{}", ++runs);
    const std::string base = "/api/sessions/" + session + "/executions";
    std::string body = json{{"execution", name}, {"keys", {"k" + name}}}.dump() + "\n";
    body += as_text(graph);
    const json taken = ask("POST", base, as_bytes(body));
    if (taken.contains("error")) return taken;
    json state = json::object();
    for (const TimePoint end = in_a_minute(); SteadyClock().now() < end;) {
      state =
          ask("GET",
              base + "/" + name + "?wait=5&seen=" + std::to_string(state.value("version", 0)), {});
      const std::string now = state.value("state", "");
      if (now != "tiling" && now != "running") break;
    }
    (void)ask("DELETE", "/api/sessions/" + session + "/tensors/k" + name, {});
    return state;
  }
  std::string refused(const Forged& forged) {
    const json end = run(forged.bytes());
    EXPECT_EQ(end.value("state", ""), "failed") << end;
    return end.value("error", "");
  }
  static std::vector<std::byte> fine() { return engine::write_graph({engine::ones({100}).sum()}); }
  static Forged::Node full(const Ints& shape, std::int64_t chunk = 0) {
    const Attributes attributes{{"shape", shape}, {"value", Scalar(1.0)}};
    return {"full", chunk > 0 ? attributes.with("chunk_size", chunk) : attributes};
  }
  void serves_others() {
    const json end = run(fine());
    EXPECT_EQ(end.value("state", ""), "finished") << end;
  }

  engine::TestFolder folder;
  SteadyClock clock;
  std::shared_ptr<comm::MemoryBoard> board = std::make_shared<comm::MemoryBoard>(clock);
  std::unique_ptr<SchedulerService> scheduler;
  std::unique_ptr<WorkerService> worker;
  std::unique_ptr<WebService> web;
  std::optional<net::HttpClient> client;
  std::string session;
  int runs = 0;
};

TEST_F(HostileGraphs, CannotUseWhatIsNotThereYet) {
  EXPECT_THAT(refused({{{"negative", {}, {0}}}}), HasSubstr("not there yet")) << "itself";
  EXPECT_THAT(refused({{full({4}), {"negative", {}, {2}}, {"negative", {}, {1}}}}),
              HasSubstr("not there yet"))
      << "each other";
  EXPECT_THAT(refused({{full({4}), {"negative", {}, {0xFFFFFFFFu}}}}), HasSubstr("not there yet"));
  serves_others();
}

TEST_F(HostileGraphs, CannotUseOperatorsThatDoNotExist) {
  EXPECT_THAT(refused({{{"no such", {}, {}}}}), HasSubstr("no operator 'no such'"));
  EXPECT_THAT(refused({{{"stored", {}, {}}}}), HasSubstr("operator"));
  EXPECT_THAT(refused({{{std::string(60'000, 'x'), {}, {}}}}), HasSubstr("no operator"));
  serves_others();
}

TEST_F(HostileGraphs, CannotHaveAbsurdShapes) {
  const Index huge = Index{1} << 40;
  for (const Ints& shape : {Ints{huge, huge}, Ints{INT64_MAX}, Ints{-1}, Ints{-5, 3},
                            Ints{INT64_MIN}, Ints(1000, 1), Ints(64, 2)})
    EXPECT_FALSE(refused({{full(shape)}}).empty()) << engine::text(shape);
  EXPECT_THAT(refused({{full({huge}, 1)}}), HasSubstr("at most")) << "chunks";
  serves_others();
}

TEST_F(HostileGraphs, CannotHaveHugeAttributes) {
  Ints many(1 << 20, 1);
  EXPECT_THAT(refused({{full(many)}}), HasSubstr("at most 32 axes"));
  Attributes names(Attributes::Pairs(
      {{std::string(60'000, 'a'), std::int64_t{1}}, {std::string(60'000, 'b'), std::int64_t{2}}}));
  (void)run(Forged{{{"full", names, {}}}}.bytes());
  // A list of nothings: a byte each on the wire, much more in memory.
  ByteWriter out;
  out.raw(as_bytes("MGRF"));
  out.number(std::uint16_t{2});
  out.count(1);
  out.number(std::uint8_t{0});
  out.text("full");
  out.count(1);
  out.text("shape");
  out.number(std::uint8_t{10});
  out.count(8'000'000);
  std::vector<std::byte> bytes = out.take();
  bytes.resize(bytes.size() + 8'000'000);
  const json end = run(bytes);
  EXPECT_THAT(end.value("error", ""), HasSubstr("values in lists"));
  serves_others();
}

TEST_F(HostileGraphs, MayBeDeep) {
  Forged deep{{full({4})}};
  for (std::uint32_t i = 0; i < 20'000; ++i) deep.nodes.push_back({"negative", {}, {i}});
  EXPECT_EQ(run(deep.bytes()).value("state", ""), "finished");
  serves_others();
}

TEST_F(HostileGraphs, SurviveWhateverIsFlipped) {
  const std::vector<std::byte> good = fine();
  Random random(1);
  for (int i = 0; i < 150; ++i) {
    std::vector<std::byte> bad = good;
    for (std::size_t flips = 1 + random() % 4; flips > 0; --flips)
      bad[random() % bad.size()] = static_cast<std::byte>(random());
    const json end = run(bad);
    EXPECT_THAT(end.value("state", "failed"), AnyOf("failed", "finished")) << end;
  }
  serves_others();
}

}  // namespace
}  // namespace muster::service
