#include "muster/service/client/uploads.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "muster/service/client/parallel.h"
#include "muster/service/client/remote_stored.h"

namespace muster::service {

namespace {

using namespace std::chrono_literals;
using engine::Array;
using engine::Shape;
using nlohmann::json;

/// Fewer bytes are sent as quickly as one can say where they are.
constexpr std::size_t kWorthLooking = 64u << 10;

bool same_owner(const std::weak_ptr<const void>& a, const std::weak_ptr<const void>& b) {
  return !a.expired() && !a.owner_before(b) && !b.owner_before(a);
}

/// Whether a chunk is on no worker.
bool lacks_chunks(const json& tensor) {
  const auto chunks = tensor.find("chunks");
  if (chunks == tensor.end() || !chunks->is_array()) return true;
  return std::any_of(chunks->begin(), chunks->end(), [](const json& chunk) {
    return chunk.value("holders", json::array()).empty();
  });
}

}  // namespace

std::string Uploads::find(const Known& like) const {
  const std::scoped_lock lock(mutex_);
  for (const Known& known : known_)
    if (known.place == like.place && same_owner(known.owner, like.owner) &&
        known.meta == like.meta && known.strides == like.strides && known.splits == like.splits)
      return known.key;
  return "";
}

std::string Uploads::array(const Array& array, const engine::Splits& splits,
                           const std::stop_token& stop) {
  Known known{array.data(),    array.owner(), {array.dtype(), array.shape()},
              array.strides(), splits,        ""};
  if (std::string key = find(known); !key.empty()) return key;
  const Shape grid = engine::grid_of(splits);
  const auto chunk_of = [&](std::size_t number) {
    const Shape position = position_of(number, grid);
    return array.slice(engine::start_of(splits, position), engine::extents_at(splits, position));
  };
  return upload(std::move(known), chunk_of, stop);
}

std::string Uploads::stored(const std::shared_ptr<const engine::Stored>& stored,
                            const std::stop_token& stop) {
  const engine::Splits& splits = stored->splits();
  Known known{stored.get(), stored, {stored->dtype(), engine::shape_of(splits)}, {}, splits, ""};
  if (std::string key = find(known); !key.empty()) return key;
  return upload(std::move(known), [&](std::size_t number) { return stored->chunk(number); }, stop);
}

std::string Uploads::upload(Known known, const ChunkOf& chunk_of, const std::stop_token& stop) {
  known.key = connection_->fresh_name("u");
  try {
    send(known, chunk_of, stop);
  } catch (...) {
    connection_->release_later(known.key);
    throw;
  }
  const std::scoped_lock lock(mutex_);
  known_.push_back(known);
  return known.key;
}

void Uploads::send(const Known& known, const ChunkOf& chunk_of, const std::stop_token& stop) const {
  const std::string path = connection_->path(fmt::format("/tensors/{}", known.key));
  const json declared = connection_->web().send(
      "PUT", path, {{"dtype", engine::name(known.meta.dtype)}, {"splits", known.splits}}, stop);
  const bool near = declared.is_object() && declared.value("host", json()) == memory_host();
  const auto send_one = [&](std::size_t number, const std::stop_token& inner) {
    const Array plain = chunk_of(number).contiguous(connection_->memory());
    const std::string chunk = fmt::format("{}/chunks/{}", path, number);
    if (near && plain.nbytes() >= kWorthLooking && hand_over(chunk, plain, inner)) return;
    const std::array<ByteSpan, 1> body = {ByteSpan(plain.data(), plain.nbytes())};
    (void)connection_->web().call("PUT", chunk, body, inner, transfer_time(plain.nbytes()));
  };
  in_parallel(engine::chunk_count(known.splits), connections_, send_one, stop);
}

bool Uploads::hand_over(const std::string& path, const Array& plain,
                        const std::stop_token& stop) const {
  const ProcessMemory memory = proof_.memory();
  try {
    (void)connection_->web().send("POST", path,
                                  {{"host", memory_host()},
                                   {"pid", memory.pid},
                                   {"proof", memory.proof},
                                   {"proof_at", memory.proof_at},
                                   {"address", reinterpret_cast<std::uint64_t>(plain.data())}},
                                  stop);
    return true;
  } catch (const Refused&) {
    return false;
  }
}

void Uploads::forget_lost(const std::vector<std::string>& keys, const std::stop_token& stop) {
  for (const std::string& key : keys) {
    try {
      const std::string path = connection_->path(fmt::format("/tensors/{}", key));
      if (!lacks_chunks(connection_->web().get(path, stop))) continue;
    } catch (const Refused&) {  // the tensor is gone as a whole
    }
    connection_->release_later(key);
    const std::scoped_lock lock(mutex_);
    std::erase_if(known_, [&](const Known& known) { return known.key == key; });
  }
}

void Uploads::sweep() {
  const std::scoped_lock lock(mutex_);
  std::erase_if(known_, [&](const Known& known) {
    const bool gone = known.owner.expired();
    if (gone) connection_->release_later(known.key);
    return gone;
  });
}

}  // namespace muster::service
