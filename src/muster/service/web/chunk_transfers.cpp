#include "muster/service/web/chunk_transfers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/base/log.h"
#include "muster/engine/errors.h"
#include "muster/service/errc.h"
#include "muster/service/protocol/chunks.h"
#include "muster/service/protocol/tags.h"
#include "muster/service/web/replies.h"

namespace muster::service {

namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// How long a chunk may be on no worker (it is being computed again, or its worker is away) before
// the client is told to ask again.
constexpr Duration kPatience = 20s;
// How long all workers may be full before the client is told: spilling makes room, and so does a
// client that releases something.
constexpr Duration kFull = 3s;
// Places are asked for again after this: chunks move while workers come and go.
constexpr Duration kFresh = 10s;

TimePoint now() { return std::chrono::steady_clock::now(); }

engine::Meta meta_of(const TensorPlaces& places, std::size_t number) {
  engine::Shape position(places.splits.size());
  const engine::Shape grid = engine::grid_of(places.splits);
  auto rest = static_cast<engine::Index>(number);
  for (std::size_t axis = grid.size(); axis-- > 0;) {
    position[axis] = rest % grid[axis];
    rest /= grid[axis];
  }
  return {places.dtype, engine::extents_at(places.splits, position)};
}

Answer no_such_chunk(const std::string& key, std::size_t number, std::size_t chunks) {
  return refusal(404,
                 fmt::format("'{}' has {} chunks, so there is no chunk {}", key, chunks, number),
                 "IndexError");
}

/// The bytes of a chunk; nothing where they are too many to count.
std::optional<std::size_t> item_bytes(const engine::Meta& meta) {
  std::size_t bytes = engine::item_size(meta.dtype);
  for (const engine::Index extent : meta.shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes) ||
        bytes > kMostItemBytes)
      return std::nullopt;
  return bytes;
}

/// Fills `into` with the body; a message for the client where it is not exactly as long.
std::string read_exactly(net::HttpExchange& exchange, std::span<std::byte> into) {
  const std::size_t wanted = into.size();
  while (!into.empty()) {
    auto got = exchange.read_body(into);
    if (!got) return got.error().message();
    if (*got == 0)
      return fmt::format("the chunk has {} bytes, but {} came", wanted, wanted - into.size());
    into = into.subspan(*got);
  }
  std::array<std::byte, 1> more{};
  const auto got = exchange.read_body(more);
  if (!got) return got.error().message();
  return *got == 0 ? "" : fmt::format("the chunk has {} bytes, but more came", wanted);
}

}  // namespace

void ChunkTransfers::forget(engine::SessionId session, const std::vector<std::string>& keys) {
  held_.forget(session, keys);
  uploads_.forget(session, keys);
}

void ChunkTransfers::forget(engine::SessionId session) {
  held_.forget(session);
  uploads_.forget(session);
}

ChunkTransfers::Places ChunkTransfers::locate(engine::SessionId session, const std::string& key,
                                              TimePoint since, TimePoint deadline,
                                              Answer& refused) {
  if (Places places = held_.find(session, key, since)) return places;
  refused =
      link_.ask_scheduler({"tensor", {{"session", session.value()}, {"key", key}}, {}}, deadline);
  if (refused.status != 200) return nullptr;
  Places places = read_places(session, refused.body);
  if (!places) {
    refused = refusal(502, fmt::format("the scheduler said nothing useful about '{}'", key));
    return nullptr;
  }
  held_.keep(session, key, places);
  return places;
}

Buffer ChunkTransfers::find_chunk(engine::SessionId session, const std::string& key,
                                  std::size_t number, TimePoint deadline, Answer& refused) {
  TimePoint since = now() - kFresh;
  std::string last = "no worker has it";
  while (true) {
    const Places places = locate(session, key, since, deadline, refused);
    if (!places) return {};
    if (number >= places->chunks.size()) {
      refused = no_such_chunk(key, number, places->chunks.size());
      return {};
    }
    const TensorPlaces::Chunk& chunk = places->chunks[number];
    if (chunk.lost) {
      refused = refusal(410, fmt::format("chunk {} of '{}' was lost with a worker, and so was what "
                                         "it was made from: execute it again",
                                         number, key));
      return {};
    }
    for (std::size_t i = 0; i < chunk.workers.size(); ++i) {
      // Those who fetch different chunks begin with different holders.
      const std::string& holder = chunk.workers[(number + i) % chunk.workers.size()];
      auto bytes = link_.get_chunk(holder, chunk.id, deadline);
      if (bytes && !bytes->empty()) return *std::move(bytes);
      last = bytes ? fmt::format("'{}' has it no more", holder) : bytes.error().message();
    }
    if (now() >= deadline || link_.stopping()) break;
    link_.wait_for_change(deadline);
    since = now();
  }
  refused = refusal(503, fmt::format("chunk {} of '{}' cannot be had: {}", number, key, last));
  refused.body["waiting"] = true;
  return {};
}

void ChunkTransfers::download(net::HttpExchange& exchange, engine::SessionId session,
                              const std::string& key, std::size_t number) {
  Answer refused;
  const Buffer chunk = find_chunk(session, key, number, now() + kPatience, refused);
  if (chunk.empty()) return send(exchange, refused);
  engine::Meta meta;
  try {
    meta = read_chunk_header(chunk.bytes());
  } catch (const engine::ArrayError& error) {
    return send(exchange,
                refusal(502, fmt::format("chunk {} of '{}': {}", number, key, error.what())));
  }
  const ByteSpan items = chunk.bytes().subspan(kChunkHeader);
  const net::HeaderList headers = {{"Muster-Dtype", engine::name(meta.dtype)},
                                   {"Muster-Shape", fmt::format("{}", fmt::join(meta.shape, ","))},
                                   {"Cache-Control", "no-store"}};
  auto sent = exchange.begin(200, "application/octet-stream", items.size(), headers);
  if (sent) sent = exchange.write(items);
  if (sent) sent = exchange.end();
  if (!sent)
    log(LogLevel::info, "web", "chunk {} of '{}': {}", number, key, sent.error().message());
  if (sent) bytes_down_ += items.size();
}

Answer ChunkTransfers::declare(engine::SessionId session, const std::string& key, const json& dtype,
                               const json& splits, TimePoint deadline) {
  Answer answer = link_.ask_scheduler(
      {"upload",
       {{"session", session.value()}, {"key", key}, {"dtype", dtype}, {"splits", splits}},
       {}},
      deadline);
  if (answer.status != 200) return answer;
  answer.body["dtype"] = dtype;
  answer.body["splits"] = splits;
  Places places = read_places(session, answer.body);
  if (!places)
    return refusal(502, fmt::format("the scheduler said nothing useful about '{}'", key));
  uploads_.keep(session, key, places);
  held_.forget(session, {key});
  return {200, {{"chunks", places->chunks.size()}}, {}};
}

/// Where an upload goes: as it was declared. A role that was started since then learns the chunks
/// from the scheduler; any worker may take them.
ChunkTransfers::Places ChunkTransfers::destination(engine::SessionId session,
                                                   const std::string& key, TimePoint deadline,
                                                   Answer& refused) {
  if (Places places = uploads_.find(session, key, TimePoint::min())) return places;
  return locate(session, key, now(), deadline, refused);
}

Answer ChunkTransfers::deliver(const TensorPlaces::Chunk& chunk, std::string_view tag,
                               const comm::Body& body, TimePoint deadline) {
  std::string why = "there is no worker";
  std::string full;  // what a worker without room says would help
  std::optional<TimePoint> full_since;
  while (true) {
    bool all_full = true;
    for (const std::string& worker : candidates(chunk)) {
      auto answer = link_.give_chunk(worker, tag, body, deadline);
      // 503 and 507: it leaves, or has no room now.
      if (answer && answer->status != 503 && answer->status != 507) return *std::move(answer);
      why = answer ? answer->body.value("error", "it has no room") : answer.error().message();
      if (answer && answer->status == 507)
        full = fmt::format("worker '{}': {}", worker, why);
      else
        all_full = false;
      if (now() >= deadline || link_.stopping()) break;
    }
    if (full.empty() || !all_full)
      full_since.reset();
    else if (!full_since)
      full_since = now();
    const bool stays_full = full_since && now() - *full_since >= kFull;
    if (stays_full || now() >= deadline || link_.stopping())
      return full.empty() ? refusal(503, fmt::format("the chunk could not be stored: {}", why))
                          : refusal(507, std::move(full), "MemoryError");
    link_.wait_for_change(deadline);
  }
}

std::vector<std::string> ChunkTransfers::candidates(const TensorPlaces::Chunk& chunk) const {
  std::vector<std::string> workers = chunk.workers;
  const std::vector<std::string> there = link_.workers();
  // Those who send different chunks begin with different workers.
  for (std::size_t i = 0; i < there.size(); ++i) {
    const std::string& worker = there[(chunk.id.index + i) % there.size()];
    if (std::ranges::find(chunk.workers, worker) == chunk.workers.end()) workers.push_back(worker);
  }
  return workers;
}

std::optional<ChunkTransfers::Target> ChunkTransfers::target(engine::SessionId session,
                                                             const std::string& key,
                                                             std::size_t number, TimePoint deadline,
                                                             Answer& refused) {
  const Places places = destination(session, key, deadline, refused);
  if (!places) return std::nullopt;
  if (number >= places->chunks.size()) {
    refused = no_such_chunk(key, number, places->chunks.size());
    return std::nullopt;
  }
  engine::Meta meta = meta_of(*places, number);
  const auto bytes = item_bytes(meta);
  if (!bytes) {
    refused = refusal(413, "a chunk of this size cannot be sent at once");
    return std::nullopt;
  }
  return Target{places->chunks[number], std::move(meta), *bytes};
}

Answer ChunkTransfers::take(engine::SessionId session, const std::string& key, std::size_t number,
                            ClientMemory from) {
  const TimePoint deadline = now() + kPatience;
  Answer refused;
  const auto to = target(session, key, number, deadline, refused);
  if (!to) return refused;
  const Answer answer =
      deliver(to->chunk, kTakeTag,
              encode(TakeChunk{to->chunk.id, to->meta, to->bytes, std::move(from)}), deadline);
  if (answer.status == 200) bytes_up_ += to->bytes;
  return answer;
}

void ChunkTransfers::upload(net::HttpExchange& exchange, engine::SessionId session,
                            const std::string& key, std::size_t number) {
  const TimePoint deadline = now() + kPatience;
  Answer refused;
  const auto to = target(session, key, number, deadline, refused);
  if (!to) return send(exchange, refused);
  if (const auto length = exchange.body_length(); length && *length != to->bytes)
    return send(exchange, refusal(400, fmt::format("chunk {} of '{}' has {} bytes, but {} are sent",
                                                   number, key, to->bytes, *length)));
  const ByteGate::Pass pass = gate_.enter(to->bytes, deadline);
  if (!pass) return send(exchange, refusal(503, "too many uploads at the same time"));
  auto room = link_.allocate(kChunkHeader + to->bytes + kPutTrailer);
  if (!room) return send(exchange, refusal(503, room.error().message(), "MemoryError"));
  write_chunk_header(room->bytes.first<kChunkHeader>(), to->meta);
  if (std::string wrong = read_exactly(exchange, room->bytes.subspan(kChunkHeader, to->bytes));
      !wrong.empty())
    return send(exchange, refusal(400, std::move(wrong)));
  std::ranges::copy(put_trailer(to->chunk.id), room->bytes.last(kPutTrailer).begin());
  const auto body = comm::Body::bytes((*std::move(room)).freeze());
  const Answer answer = deliver(to->chunk, kPutTag, body, now() + kPatience);
  if (answer.status == 200) bytes_up_ += to->bytes;
  send(exchange, answer);
}

}  // namespace muster::service
