// Prints what a task costs in the scheduler role: a graph of empty tasks goes through everything
// (reading, tiling, the journal, orders, reports) to workers in threads of this process that answer
// at once. One line {"tasks": N, "workers": W, "tile_us": T, "run_us": R, "cpu_us": C,
// "journal_bytes": B} for each, in microseconds per task: T until all was submitted, R until all
// was done, C of processor time of all threads, those of the workers included.

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/comm/discovery/memory/memory_board.h"
#include "muster/comm/discovery/memory/memory_store.h"
#include "muster/comm/proxy/proxy.h"
#include "muster/engine/ops/creation/full.h"
#include "muster/engine/wire/graphs.h"
#include "muster/service/protocol/ask.h"
#include "muster/service/protocol/orders.h"
#include "muster/service/protocol/reports.h"
#include "muster/service/protocol/tags.h"
#include "muster/service/scheduler/scheduler_service.h"

namespace {

using namespace muster;
using namespace muster::service;
using namespace std::chrono_literals;

using Board = std::shared_ptr<comm::MemoryBoard>;

comm::Proxy join(const Board& board, std::string type, std::string name) {
  comm::ProxyOptions options;
  options.group = kGroup;
  options.type = std::move(type);
  options.name = std::move(name);
  options.expected_peers = {{std::string(kSchedulerType), 1}};
  options.store = std::make_shared<comm::MemoryStore>(board);
  options.rejoin.enabled = true;
  options.rejoin.minimal_peers_timeout = 0s;
  auto proxy = comm::Proxy::join(std::move(options));
  if (!proxy) {
    fmt::print(stderr, "{}\n", proxy.error().message());
    std::exit(1);
  }
  return *std::move(proxy);
}

void notify(comm::Proxy& proxy, std::string_view tag, comm::Body body) {
  comm::Message message;
  message.tag = tag;
  message.destination = kSchedulerName;
  message.session_type = comm::SessionType::notification;
  message.body = std::move(body);
  (void)proxy.isend(std::move(message));
}

/// Says of every task at once that it is done.
void work(const Board& board, const std::string& name, const std::atomic<bool>& stop) {
  comm::Proxy proxy = join(board, std::string(kWorkerType), name);
  Reports reports;
  bool registered = false;
  while (!stop) {
    auto message = proxy.receive_once(50ms);
    if (!message || !*message) continue;
    if ((*message)->tag == kBeatTag && !registered) {
      Registration registration;
      registration.name = name;
      registration.host = "elsewhere";
      registration.threads = 8;
      registration.memory = std::uint64_t{1} << 50;
      comm::Message join_message;
      join_message.tag = kRegisterTag;
      join_message.destination = kSchedulerName;
      join_message.body = encode(registration);
      auto replies = proxy.send(std::move(join_message), 10s);
      const auto answer = read_answer(replies->messages.at(0).body);
      reports.epoch = answer->body["epoch"].get<std::uint64_t>();
      reports.worker = engine::WorkerId(answer->body["worker"].get<std::uint32_t>());
      registered = true;
    } else if ((*message)->tag == kOrdersTag) {
      reports.reports.clear();
      for (const Order& order : read_orders((*message)->body).orders)
        if (const auto* const run = std::get_if<RunOrder>(&order)) {
          reports.reports.push_back(
              {engine::TaskStarted{reports.worker, run->task, run->attempt}, {}, 0, 0, 0});
          reports.reports.push_back(
              {engine::TaskFinished{reports.worker, run->task, run->attempt, {328}},
               {{1}},
               0,
               0,
               0});
        }
      if (!reports.reports.empty()) notify(proxy, kReportsTag, encode(reports));
    }
  }
}

Answer ask(comm::Proxy& proxy, const std::string& verb, nlohmann::json arguments,
           Buffer payload = {}) {
  comm::Message message;
  message.tag = kAskTag;
  message.destination = kSchedulerName;
  message.body = encode(Ask{verb, std::move(arguments), std::move(payload)});
  auto replies = proxy.send(std::move(message), 100s);
  return read_answer(replies->messages.at(0).body).value();
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void measure(std::int64_t tasks, std::size_t workers) {
  std::string folder = (std::filesystem::temp_directory_path() / "muster-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return;
  const SteadyClock clock;
  const Board board = std::make_shared<comm::MemoryBoard>(clock);
  SchedulerOptions options;
  options.role.store = std::make_shared<comm::MemoryStore>(board);
  options.journal_dir = folder;
  auto scheduler = SchedulerService::start(options);
  if (!scheduler) {
    fmt::print(stderr, "{}\n", scheduler.error().message());
    std::exit(1);
  }
  std::atomic<bool> stop = false;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < workers; ++i)
    threads.emplace_back([&, i] { work(board, fmt::format("worker_{}", i), stop); });
  comm::Proxy client = join(board, "client", "client");
  while (ask(client, "cluster", nlohmann::json::object()).body["workers"].size() < workers)
    std::this_thread::sleep_for(10ms);
  const auto session = ask(client, "open", nlohmann::json::object()).body["session"];
  const auto graph =
      engine::write_graph({engine::ones({tasks}, engine::Type::f64, std::int64_t{1}).sum()});
  const double cpu = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  const auto since = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  ask(client, "submit", {{"session", session}, {"execution", "run"}, {"keys", {"x"}}},
      Buffer::copy_of(graph));
  double tiled = 0;
  nlohmann::json status;
  std::uint64_t seen = 0;
  do {
    status = ask(client, "progress",
                 {{"session", session}, {"execution", "run"}, {"wait", 10}, {"seen", seen}})
                 .body;
    seen = status["version"].get<std::uint64_t>();
    if (tiled == 0 && status["state"] != "tiling") tiled = since();
  } while (status["state"] == "tiling" || status["state"] == "running");
  const double all = since();
  const double used = cpu_seconds() - cpu;
  const auto total = status["total"].get<double>();
  const auto journal = ask(client, "cluster", nlohmann::json::object()).body["journal"]["bytes"];
  fmt::print("{}\n", nlohmann::json{{"state", status["state"]},
                                    {"tasks", total},
                                    {"workers", workers},
                                    {"tile_us", tiled * 1e6 / total},
                                    {"run_us", all * 1e6 / total},
                                    {"cpu_us", used * 1e6 / total},
                                    {"journal_bytes", journal}}
                         .dump());
  stop = true;
  threads.clear();
  (*scheduler)->stop();
  std::filesystem::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t most = argc > 1 ? std::atoll(argv[1]) : 100'000;
  for (std::int64_t tasks = 1000; tasks <= most; tasks *= 10) measure(tasks, 2);
  return 0;
}
