#include "muster/service/client/remote_execution.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/engine/errors.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/wire/graphs.h"
#include "muster/service/client/parallel.h"
#include "muster/service/client/remote_stored.h"
#include "muster/service/protocol/failure.h"

namespace muster::service {

namespace {

using namespace std::chrono_literals;
using engine::Array;
using engine::ArrayError;
using engine::PlanStep;
using engine::Wrong;
using nlohmann::json;

// Constants above this are uploaded; all that travel in the graph have at most so many bytes.
constexpr std::size_t kLargeConstant = 1u << 20;
constexpr std::size_t kMostInline = 32u << 20;
// How often data that was lost with workers is uploaded again before the execution fails.
constexpr int kUploadsAgain = 3;
// The cluster's threads are not known here; uploads are cut so that a few workers get some.
constexpr std::size_t kSpread = 8;
// How long the cluster waits for the end before it says how far it is: soon at first, then so that
// it is not asked for every task.
constexpr double kFirstWait = 0.02;
constexpr double kLongestWait = 0.2;
// More than any version: only the end is waited for.
constexpr std::uint64_t kOnlyEnd = ~std::uint64_t{0} >> 1;
constexpr Duration kCancelWithin = 5s;

const Array* constant_of(const PlanStep& step) {
  if (step.is_stored() || step.row != &engine::constant_row()) return nullptr;
  const auto* const found = step.attributes.find("array");
  return found == nullptr ? nullptr : std::get_if<Array>(found);
}

/// The size above which constants must be uploaded so that the rest may travel in the graph.
std::size_t inline_limit(const engine::Plan& plan) {
  std::vector<std::size_t> sizes;
  for (const PlanStep& step : plan.steps)
    if (const Array* const array = constant_of(step); array && array->nbytes() <= kLargeConstant)
      sizes.push_back(array->nbytes());
  std::sort(sizes.begin(), sizes.end());
  std::size_t sum = 0;
  for (const std::size_t size : sizes) {
    sum += size;
    if (sum > kMostInline) return size - 1;
  }
  return kLargeConstant;
}

bool was_lost(const json& progress) {
  return progress.value("kind", "") == "LostError" ||
         progress.value("error", "").find("upload it again") != std::string::npos;
}

json to_json(const engine::Options& options) {
  return {{"chunk_store_limit", options.chunk_store_limit},
          {"combine_size", options.combine_size},
          {"rechunk_threshold", options.rechunk_threshold},
          {"rechunk_chunk_size_limit", options.rechunk_chunk_size_limit},
          {"disabled_passes", options.disabled_passes}};
}

}  // namespace

RemoteExecution::RemoteExecution(const std::shared_ptr<Connection>& connection, Uploads& uploads,
                                 std::vector<engine::Tensor> tensors,
                                 const engine::Options& options, engine::RunControl& control)
    : connection_(connection),
      uploads_(uploads),
      tensors_(std::move(tensors)),
      options_(options),
      control_(control) {}

void RemoteExecution::run(const std::stop_token& stop) {
  for (int attempt = 0;; ++attempt) {
    try {
      submit(write(stop), stop);
      const json end = follow(stop);
      const std::string state = end.value("state", "");
      if (state == "finished") return keep_results(stop);
      if (state == "cancelled") throw ArrayError(Wrong::cancelled, "the execution was cancelled");
      if (!was_lost(end) || attempt == kUploadsAgain)
        throw ArrayError(wrong_of(end.value("kind", "")),
                         end.value("error", "the execution failed"));
    } catch (...) {
      give_up();
      throw;
    }
    log(LogLevel::info, "client", "data was lost with a worker; it is uploaded again");
    give_up();
    uploads_.forget_lost(uploaded_, stop);
  }
}

std::vector<std::byte> RemoteExecution::write(const std::stop_token& stop) {
  used_.clear();
  uploaded_.clear();
  inline_most_ = inline_limit(engine::make_plan(tensors_));
  return engine::write_graph(tensors_, [&](const PlanStep& step) { return keys_of(step, stop); });
}

std::vector<std::string> RemoteExecution::keys_of(const PlanStep& step,
                                                  const std::stop_token& stop) {
  std::vector<std::string> keys;
  for (const auto& stored : step.stored) {
    used_.push_back(stored);
    const auto* const remote = dynamic_cast<const RemoteStored*>(stored.get());
    if (remote != nullptr && &remote->connection() == connection_.get()) {
      keys.push_back(remote->key());
    } else {
      keys.push_back(uploads_.stored(stored, stop));
      uploaded_.push_back(keys.back());
    }
  }
  if (const Array* const array = constant_of(step); array && array->nbytes() > inline_most_) {
    engine::Options options = options_;
    options.threads = kSpread;
    keys.push_back(
        uploads_.array(*array,
                       engine::decide_splits(array->shape(), array->item_size(),
                                             step.attributes.find("chunk_size"), options, "tensor"),
                       stop));
    uploaded_.push_back(keys.back());
  }
  return keys;
}

void RemoteExecution::submit(const std::vector<std::byte>& graph, const std::stop_token& stop) {
  keys_.clear();
  for (std::size_t i = 0; i < tensors_.size(); ++i) keys_.push_back(connection_->fresh_name("t"));
  const std::string name = connection_->fresh_name("e");
  {
    const std::scoped_lock lock(mutex_);
    name_ = name;
  }
  const std::string head =
      json{{"execution", name}, {"keys", keys_}, {"options", to_json(options_)}}.dump() + "\n";
  const std::array<ByteSpan, 2> body = {as_bytes(head), ByteSpan(graph)};
  (void)connection_->web().call("POST", connection_->path("/executions"), body, stop, 60s);
}

json RemoteExecution::follow(const std::stop_token& stop) {
  double wait = kFirstWait;
  while (true) {
    const json now = connection_->web().get(
        connection_->path(fmt::format("/executions/{}?wait={}&seen={}", name_, wait, kOnlyEnd)),
        stop);
    control_.tasks = now.value("total", std::size_t{0});
    control_.done = now.value("done", std::size_t{0});
    control_.bytes = now.value("bytes", std::size_t{0});
    const std::string state = now.value("state", "");
    if (state != "tiling" && state != "running" && state != "waiting" && state != "queued")
      return now;
    wait = std::min(wait * 2, kLongestWait);
  }
}

void RemoteExecution::keep_results(const std::stop_token& stop) {
  std::vector<std::shared_ptr<const engine::Stored>> results(keys_.size());
  const auto learn = [&](std::size_t number, const std::stop_token& inner) {
    const json meta = connection_->web().get(
        connection_->path(fmt::format("/tensors/{}?chunks=0", keys_[number])), inner);
    const auto dtype = engine::dtype_named(meta.value("dtype", ""));
    if (!dtype || !meta.contains("splits"))
      throw ArrayError(Wrong::other, fmt::format("{} says nothing useful about its results",
                                                 connection_->web().url()));
    results[number] = std::make_shared<RemoteStored>(connection_, keys_[number], *dtype,
                                                     meta["splits"].get<engine::Splits>());
  };
  if (keys_.size() == 1)
    learn(0, stop);
  else
    in_parallel(keys_.size(), 4, learn, stop);
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    tensors_[i].node()->keep(tensors_[i].output(), results[i]);
}

void RemoteExecution::cancel() {
  std::string name;
  {
    const std::scoped_lock lock(mutex_);
    name = name_;
  }
  if (name.empty()) return;
  if (auto told = connection_->web().once(
          "DELETE", connection_->path(fmt::format("/executions/{}", name)), kCancelWithin);
      !told)
    log(LogLevel::info, "client", "cancelling: {}", told.error().message());
}

void RemoteExecution::give_up() noexcept {
  try {
    cancel();
    for (const std::string& key : keys_) connection_->release_later(key);
    keys_.clear();
  } catch (const std::exception& error) {
    log(LogLevel::info, "client", "cancelling: {}", error.what());
  }
}

}  // namespace muster::service
