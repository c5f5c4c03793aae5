#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "muster/base/clock.h"
#include "muster/comm/discovery/memory/memory_board.h"
#include "muster/comm/discovery/memory/memory_store.h"
#include "muster/comm/proxy/proxy.h"
#include "muster/engine/errors.h"
#include "muster/engine/graph/operator.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/session/stored_chunks.h"
#include "muster/engine/wire/graphs.h"
#include "muster/service/protocol/ask.h"
#include "muster/service/protocol/chunks.h"
#include "muster/service/protocol/failure.h"
#include "muster/service/protocol/orders.h"
#include "muster/service/protocol/reports.h"
#include "muster/service/protocol/tags.h"
#include "muster/service/python/pickled_function.h"
#include "muster/service/scheduler/scheduler_service.h"

namespace muster::service {

using namespace std::chrono_literals;

inline comm::ProxyOptions testing_proxy(const std::shared_ptr<comm::MemoryBoard>& board,
                                        std::string type, std::string name) {
  comm::ProxyOptions options;
  options.group = kGroup;
  options.type = std::move(type);
  options.name = std::move(name);
  options.expected_peers = {{std::string(kSchedulerType), 1}};
  options.store = std::make_shared<comm::MemoryStore>(board);
  options.join_timeout = 30s;
  options.lease = 1s;
  options.linger = 100ms;
  options.rejoin.enabled = true;
  options.rejoin.max_rejoins = 1000;
  options.rejoin.minimal_peers_timeout = 0s;
  return options;
}

inline comm::Proxy testing_join(comm::ProxyOptions options) {
  auto proxy = comm::Proxy::join(std::move(options));
  if (!proxy) throw std::runtime_error(proxy.error().message());
  return *std::move(proxy);
}

inline Buffer chunk_bytes(const engine::Array& array) {
  const auto memory = engine::Memory::make(array.nbytes());
  const engine::Array whole = array.contiguous(*memory);
  std::vector<std::byte> bytes(kChunkHeader + whole.nbytes());
  write_chunk_header(std::span<std::byte, kChunkHeader>(bytes.data(), kChunkHeader),
                     {array.dtype(), array.shape()});
  if (whole.nbytes() > 0) std::memcpy(bytes.data() + kChunkHeader, whole.data(), whole.nbytes());
  return Buffer::take(std::move(bytes));
}

/// What the workers of a test share: chunks are read from each other without a network.
struct FakeStores {
  std::mutex mutex;
  std::map<std::string, std::map<engine::ChunkId, engine::Array>> held;
  std::atomic<std::uint64_t> runs = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> runs_of;  ///< by session and task
};

/// A worker that runs kernels in its only thread, one order after the other.
class FakeWorker {
 public:
  struct Options {
    std::string name = "worker_1";
    std::uint32_t threads = 2;
    /// Called before a task runs; may throw ArrayError, and may block.
    std::function<void(const RunOrder&, const TaskBody&)> before = {};
    /// Empty tasks: outputs are made up, nothing is computed.
    bool computes = true;
  };

  FakeWorker(const std::shared_ptr<comm::MemoryBoard>& board, std::shared_ptr<FakeStores> stores,
             Options options)
      : options_(std::move(options)),
        stores_(std::move(stores)),
        proxy_(testing_join(testing_proxy(board, std::string(kWorkerType), options_.name))),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}
  ~FakeWorker() { die(); }

  /// Without a word; what it held is gone.
  void die() {
    thread_.request_stop();
    proxy_.close();
    if (thread_.joinable()) thread_.join();
    const std::scoped_lock lock(stores_->mutex);
    stores_->held.erase(options_.name);
  }
  void leave() { leave_ = true; }
  [[nodiscard]] bool released() const { return released_; }
  /// That the scheduler said that it stops.
  [[nodiscard]] bool heard_last() const { return heard_last_; }
  [[nodiscard]] std::uint32_t id() const { return id_; }
  [[nodiscard]] int registrations() const { return registrations_; }
  [[nodiscard]] std::size_t holds() const {
    const std::scoped_lock lock(stores_->mutex);
    const auto found = stores_->held.find(options_.name);
    return found == stores_->held.end() ? 0 : found->second.size();
  }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      auto message = proxy_.receive_once(20ms);
      if (!message) return;
      if (*message) take(**message);
      if (leave_.exchange(false)) add(engine::WorkerLeaving{worker_});
      send();
    }
  }

  void take(const comm::Message& message) {
    if (message.tag == kBeatTag) {
      const Beat beat = read_beat(message.body);
      heard_last_ = heard_last_ || beat.last;
      if (beat.epoch != epoch_ || !beat.registered || beat.worker != worker_) enroll();
    } else if (message.tag == kOrdersTag) {
      const Orders orders = read_orders(message.body);
      if (orders.epoch != epoch_ || orders.worker != worker_) return;
      for (const Order& order : orders.orders)
        std::visit([&](const auto& each) { obey(each); }, order);
    } else if (message.tag == kGetTag) {
      GotChunks got;
      const std::scoped_lock lock(stores_->mutex);
      for (const engine::ChunkId chunk : read_get(message.body).chunks) {
        const auto& own = stores_->held[options_.name];
        const auto found = own.find(chunk);
        got.chunks.push_back(found == own.end() ? Buffer() : chunk_bytes(found->second));
      }
      (void)proxy_.reply(message, {}, encode(got));
    } else if (message.tag == kPutTag) {
      const PutChunk put = read_put(message.body);
      const Buffer bytes = put.bytes.kept();
      auto owner = std::make_shared<Buffer>(bytes);
      hold(put.chunk, chunk_array(owner->bytes(), owner));
      add(engine::ChunksCopied{worker_, {{put.chunk, bytes.size()}}});
      (void)proxy_.reply(message, {}, encode(Answer{}));
    } else if (message.tag == kTakeTag) {
      (void)proxy_.reply(message, {}, encode(Answer{409, {{"error", "it takes nothing"}}, {}}));
    }
  }

  void enroll() {
    outbox_.clear();
    Registration registration;
    registration.name = options_.name;
    registration.host = "elsewhere";  // else its process would be watched, which is the test's
    registration.pid = static_cast<std::uint32_t>(getpid());
    registration.threads = options_.threads;
    registration.memory = std::uint64_t{1} << 40;
    if (registrations_ > 0) registration.before = worker_;
    registration.epoch = epoch_;
    {
      const std::scoped_lock lock(stores_->mutex);
      for (const auto& [chunk, array] : stores_->held[options_.name])
        registration.held.push_back({chunk, array.nbytes() + kChunkHeader});
    }
    comm::Message message;
    message.tag = kRegisterTag;
    message.destination = kSchedulerName;
    message.body = encode(registration);
    auto replies = proxy_.send(std::move(message), 10s);
    if (!replies || replies->messages.empty()) return;
    const auto answer = read_answer(replies->messages.front().body);
    if (!answer || answer->status != 200) return;
    worker_ = engine::WorkerId(answer->body["worker"].get<std::uint32_t>());
    epoch_ = answer->body["epoch"].get<std::uint64_t>();
    id_ = worker_.value();
    ++registrations_;
  }

  void obey(const RunOrder& order) {
    add(engine::TaskStarted{worker_, order.task, order.attempt});
    Report report;
    try {
      report = compute(order);
    } catch (const engine::ArrayError& error) {
      report.event = engine::TaskFailed{worker_,
                                        order.task,
                                        order.attempt,
                                        engine::TaskFault::error,
                                        failure_text(error.wrong(), error.what()),
                                        {}};
    }
    outbox_.push_back(std::move(report));
  }

  Report compute(const RunOrder& order) {
    const TaskBody body = read_task_body(order.body.bytes(), pickled_functions());
    if (options_.before) options_.before(order, body);
    std::vector<engine::Array> inputs;
    engine::ChunksCopied fetched{worker_, {}};
    std::vector<std::uint32_t> missing;
    for (const OrderInput& input : order.inputs) {
      const std::scoped_lock lock(stores_->mutex);
      const auto& from = stores_->held[input.holder.empty() ? options_.name : input.holder];
      const auto found = from.find(input.chunk);
      if (found == from.end()) {
        missing.push_back(input.chunk.index);
        continue;
      }
      inputs.push_back(found->second);
      if (input.holder.empty()) continue;
      fetched.chunks.push_back({input.chunk, found->second.nbytes() + kChunkHeader});
      stores_->held[options_.name][input.chunk] = found->second;
    }
    if (!fetched.chunks.empty()) add(fetched);
    if (!missing.empty())
      return {engine::TaskFailed{worker_, order.task, order.attempt,
                                 engine::TaskFault::inputs_missing, "", missing},
              {},
              0,
              0,
              0};
    std::vector<engine::Array> outputs;
    if (options_.computes) {
      const engine::KernelRow* const kernel = engine::registry().find_kernel(body.kernel);
      if (kernel == nullptr) engine::wrong_value("no kernel " + body.kernel);
      const auto memory = engine::Memory::make(std::size_t{1} << 30);
      engine::KernelContext context(body.attributes, std::move(inputs), body.outputs.size(),
                                    *memory);
      kernel->run(context);
      outputs = std::move(context.outputs());
    } else {
      const double nothing = 0;
      outputs.assign(body.outputs.size(), engine::Array::copy_of(engine::Type::f64, {}, &nothing));
    }
    Report report;
    engine::TaskFinished done{worker_, order.task, order.attempt, {}};
    for (std::uint32_t i = 0; i < outputs.size(); ++i) {
      done.output_bytes.push_back(outputs[i].nbytes() + kChunkHeader);
      report.shapes.push_back(outputs[i].shape());
      hold({order.task.session, order.first_output + i}, outputs[i]);
    }
    report.event = std::move(done);
    stores_->runs += 1;
    const std::scoped_lock lock(stores_->mutex);
    ++stores_->runs_of[{order.task.session.value(), order.task.index}];
    return report;
  }

  void obey(const CopyOrder& order) {
    engine::ChunksCopied copied{worker_, {}};
    {
      const std::scoped_lock lock(stores_->mutex);
      for (const engine::ChunkId chunk : order.chunks) {
        const auto found = stores_->held[order.from].find(chunk);
        if (found == stores_->held[order.from].end()) continue;
        copied.chunks.push_back({chunk, found->second.nbytes() + kChunkHeader});
        stores_->held[options_.name][chunk] = found->second;
      }
    }
    add(copied);
  }
  void obey(const DropOrder& order) {
    const std::scoped_lock lock(stores_->mutex);
    stores_->held[options_.name].erase(order.chunk);
  }
  void obey(const CancelOrder&) {}
  void obey(const ForgetOrder&) {}
  void obey(const CloseOrder& order) {
    const std::scoped_lock lock(stores_->mutex);
    std::erase_if(stores_->held[options_.name],
                  [&](const auto& each) { return each.first.session == order.session; });
  }
  void obey(const ReleaseOrder&) { released_ = true; }

  void hold(engine::ChunkId chunk, engine::Array array) {
    const std::scoped_lock lock(stores_->mutex);
    stores_->held[options_.name][chunk] = std::move(array);
  }
  void add(engine::ScheduleEvent event) { outbox_.push_back({std::move(event), {}, 0, 0, 0}); }
  void send() {
    if (outbox_.empty() || registrations_ == 0) return;
    comm::Message message;
    message.tag = kReportsTag;
    message.destination = kSchedulerName;
    message.session_type = comm::SessionType::notification;
    message.body = encode(Reports{epoch_, worker_, std::exchange(outbox_, {})});
    (void)proxy_.isend(std::move(message));
  }

  const Options options_;
  std::shared_ptr<FakeStores> stores_;
  comm::Proxy proxy_;
  std::uint64_t epoch_ = 0;
  engine::WorkerId worker_;
  std::vector<Report> outbox_;
  std::atomic<std::uint32_t> id_ = 0;
  std::atomic<int> registrations_ = 0;
  std::atomic<bool> leave_ = false;
  std::atomic<bool> released_ = false;
  std::atomic<bool> heard_last_ = false;
  std::jthread thread_;
};

/// Asks as the web role does.
class FakeClient {
 public:
  explicit FakeClient(const std::shared_ptr<comm::MemoryBoard>& board, std::string name = "client",
                      std::string type = "client")
      : proxy_(testing_join(testing_proxy(board, std::move(type), std::move(name)))) {}

  comm::Proxy& proxy() { return proxy_; }

  Answer ask(const std::string& verb, nlohmann::json arguments, Buffer payload = {}) {
    for (const TimePoint until = SteadyClock().now() + 30s;;) {
      comm::Message message;
      message.tag = kAskTag;
      message.destination = kSchedulerName;
      message.body = encode(Ask{verb, arguments, payload});
      auto replies = proxy_.send(std::move(message), 30s);
      if (replies && !replies->messages.empty())
        return read_answer(replies->messages.front().body).value();
      // The scheduler is being restarted.
      if (SteadyClock().now() > until) throw std::runtime_error("the scheduler does not answer");
      std::this_thread::sleep_for(20ms);
    }
  }

  std::uint32_t open(bool trusted = false, double timeout = 0) {
    const Answer answer = ask("open", {{"timeout", timeout}, {"trusted", trusted}});
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.body.at("session").get<std::uint32_t>();
  }
  Answer submit(std::uint32_t session, const std::string& execution,
                const std::vector<engine::Tensor>& tensors, const std::vector<std::string>& keys,
                const engine::KeysOf& keys_of = {}) {
    return ask("submit", {{"session", session}, {"execution", execution}, {"keys", keys}},
               Buffer::take(engine::write_graph(tensors, keys_of)));
  }
  nlohmann::json wait(std::uint32_t session, const std::string& execution) {
    std::uint64_t seen = 0;
    const TimePoint until = SteadyClock().now() + 50s;
    for (;;) {
      const Answer answer =
          ask("progress",
              {{"session", session}, {"execution", execution}, {"wait", 5}, {"seen", seen}});
      const std::string state = answer.body.value("state", "");
      if (answer.status != 200 || state == "finished" || state == "failed" ||
          state == "cancelled" || SteadyClock().now() > until)
        return answer.body;
      seen = answer.body.at("version").get<std::uint64_t>();
    }
  }
  /// Submits one tensor under its key and waits.
  nlohmann::json execute(std::uint32_t session, const engine::Tensor& tensor,
                         const std::string& key) {
    const Answer answer = submit(session, "run of " + key, {tensor}, {key});
    EXPECT_EQ(answer.status, 200) << answer.body;
    return wait(session, "run of " + key);
  }

  /// Nothing if the holder has dropped it meanwhile.
  Buffer get(const std::string& holder, engine::ChunkId chunk) {
    comm::Message message;
    message.tag = kGetTag;
    message.destination = holder;
    message.body = encode(GetChunks{{chunk}});
    auto replies = proxy_.send(std::move(message), 20s);
    if (!replies || replies->messages.empty()) throw std::runtime_error("no chunk came");
    return read_got(replies->messages.front().body, 1).chunks.front().kept();
  }
  engine::Array fetch(std::uint32_t session, const std::string& key) {
    const Answer answer = ask("tensor", {{"session", session}, {"key", key}});
    if (answer.status != 200) throw std::runtime_error(answer.body.dump());
    std::vector<engine::Array> chunks;
    for (const auto& chunk : answer.body["chunks"]) {
      const engine::ChunkId id{engine::SessionId(session), chunk["chunk"].get<std::uint32_t>()};
      auto owner = std::make_shared<Buffer>();
      for (const auto& holder : chunk["holders"])
        if (owner->empty()) *owner = get(holder.get<std::string>(), id);
      chunks.push_back(chunk_array(owner->bytes(), owner));
    }
    const auto dtype = engine::dtype_named(answer.body["dtype"].get<std::string>()).value();
    const engine::StoredChunks stored(dtype, answer.body["splits"].get<engine::Splits>(), chunks);
    const auto memory = engine::Memory::make(std::size_t{1} << 30);
    return engine::assemble(stored, *memory).contiguous(*memory);
  }

 private:
  comm::Proxy proxy_;
};

/// A scheduler with workers, all in this process.
class ClusterTest : public testing::Test {
 protected:
  void TearDown() override {
    workers.clear();
    client.reset();
    scheduler.reset();
    if (!folder.empty()) std::filesystem::remove_all(folder);
  }

  void start_scheduler() {
    SchedulerOptions options;
    options.role.store = std::make_shared<comm::MemoryStore>(board);
    options.role.lease = 1s;
    options.journal_dir = folder;
    options.schedule = schedule;
    options.journal_bytes = journal_bytes;
    auto started = SchedulerService::start(options);
    ASSERT_TRUE(started.has_value()) << started.error().message();
    scheduler = *std::move(started);
  }
  void start(std::size_t count, const FakeWorker::Options& options = {}) {
    start_scheduler();
    for (std::size_t i = 0; i < count; ++i) add_worker(options);
    client = std::make_unique<FakeClient>(board);
    wait_for_workers(count);
  }
  FakeWorker& add_worker(FakeWorker::Options options = {}) {
    options.name = "worker_" + std::to_string(++named);
    workers.push_back(std::make_unique<FakeWorker>(board, stores, std::move(options)));
    return *workers.back();
  }
  void with_journal() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-sched-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  [[nodiscard]] bool eventually(const std::function<bool()>& condition, Duration time = 30s) {
    const TimePoint until = SteadyClock().now() + time;
    while (!condition()) {
      if (SteadyClock().now() > until) return false;
      std::this_thread::sleep_for(10ms);
    }
    return true;
  }
  std::size_t well() {
    const Answer answer = client->ask("cluster", nlohmann::json::object());
    std::size_t count = 0;
    for (const auto& worker : answer.body["workers"]) count += worker["state"] == "well" ? 1 : 0;
    return count;
  }
  void wait_for_workers(std::size_t count) {
    ASSERT_TRUE(eventually([&] { return well() == count; })) << well() << " of " << count;
  }

  SteadyClock clock;
  std::shared_ptr<comm::MemoryBoard> board = std::make_shared<comm::MemoryBoard>(clock);
  std::shared_ptr<FakeStores> stores = std::make_shared<FakeStores>();
  engine::ScheduleOptions schedule;
  std::size_t journal_bytes = std::size_t{16} << 20;
  std::string folder;
  int named = 0;
  std::unique_ptr<SchedulerService> scheduler;
  std::vector<std::unique_ptr<FakeWorker>> workers;
  std::unique_ptr<FakeClient> client;
};

}  // namespace muster::service
