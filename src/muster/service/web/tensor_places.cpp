#include "muster/service/web/tensor_places.h"

namespace muster::service {

namespace {

using nlohmann::json;

bool read_chunk(engine::SessionId session, const json& from, TensorPlaces::Chunk& chunk) {
  const auto index = from.find("chunk");
  if (index == from.end() || !index->is_number_unsigned() ||
      index->get<std::uint64_t>() > UINT32_MAX)
    return false;
  chunk.id = {session, index->get<std::uint32_t>()};
  if (const auto worker = from.find("worker"); worker != from.end() && worker->is_string())
    chunk.workers.push_back(worker->get<std::string>());
  if (const auto holders = from.find("holders"); holders != from.end() && holders->is_array())
    for (const json& holder : *holders)
      if (holder.is_string()) chunk.workers.push_back(holder.get<std::string>());
  const auto lost = from.find("lost");
  chunk.lost = lost != from.end() && lost->is_boolean() && lost->get<bool>();
  return true;
}

bool read_splits(const json& from, engine::Splits& splits) {
  if (!from.is_array()) return false;
  for (const json& axis : from) {
    if (!axis.is_array()) return false;
    std::vector<engine::Index>& extents = splits.emplace_back();
    for (const json& extent : axis) {
      if (!extent.is_number_integer() || extent.get<engine::Index>() < 0) return false;
      extents.push_back(extent.get<engine::Index>());
    }
  }
  return true;
}

}  // namespace

std::shared_ptr<const TensorPlaces> read_places(engine::SessionId session, const json& answer) {
  auto places = std::make_shared<TensorPlaces>();
  if (!answer.is_object()) return nullptr;
  const auto dtype = answer.find("dtype");
  const auto splits = answer.find("splits");
  const auto chunks = answer.find("chunks");
  if (dtype == answer.end() || !dtype->is_string() || splits == answer.end() ||
      chunks == answer.end() || !chunks->is_array())
    return nullptr;
  const auto known = engine::dtype_named(dtype->get<std::string>());
  if (!known || !read_splits(*splits, places->splits)) return nullptr;
  places->dtype = *known;
  for (const json& each : *chunks)
    if (!read_chunk(session, each, places->chunks.emplace_back())) return nullptr;
  if (places->chunks.size() != engine::chunk_count(places->splits)) return nullptr;
  places->learned = std::chrono::steady_clock::now();
  return places;
}

std::size_t TensorPlaces::footprint() const {
  // Short strings lie in themselves.
  constexpr std::size_t kInPlace = 15;
  std::size_t bytes = sizeof *this + chunks.capacity() * sizeof(Chunk);
  for (const auto& axis : splits) bytes += sizeof axis + axis.capacity() * sizeof axis.front();
  for (const Chunk& chunk : chunks) {
    bytes += chunk.workers.capacity() * sizeof(std::string);
    for (const std::string& worker : chunk.workers)
      bytes += worker.capacity() > kInPlace ? worker.capacity() + 1 : 0;
  }
  return bytes;
}

PlacesCache::Places PlacesCache::find(engine::SessionId session, const std::string& key,
                                      TimePoint since) const {
  const std::scoped_lock lock(mutex_);
  const auto found = places_.find({session, key});
  if (found == places_.end() || found->second.places->learned < since) return nullptr;
  return found->second.places;
}

void PlacesCache::keep(engine::SessionId session, const std::string& key, Places places) {
  const std::size_t bytes =
      places->footprint() + sizeof(Map::value_type) + sizeof(Ages::value_type) + 2 * key.size();
  const std::scoped_lock lock(mutex_);
  if (const auto before = places_.find({session, key}); before != places_.end()) drop(before);
  while (!places_.empty() && bytes_ + bytes > most_) drop(places_.find(by_age_.begin()->second));
  by_age_.insert({places->learned, {session, key}});
  places_.insert_or_assign({session, key}, Kept{std::move(places), bytes});
  bytes_ += bytes;
}

PlacesCache::Map::iterator PlacesCache::drop(Map::iterator which) {
  bytes_ -= which->second.bytes;
  by_age_.erase({which->second.places->learned, which->first});
  return places_.erase(which);
}

void PlacesCache::forget(engine::SessionId session, const std::vector<std::string>& keys) {
  const std::scoped_lock lock(mutex_);
  for (const std::string& key : keys)
    if (const auto found = places_.find({session, key}); found != places_.end()) drop(found);
}

void PlacesCache::forget(engine::SessionId session) {
  const std::scoped_lock lock(mutex_);
  for (auto at = places_.lower_bound({session, ""});
       at != places_.end() && at->first.first == session;)
    at = drop(at);
}

std::size_t PlacesCache::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

}  // namespace muster::service
