#include "muster/service/worker/fetcher.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/engine/errors.h"
#include "muster/engine/storage/errc.h"
#include "muster/service/errc.h"
#include "muster/service/worker/chunk_keys.h"

namespace muster::service {

namespace {

using engine::ChunkId;
using engine::StorageErrc;

/// About so much goes in one transfer: enough that its start does not matter. A chunk that is alone
/// in one is not copied on its way.
constexpr double kTransfer = 4 << 20;
constexpr double kMostInTransfer = 256;

/// For the room of a chunk, before its bytes are copied and the holder may forget them: long enough
/// for the disk to take what is in the way.
constexpr Duration kLendTime = std::chrono::milliseconds(50);

}  // namespace

Fetcher::Fetcher(std::size_t threads, ChunkSource& source, engine::ChunkStore& store,
                 Reporter& reporter, WorkerCounters& counters)
    : source_(source), store_(store), reporter_(reporter), counters_(counters) {
  for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { serve(stop); });
}

Fetcher::~Fetcher() { stop(); }

void Fetcher::stop() {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    wanted_.clear();
    queues_.clear();
    turns_.clear();
  }
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void Fetcher::add(ChunkId chunk, const std::string& holder, Wanted& wanted) {
  wanted.dropped = false;
  auto& queue = queues_[holder];
  if (queue.empty()) turns_.push_back(holder);
  queue.push_back(chunk);
  changed_.notify_one();
}

bool Fetcher::want(ChunkId chunk, const std::string& holder, Done done) {
  const std::scoped_lock lock(mutex_);
  if (stopped_) return false;
  if (const auto found = wanted_.find(chunk); found != wanted_.end()) {
    found->second.dropped = false;
    found->second.done.push_back(std::move(done));
    return false;
  }
  if (store_.contains(key_of(chunk))) return true;
  Wanted& wanted = wanted_[chunk];
  wanted.done.push_back(std::move(done));
  add(chunk, holder, wanted);
  return false;
}

void Fetcher::copy(const std::string& holder, const std::vector<ChunkId>& chunks) {
  std::vector<engine::HeldChunk> here;
  {
    const std::scoped_lock lock(mutex_);
    if (stopped_) return;
    for (const ChunkId chunk : chunks) {
      if (const auto found = wanted_.find(chunk); found != wanted_.end()) {
        found->second.dropped = false;
        found->second.copied = true;
      } else if (const auto bytes = store_.size_of(key_of(chunk))) {
        here.push_back({chunk, *bytes});
      } else {
        Wanted& wanted = wanted_[chunk];
        wanted.copied = true;
        add(chunk, holder, wanted);
      }
    }
  }
  if (!here.empty()) reporter_.add(engine::ChunksCopied{{}, std::move(here)});
}

void Fetcher::drop(ChunkId chunk) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = wanted_.find(chunk); found != wanted_.end()) found->second.dropped = true;
}

void Fetcher::drop_session(engine::SessionId session) {
  const std::scoped_lock lock(mutex_);
  for (auto found = wanted_.lower_bound({session, 0});
       found != wanted_.end() && found->first.session == session; ++found)
    found->second.dropped = true;
}

std::size_t Fetcher::on_their_way() const {
  const std::scoped_lock lock(mutex_);
  return wanted_.size();
}

void Fetcher::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Batch batch = next(stop);
    if (!batch.chunks.empty()) transfer(batch);
  }
}

std::size_t Fetcher::batch_size() const {
  return static_cast<std::size_t>(
      std::clamp(kTransfer / std::max(mean_bytes_, 1.0), 1.0, kMostInTransfer));
}

Fetcher::Batch Fetcher::next(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  // `stop` ends it.
  changed_.wait(lock, stop, [&] { return !turns_.empty(); });
  if (stopped_ || turns_.empty()) return {};
  Batch batch{std::move(turns_.front()), {}};
  turns_.pop_front();
  auto& queue = queues_[batch.holder];
  for (std::size_t room = batch_size(); room > 0 && !queue.empty(); --room) {
    const ChunkId chunk = queue.front();
    queue.pop_front();
    const auto found = wanted_.find(chunk);
    // Nobody waits for it and it was dropped: it need not come at all.
    if (found->second.dropped && found->second.done.empty())
      wanted_.erase(found);
    else
      batch.chunks.push_back(chunk);
  }
  if (queue.empty()) {
    queues_.erase(batch.holder);
  } else {
    turns_.push_back(batch.holder);
    changed_.notify_one();
  }
  return batch;
}

void Fetcher::transfer(const Batch& batch) {
  auto got = source_.get(batch.holder, batch.chunks);
  if (!got) return fail_all(batch, got.error().message());
  for (std::size_t i = 0; i < batch.chunks.size(); ++i) {
    const ChunkId chunk = batch.chunks[i];
    Buffer bytes = std::move(got->chunks[i]);
    const std::size_t size = bytes.size();
    if (size == 0) {
      failed(chunk, {true, fmt::format("worker '{}' has no chunk {}", batch.holder,
                                       to_string(key_of(chunk)))});
      continue;
    }
    if (const auto kept = keep(chunk, std::move(bytes)); !kept)
      failed(chunk, {kept.error().is(Errc::malformed), kept.error().message()});
    else
      arrived(chunk, size);
  }
}

Result<void> Fetcher::keep(ChunkId chunk, Buffer bytes) {
  try {
    (void)read_chunk_header(bytes.bytes());
  } catch (const engine::ArrayError& error) {
    return muster::fail(Errc::malformed, error.what());
  }
  auto written = write(chunk, bytes, SteadyClock().now() + kLendTime);
  if (written || !written.error().is(StorageErrc::no_room)) return written;
  // They may be pinned at the holder, which waits for just that room to fetch a chunk from here.
  const HeapBytes counted(counters_, bytes.size());
  bytes = Buffer::copy_of(bytes.bytes());
  return write(chunk, bytes, {});
}

Result<void> Fetcher::write(ChunkId chunk, const Buffer& bytes, Deadline deadline) {
  auto writer = store_.create(key_of(chunk), bytes.size(), {.deadline = deadline});
  if (!writer && writer.error().is(StorageErrc::exists)) return {};
  if (!writer) return muster::fail(writer.error());
  std::memcpy(writer->bytes().data(), bytes.data(), bytes.size());
  (void)writer->seal();
  return {};
}

void Fetcher::arrived(ChunkId chunk, std::uint64_t bytes) {
  counters_.chunks_fetched += 1;
  counters_.bytes_fetched += bytes;
  std::vector<Done> waiting;
  {
    const std::scoped_lock lock(mutex_);
    mean_bytes_ = (mean_bytes_ + static_cast<double>(bytes)) / 2;
    const auto found = wanted_.find(chunk);
    if (found == wanted_.end()) return;
    const bool dropped = found->second.dropped;
    waiting = std::move(found->second.done);
    wanted_.erase(found);
    if (dropped) store_.drop(key_of(chunk));
    // Under the lock, so that it comes before whatever is reported of a later drop.
    if (!dropped) reporter_.add(engine::ChunksCopied{{}, {{chunk, bytes}}});
  }
  for (const Done& done : waiting) done(chunk, nullptr);
}

void Fetcher::failed(ChunkId chunk, const FetchFailure& failure) {
  counters_.fetches_failed += 1;
  log(LogLevel::info, "worker", "chunk {} did not come: {}", to_string(key_of(chunk)),
      failure.message);
  std::vector<Done> waiting;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = wanted_.find(chunk);
    if (found == wanted_.end()) return;
    waiting = std::move(found->second.done);
    if (found->second.copied) reporter_.add(engine::ChunksLost{{}, {chunk}});
    wanted_.erase(found);
  }
  for (const Done& done : waiting) done(chunk, &failure);
}

void Fetcher::fail_all(const Batch& batch, const std::string& message) {
  std::vector<ChunkId> all = batch.chunks;
  {
    const std::scoped_lock lock(mutex_);
    // The others that it should give will not come either.
    if (const auto queue = queues_.find(batch.holder); queue != queues_.end()) {
      all.insert(all.end(), queue->second.begin(), queue->second.end());
      queues_.erase(queue);
      std::erase(turns_, batch.holder);
    }
  }
  for (const ChunkId chunk : all) failed(chunk, {true, message});
}

}  // namespace muster::service
