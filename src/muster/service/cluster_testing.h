#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "muster/comm/discovery/memory/memory_board.h"
#include "muster/comm/discovery/memory/memory_store.h"
#include "muster/comm/proxy/proxy.h"
#include "muster/engine/session/session.h"
#include "muster/engine/session/stored_chunks.h"
#include "muster/engine/wire/graphs.h"
#include "muster/service/protocol/ask.h"
#include "muster/service/protocol/chunks.h"
#include "muster/service/protocol/failure.h"
#include "muster/service/protocol/tags.h"

namespace muster::service {

/// A scheduler and workers for tests, in this process: they speak the protocol and compute with an
/// ordinary session, without journal, placement or recovery.
class FakeCluster {
 public:
  explicit FakeCluster(std::size_t workers = 2) {
    scheduler_ = std::make_unique<Role>(
        join(std::string(kSchedulerType), std::string(kSchedulerName)),
        [this](comm::Proxy& proxy, const comm::Message& message) {
          if (message.tag != kAskTag) return;
          const auto ask = read_ask(message.body);
          (void)proxy.reply(message, {}, encode(ask ? answer(*ask) : Answer{400, {}, {}}));
        });
    for (std::size_t i = 0; i < workers; ++i) add_worker("worker-" + std::to_string(i));
  }
  ~FakeCluster() {
    std::vector<std::jthread> runs;
    {
      const std::scoped_lock lock(mutex_);
      runs = std::move(runs_);
    }
    runs.clear();
  }

  [[nodiscard]] std::shared_ptr<comm::Store> store() const {
    return std::make_shared<comm::MemoryStore>(board_);
  }

  void add_worker(const std::string& name) {
    auto role =
        std::make_unique<Role>(join(std::string(kWorkerType), name),
                               [this, name](comm::Proxy& proxy, const comm::Message& message) {
                                 serve_chunks(name, proxy, message);
                               });
    const std::scoped_lock lock(mutex_);
    workers_.insert_or_assign(name, std::move(role));
  }
  /// It goes, with all chunks that it has.
  void lose_worker(const std::string& name) {
    std::unique_ptr<Role> gone;
    {
      const std::scoped_lock lock(mutex_);
      gone = std::move(workers_.at(name));
      workers_.erase(name);
      chunks_.erase(name);
    }
  }
  /// The scheduler tells the web role what happens.
  void tell(const std::string& lines) {
    for (const auto& [type, names] : scheduler_->proxy.peers())
      if (type == kWebType)
        for (const Name& name : names) {
          comm::Message message;
          message.tag = kNewsTag;
          message.destination = name;
          message.session_type = comm::SessionType::notification;
          message.body = comm::Body::text(lines);
          (void)scheduler_->proxy.isend(std::move(message));
        }
  }

  /// Asked by the scheduler's verbs, counted.
  [[nodiscard]] int asked(const std::string& verb) const {
    const std::scoped_lock lock(mutex_);
    const auto found = asked_.find(verb);
    return found == asked_.end() ? 0 : found->second;
  }
  [[nodiscard]] nlohmann::json last(const std::string& verb) const {
    const std::scoped_lock lock(mutex_);
    const auto found = last_.find(verb);
    return found == last_.end() ? nlohmann::json() : found->second;
  }
  [[nodiscard]] std::size_t tensors() const {
    const std::scoped_lock lock(mutex_);
    return tensors_.size();
  }
  [[nodiscard]] std::size_t held(const std::string& worker) const {
    const std::scoped_lock lock(mutex_);
    const auto found = chunks_.find(worker);
    return found == chunks_.end() ? 0 : found->second.size();
  }
  [[nodiscard]] int chunks_read() const { return chunks_read_; }
  /// Chunks that workers took from a client's memory.
  [[nodiscard]] int chunks_taken() const { return chunks_taken_; }
  /// Whether they can do so.
  void let_workers_take(bool takes) { takes_ = takes; }
  /// Executions wait until this is false.
  std::atomic<bool> hold = false;

 private:
  using Json = nlohmann::json;
  using TensorKey = std::pair<std::uint32_t, std::string>;

  /// A proxy and the thread that serves it.
  struct Role {
    template <class Serve>
    Role(comm::Proxy joined, Serve serve) : proxy(std::move(joined)) {
      serving = std::thread([this, serve] {
        while (!stopping) {
          auto message = proxy.receive_once(std::chrono::milliseconds(50));
          if (!message) return;
          if (*message) serve(proxy, **message);
        }
      });
    }
    ~Role() {
      stopping = true;
      proxy.close();
      serving.join();
    }
    Role(const Role&) = delete;
    Role& operator=(const Role&) = delete;
    comm::Proxy proxy;
    std::atomic<bool> stopping = false;
    std::thread serving;
  };

  struct Tensor {
    engine::DType dtype;
    engine::Splits splits;
    std::vector<std::uint32_t> chunks;
  };
  struct Run {
    std::string state = "running";
    std::string error;
    std::string kind;
    std::uint64_t version = 1;
    bool cancelled = false;
  };

  comm::Proxy join(const std::string& type, const std::string& name) const {
    comm::ProxyOptions options;
    options.group = kGroup;
    options.type = type;
    options.name = name;
    options.store = store();
    options.expected_peers = {{std::string(kWorkerType), 0}};
    options.rejoin.enabled = true;
    options.rejoin.max_rejoins = 1'000'000;
    options.rejoin.minimal_peers_timeout = std::chrono::milliseconds(200);
    auto proxy = comm::Proxy::join(options);
    if (!proxy) throw std::runtime_error(proxy.error().message());
    return *std::move(proxy);
  }

  void serve_chunks(const std::string& name, comm::Proxy& proxy, const comm::Message& message) {
    if (message.tag == kGetTag) {
      ++chunks_read_;
      GotChunks got;
      {
        const std::scoped_lock lock(mutex_);
        for (const engine::ChunkId id : read_get(message.body).chunks) {
          const auto found = chunks_[name].find(id);
          got.chunks.push_back(found == chunks_[name].end() ? Buffer() : found->second);
        }
      }
      (void)proxy.reply(message, {}, encode(got));
    } else if (message.tag == kPutTag) {
      const PutChunk put = read_put(message.body);
      {
        const std::scoped_lock lock(mutex_);
        chunks_[name].insert_or_assign(put.chunk, Buffer::copy_of(put.bytes.bytes()));
      }
      (void)proxy.reply(message, {}, encode(Answer{}));
    } else if (message.tag == kTakeTag) {
      (void)proxy.reply(message, {}, encode(take(name, read_take(message.body))));
    } else if (message.tag == kAskTag) {
      const auto ask = read_ask(message.body);
      (void)proxy.reply(message, {},
                        encode(Answer{200,
                                      {{"lines", {"log of " + name}},
                                       {"python", {{"processes", 1}, {"most", 2}}}},
                                      Buffer::copy_of(as_bytes("metric 1\n"))}));
    }
  }

  Answer take(const std::string& name, const TakeChunk& given) {
    if (!takes_) return {409, {{"error", "memory cannot be read"}}, {}};
    std::vector<std::byte> bytes(kChunkHeader + given.bytes);
    write_chunk_header(std::span(bytes).first<kChunkHeader>(), given.meta);
    if (auto read = read_memory(given.from.process, given.from.address,
                                std::span(bytes).subspan(kChunkHeader));
        !read)
      return {409, {{"error", read.error().message()}}, {}};
    ++chunks_taken_;
    const std::scoped_lock lock(mutex_);
    chunks_[name].insert_or_assign(given.chunk, Buffer::take(std::move(bytes)));
    return {};
  }

  Answer answer(const Ask& ask) {
    const std::scoped_lock lock(mutex_);
    ++asked_[ask.verb];
    last_[ask.verb] = ask.arguments;
    const auto session = ask.arguments.value("session", 0u);
    if (ask.verb == "open") return open(ask.arguments);
    if (ask.verb == "cluster") return cluster();
    if (ask.verb == "sessions")
      return {
          200, {{"sessions", {{{"session", 1}, {"name", last_["open"].value("name", "")}}}}}, {}};
    if (ask.verb == "logs") return {200, {{"lines", {"log of the scheduler"}}}, {}};
    if (ask.verb == "metrics")
      return {200, Json::object(), Buffer::copy_of(as_bytes("scheduler_metric 1\n"))};
    if (!sessions_.contains(session))
      return {404, {{"error", "there is no session " + std::to_string(session)}}, {}};
    if (ask.verb == "alive") return {};
    if (ask.verb == "close") return close(session);
    if (ask.verb == "upload") return upload(session, ask.arguments);
    if (ask.verb == "tensor") return tensor(session, ask.arguments.at("key"));
    if (ask.verb == "release") return release(session, ask.arguments.at("keys"));
    if (ask.verb == "submit") return submit(session, ask);
    const auto run = executions_.find({session, ask.arguments.value("execution", "")});
    if (run == executions_.end()) return {404, {{"error", "there is no such execution"}}, {}};
    if (ask.verb == "cancel") {
      run->second.cancelled = true;
      return {};
    }
    if (ask.verb == "progress")
      return {200,
              {{"version", run->second.version},
               {"state", run->second.state},
               {"done", 1},
               {"total", 2},
               {"bytes", 3},
               {"error", run->second.error},
               {"kind", run->second.kind}},
              {}};
    return {200, {{"verb", ask.verb}, {"arguments", ask.arguments}}, {}};
  }

  Answer open(const Json& arguments) {
    const auto [place, fresh] = names_.try_emplace(arguments.at("name").get<std::string>(),
                                                   static_cast<std::uint32_t>(names_.size() + 1));
    sessions_.insert(place->second);
    return {200, {{"session", place->second}}, {}};
  }

  Answer cluster() const {
    Json workers = Json::array();
    for (const auto& [name, role] : workers_)
      workers.push_back({{"name", name}, {"threads", 2}, {"memory", 1024}});
    return {200, {{"workers", workers}, {"sessions", sessions_.size()}}, {}};
  }

  Answer close(std::uint32_t session) {
    sessions_.erase(session);
    std::erase_if(tensors_, [&](const auto& each) { return each.first.first == session; });
    return {};
  }

  Answer upload(std::uint32_t session, const Json& arguments) {
    const TensorKey key{session, arguments.at("key").get<std::string>()};
    auto splits = arguments.at("splits").get<engine::Splits>();
    const auto dtype = engine::dtype_named(arguments.at("dtype").get<std::string>());
    if (!dtype) return {400, {{"error", "no such dtype"}, {"kind", "TypeError"}}, {}};
    Tensor made{*dtype, splits, {}};
    for (std::size_t i = 0; i < engine::chunk_count(splits); ++i)
      made.chunks.push_back(next_chunk_++);
    tensors_.insert_or_assign(key, std::move(made));
    if (workers_.empty()) return {503, {{"error", "there is no worker"}}, {}};
    Json chunks = Json::array();
    auto worker = workers_.begin();
    for (const std::uint32_t chunk : tensors_.at(key).chunks) {
      chunks.push_back({{"chunk", chunk}, {"worker", worker->first}});
      if (++worker == workers_.end()) worker = workers_.begin();
    }
    return {200, {{"chunks", chunks}}, {}};
  }

  Json holders(engine::ChunkId id) const {
    Json names = Json::array();
    for (const auto& [worker, chunks] : chunks_)
      if (chunks.contains(id)) names.push_back(worker);
    return names;
  }

  Answer tensor(std::uint32_t session, const std::string& key) const {
    const auto found = tensors_.find({session, key});
    if (found == tensors_.end())
      return {404, {{"error", "there is no tensor '" + key + "'"}, {"kind", "ValueError"}}, {}};
    Json chunks = Json::array();
    for (const std::uint32_t chunk : found->second.chunks)
      chunks.push_back(
          {{"chunk", chunk}, {"holders", holders({engine::SessionId(session), chunk})}});
    return {200,
            {{"dtype", engine::name(found->second.dtype)},
             {"splits", found->second.splits},
             {"chunks", chunks}},
            {}};
  }

  Answer release(std::uint32_t session, const Json& keys) {
    for (const Json& key : keys) tensors_.erase({session, key.get<std::string>()});
    return {};
  }

  Answer submit(std::uint32_t session, const Ask& ask) {
    const auto name = ask.arguments.at("execution").get<std::string>();
    if (!executions_.try_emplace({session, name}).second) return {};
    runs_.emplace_back([this, session, name, keys = ask.arguments.at("keys"),
                        graph = Buffer::copy_of(ask.payload.bytes())](const std::stop_token& stop) {
      Run end;
      end.version = 2;
      try {
        end.state = compute(session, name, keys, graph, stop) ? "finished" : "cancelled";
      } catch (const engine::ArrayError& error) {
        end.state = "failed";
        end.error = error.what();
        end.kind = kind_of(error.wrong());
      }
      const std::scoped_lock lock(mutex_);
      executions_[{session, name}] = end;
    });
    return {};
  }

  bool compute(std::uint32_t session, const std::string& name, const Json& keys,
               const Buffer& graph, const std::stop_token& stop) {
    while (hold) {
      {
        const std::scoped_lock lock(mutex_);
        if (executions_[{session, name}].cancelled || stop.stop_requested()) return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const auto find = [&](std::string_view key) { return stored(session, std::string(key)); };
    const auto tensors = engine::read_graph(graph.bytes(), find);
    engine::Session local({.threads = 1});
    local.execute(tensors);
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < tensors.size(); ++i)
      keep({session, keys[i].get<std::string>()}, *tensors[i].node()->stored(tensors[i].output()),
           local.memory());
    return true;
  }

  std::shared_ptr<const engine::Stored> stored(std::uint32_t session, const std::string& key) {
    const std::scoped_lock lock(mutex_);
    const auto found = tensors_.find({session, key});
    if (found == tensors_.end()) return nullptr;
    std::vector<engine::Array> arrays;
    for (const std::uint32_t chunk : found->second.chunks) {
      const engine::ChunkId id{engine::SessionId(session), chunk};
      const Json names = holders(id);
      if (names.empty())
        throw engine::ArrayError(engine::Wrong::other, "uploaded data was lost; upload it again");
      const Buffer bytes = chunks_.at(names[0].get<std::string>()).at(id);
      arrays.push_back(chunk_array(bytes.bytes(), bytes.owner()));
    }
    return std::make_shared<engine::StoredChunks>(found->second.dtype, found->second.splits,
                                                  std::move(arrays));
  }

  /// `mutex_` must be held.
  void keep(const TensorKey& key, const engine::Stored& stored, engine::Memory& memory) {
    Tensor tensor{stored.dtype(), stored.splits(), {}};
    auto worker = workers_.begin();
    for (std::size_t i = 0; i < engine::chunk_count(stored.splits()); ++i) {
      const engine::Array chunk = stored.chunk(i).contiguous(memory);
      std::vector<std::byte> bytes(kChunkHeader + chunk.nbytes());
      write_chunk_header(std::span(bytes).first<kChunkHeader>(), {chunk.dtype(), chunk.shape()});
      std::copy_n(chunk.data(), chunk.nbytes(), bytes.data() + kChunkHeader);
      tensor.chunks.push_back(next_chunk_);
      chunks_[worker->first][{engine::SessionId(key.first), next_chunk_++}] =
          Buffer::take(std::move(bytes));
      if (++worker == workers_.end()) worker = workers_.begin();
    }
    tensors_.insert_or_assign(key, std::move(tensor));
  }

  SteadyClock clock_;
  std::shared_ptr<comm::MemoryBoard> board_ = std::make_shared<comm::MemoryBoard>(clock_);
  mutable std::mutex mutex_;  ///< guards everything below but the roles' own threads
  std::map<std::string, int> asked_;
  std::map<std::string, Json> last_;
  std::map<std::string, std::uint32_t> names_;
  std::set<std::uint32_t> sessions_;
  std::map<TensorKey, Tensor> tensors_;
  std::map<TensorKey, Run> executions_;
  std::map<std::string, std::map<engine::ChunkId, Buffer>> chunks_;  ///< by worker
  std::uint32_t next_chunk_ = 0;
  std::atomic<int> chunks_read_ = 0;
  std::atomic<int> chunks_taken_ = 0;
  std::atomic<bool> takes_ = true;
  std::vector<std::jthread> runs_;
  std::map<std::string, std::unique_ptr<Role>> workers_;
  std::unique_ptr<Role> scheduler_;
};

}  // namespace muster::service
