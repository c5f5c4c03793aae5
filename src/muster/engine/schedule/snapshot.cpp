#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/schedule/scheduler.h"

// The tables as they lie in memory: a snapshot is for the next life of the same program on the same
// kind of machine, and is as large as a journal gets, so it is copied, not translated.

namespace muster::engine {
namespace {

// One more whenever a table changes its meaning, but not its size.
constexpr std::uint64_t kVersion = 2;

/// What both directions share: how structures are made of parts.
template <class Self>
class Archive {
 public:
  template <class... Parts>
  void operator()(Parts&... parts) {
    (self().part(parts), ...);
  }

 protected:
  Self& self() { return static_cast<Self&>(*this); }

  template <class T>
  void structure(T& item) {
    if constexpr (requires { item.archive(self()); })
      item.archive(self());
    else if constexpr (std::is_same_v<T, Lane>)
      (*this)(item.session, item.heap);
    else if constexpr (std::is_same_v<T, WorkerState>)
      (*this)(item.health, item.dirty, item.released, item.threads, item.budget, item.held,
              item.spilled, item.promised, item.first_copy, item.first_attempt, item.last_attempt,
              item.attempts, item.lanes);
    else if constexpr (std::is_same_v<T, OperatorState>)
      (*this)(item.name, item.measured, item.total);
    else if constexpr (std::is_same_v<T, GraphState>)
      (*this)(item.wanted, item.ranges, item.missing, item.tasks, item.done, item.total, item.bytes,
              item.open, item.ended, item.told);
    else {
      static_assert(std::is_same_v<T, SessionState>, "a structure without parts here");
      (*this)(item.id, item.tasks, item.chunks, item.edges, item.graphs, item.unfinished,
              item.operators, item.operator_index, item.deaths, item.next_priority, item.attempts);
    }
  }
};

class Writer : public Archive<Writer> {
 public:
  template <class T>
  void part(T& item) {
    if constexpr (std::is_trivially_copyable_v<T>)
      items(std::span<T>(&item, 1));
    else
      structure(item);
  }
  void part(std::string& text) {
    length(text.size());
    items(std::span<char>(text));
  }
  template <class T>
  void part(std::vector<T>& all) {
    length(all.size());
    if constexpr (std::is_trivially_copyable_v<T>)
      items(std::span<T>(all));
    else
      for (T& each : all) part(each);
  }
  template <class Key, class Value, class Less>
  void part(std::map<Key, Value, Less>& all) {
    length(all.size());
    for (auto& [key, value] : all) {
      Key copy = key;
      part(copy);
      part(value);
    }
  }
  template <class T>
  void items(std::span<T> all) {
    const auto bytes = std::as_bytes(all);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void length(std::uint64_t count) { part(count); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader : public Archive<Reader> {
 public:
  explicit Reader(ByteSpan bytes) : bytes_(bytes) {}

  template <class T>
  void part(T& item) {
    if constexpr (std::is_trivially_copyable_v<T>)
      items(std::span<T>(&item, 1));
    else
      structure(item);
  }
  void part(std::string& text) {
    text.resize(length());
    items(std::span<char>(text));
  }
  template <class T>
  void part(std::vector<T>& all) {
    all.clear();
    all.resize(length());
    if constexpr (std::is_trivially_copyable_v<T>)
      items(std::span<T>(all));
    else
      for (T& each : all) part(each);
  }
  template <class Key, class Value, class Less>
  void part(std::map<Key, Value, Less>& all) {
    all.clear();
    for (std::uint64_t left = length(); left > 0; --left) {
      Key key{};
      part(key);
      part(all[key]);
    }
  }
  template <class T>
  void items(std::span<T> all) {
    const std::size_t size = all.size_bytes();
    if (size > bytes_.size()) refuse();
    if (size > 0) std::memcpy(all.data(), bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }
  /// Every item takes a byte at least.
  std::size_t length() {
    std::uint64_t count = 0;
    part(count);
    if (count > bytes_.size()) refuse();
    return static_cast<std::size_t>(count);
  }
  void expect_end() const {
    if (!bytes_.empty()) refuse();
  }

 private:
  [[noreturn]] static void refuse() {
    wrong_value("this is no snapshot of a scheduler, or only a part of one");
  }

  ByteSpan bytes_;
};

}  // namespace

template <class ArchiveT>
void Scheduler::archive(ArchiveT& through) {
  through(sessions_, workers_, ready_, well_, nowhere_, nowhere_ready_, copies_, attempts_, hungry_,
          total_ready_, overfull_, rests_, next_attempt_, next_worker_, mean_, now_);
}

std::uint64_t Scheduler::snapshot_layout() {
  std::uint64_t hash = kVersion;
  for (const std::size_t size : {sizeof(TaskState), sizeof(ChunkState), sizeof(EdgeState),
                                 sizeof(CopyState), sizeof(AttemptState), sizeof(WorkerState),
                                 sizeof(GraphState), sizeof(SessionState), sizeof(RestState)})
    hash = hash * 1099511628211ull + size;
  return hash;
}

std::vector<std::byte> Scheduler::snapshot() const {
  Writer writer;
  std::uint64_t stamp = snapshot_layout();
  writer.part(stamp);
  const_cast<Scheduler*>(this)->archive(writer);  // NOLINT: the writer changes nothing
  return writer.take();
}

void Scheduler::restore(ByteSpan bytes) {
  Reader reader(bytes);
  std::uint64_t stamp = 0;
  reader.part(stamp);
  if (stamp != snapshot_layout())
    wrong_value("this snapshot was made by another version of the program");
  archive(reader);
  reader.expect_end();
  have_.assign(workers_.size(), 0);
}

}  // namespace muster::engine
