#include "muster/service/worker/chunk_server.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/engine/errors.h"
#include "muster/engine/storage/errc.h"
#include "muster/engine/wire/values.h"
#include "muster/service/protocol/tags.h"
#include "muster/service/worker/chunk_keys.h"

namespace muster::service {

namespace {

using engine::ChunkId;
using engine::StorageErrc;

/// Bytes of uploads that may wait for a thread.
constexpr std::size_t kMostWaiting = std::size_t{256} << 20;

/// For the room of an upload. Not longer, because who waits here serves nobody else; the web role
/// tries again, or another worker.
constexpr Duration kPutWait = std::chrono::seconds(5);
/// After this long nothing is taken from a client's memory: half of what the web role waits.
constexpr Duration kTakeTime = std::chrono::seconds(10);

Answer refusal(int status, const std::string& message, const char* kind) {
  return {status, {{"error", message}, {"kind", kind}}, {}};
}

}  // namespace

ChunkServer::ChunkServer(std::size_t threads, Reply reply, engine::ChunkStore& store,
                         Reporter& reporter, WorkerCounters& counters)
    : reply_(std::move(reply)), store_(store), reporter_(reporter), counters_(counters) {
  for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { serve(stop); });
}

ChunkServer::~ChunkServer() { stop(); }

void ChunkServer::stop() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void ChunkServer::take(comm::Message request) {
  const std::size_t bytes = request.body.size();
  {
    const std::scoped_lock lock(mutex_);
    if (request.tag != kPutTag || waiting_bytes_ == 0 || waiting_bytes_ + bytes <= kMostWaiting) {
      waiting_bytes_ += bytes;
      requests_.push_back({std::move(request), SteadyClock().now()});
      arrived_.notify_one();
      return;
    }
  }
  reply_(request, encode(refusal(503, "the worker is busy with other uploads", "MemoryError")));
}

void ChunkServer::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Waiting next;
    {
      std::unique_lock lock(mutex_);
      // `stop` ends it.
      if (!arrived_.wait(lock, stop, [&] { return !requests_.empty(); })) return;
      next = std::move(requests_.front());
      requests_.pop_front();
      waiting_bytes_ -= next.request.body.size();
    }
    handle(next.request, next.arrived);
  }
}

void ChunkServer::handle(const comm::Message& request, TimePoint arrived) {
  try {
    reply_(request, answer(request, arrived));
  } catch (const engine::ArrayError& error) {
    log(LogLevel::warning, "worker", "'{}' asked for something strange: {}", request.source.view(),
        error.what());
    if (request.tag != kGetTag) reply_(request, encode(refusal(400, error.what(), "ValueError")));
  }
}

comm::Body ChunkServer::answer(const comm::Message& request, TimePoint arrived) {
  if (request.tag == kPutTag) return encode(put(read_put(request.body)));
  if (request.tag == kTakeTag)
    return encode(take_from_client(read_take(request.body), arrived + kTakeTime));
  return get(read_get(request.body));
}

Buffer ChunkServer::read(ChunkId chunk) {
  auto bytes = store_.read(key_of(chunk));
  if (!bytes) {
    log(LogLevel::info, "worker", "chunk {} cannot be sent: {}", to_string(key_of(chunk)),
        bytes.error().message());
    if (bytes.error().is(StorageErrc::corrupt)) reporter_.add(engine::ChunksLost{{}, {chunk}});
    return {};
  }
  counters_.chunks_served += 1;
  counters_.bytes_served += bytes->size();
  return *std::move(bytes);
}

comm::Body ChunkServer::get(const GetChunks& asked) {
  if (asked.chunks.size() == 1) return encode(GotChunks{{read(asked.chunks.front())}});
  GatheredChunks gathered(asked.chunks.size());
  for (const ChunkId chunk : asked.chunks) gathered.add(read(chunk).bytes());
  return std::move(gathered).body();
}

Answer ChunkServer::keep(ChunkId chunk, engine::DType dtype, std::size_t bytes, const Fill& fill) {
  auto writer = store_.create(key_of(chunk), bytes, {.deadline = SteadyClock().now() + kPutWait});
  if (!writer && !writer.error().is(StorageErrc::exists))
    return refusal(507, writer.error().message(), "MemoryError");
  // A client that heard no answer sends it again; the first may still be under way.
  if (!writer && !store_.contains(key_of(chunk)))
    return refusal(503, "the chunk is being written", "RuntimeError");
  if (writer) {
    if (auto filled = fill(writer->bytes()); !filled)
      return refusal(409, filled.error().message(), "RuntimeError");
    engine::check_items(dtype, writer->bytes().subspan(kChunkHeader));
    (void)writer->seal();
    counters_.chunks_uploaded += 1;
    counters_.bytes_uploaded += bytes;
  }
  reporter_.add(engine::ChunksCopied{{}, {{chunk, bytes}}});
  reporter_.flush();
  return {};
}

Answer ChunkServer::put(const PutChunk& given) {
  const engine::Meta meta = read_chunk_header(given.bytes.bytes());
  return keep(given.chunk, meta.dtype, given.bytes.size(),
              [&](std::span<std::byte> into) -> Result<void> {
                std::memcpy(into.data(), given.bytes.data(), given.bytes.size());
                return {};
              });
}

Answer ChunkServer::take_from_client(const TakeChunk& given, TimePoint until) {
  if (given.from.host != memory_host())
    return refusal(409, "the client is not on the worker's host", "RuntimeError");
  return keep(given.chunk, given.meta.dtype, kChunkHeader + given.bytes,
              [&](std::span<std::byte> into) -> Result<void> {
                write_chunk_header(into.first<kChunkHeader>(), given.meta);
                (void)read_chunk_header(into);
                auto read =
                    read_memory(given.from.process, given.from.address, into.subspan(kChunkHeader));
                if (read && SteadyClock().now() > until)
                  return fail(system_error(ETIMEDOUT, "take a chunk from a client's memory"));
                return read;
              });
}

}  // namespace muster::service
