#include "muster/engine/schedule/journal.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/wire/byte_reader.h"
#include "muster/engine/wire/byte_writer.h"

namespace muster::engine {
namespace {

constexpr std::size_t kHeader = 8;

// FNV-1a: torn and zeroed tails are what it has to find, not forgeries.
std::uint32_t checksum(ByteSpan bytes) {
  std::uint32_t hash = 2166136261u;
  for (const std::byte b : bytes) hash = (hash ^ std::to_integer<std::uint32_t>(b)) * 16777619u;
  return hash;
}

// The fields of each event, once for both directions.
template <class Archive, class T>
void fields(Archive& archive, T& item) {
  using E = std::remove_const_t<T>;
  if constexpr (std::is_same_v<E, TaskSpec>)
    archive(item.inputs, item.output_bytes, item.operator_name, item.external, item.scatter,
            item.repeatable);
  else if constexpr (std::is_same_v<E, GraphSubmitted>)
    archive(item.session, item.graph, item.operator_names, item.tasks, item.wanted, item.last);
  else if constexpr (std::is_same_v<E, HeldChunk>)
    archive(item.chunk, item.bytes);
  else if constexpr (std::is_same_v<E, RunningTask>)
    archive(item.task, item.attempt);
  else if constexpr (std::is_same_v<E, TaskId> || std::is_same_v<E, ChunkId>)
    archive(item.session, item.index);
  else if constexpr (std::is_same_v<E, WorkerJoined>)
    archive(item.worker, item.threads, item.memory, item.held, item.running);
  else if constexpr (std::is_same_v<E, WorkerLeaving>)
    archive(item.worker);
  else if constexpr (std::is_same_v<E, WorkerLost>)
    archive(item.worker, item.crashed);
  else if constexpr (std::is_same_v<E, WorkerSilent>)
    archive(item.worker, item.silent);
  else if constexpr (std::is_same_v<E, TaskStarted>)
    archive(item.worker, item.task, item.attempt);
  else if constexpr (std::is_same_v<E, TaskFinished>)
    archive(item.worker, item.task, item.attempt, item.output_bytes, item.took);
  else if constexpr (std::is_same_v<E, TaskFailed>)
    archive(item.worker, item.task, item.attempt, item.fault, item.message, item.missing);
  else if constexpr (std::is_same_v<E, ChunksCopied> || std::is_same_v<E, ChunksLost>)
    archive(item.worker, item.chunks);
  else if constexpr (std::is_same_v<E, ChunksReleased>)
    archive(item.session, item.graph, item.chunks);
  else if constexpr (std::is_same_v<E, GraphCancelled>)
    archive(item.session, item.graph);
  else if constexpr (std::is_same_v<E, SessionClosed>)
    archive(item.session);
  else if constexpr (std::is_same_v<E, MemoryReported>)
    archive(item.worker, item.spilled);
  else
    static_assert(std::is_same_v<E, TimePassed>, "an event without fields here");
}

class Writer {
 public:
  template <class... Items>
  void operator()(const Items&... items) {
    (write(items), ...);
  }
  [[nodiscard]] std::vector<std::byte> take() { return bytes_.take(); }

 private:
  template <class T>
  void write(const T& item) {
    if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>)
      bytes_.number(static_cast<std::uint8_t>(item));
    else if constexpr (std::is_arithmetic_v<T>)
      bytes_.number(item);
    else
      fields(*this, item);
  }
  template <class Tag, class Rep>
  void write(const StrongId<Tag, Rep>& id) {
    bytes_.number(id.value());
  }
  void write(const std::string& text) {
    // The reader refuses longer texts.
    bytes_.text(std::string_view(text).substr(0, 64 * 1024));
  }
  template <class T>
  void write(const std::vector<T>& items) {
    bytes_.count(items.size());
    for (const T& item : items) write(item);
  }

  ByteWriter bytes_;
};

class Reader {
 public:
  explicit Reader(ByteSpan bytes) : bytes_(bytes) {}

  template <class... Items>
  void operator()(Items&... items) {
    (read(items), ...);
  }
  ByteReader& bytes() { return bytes_; }

 private:
  template <class T>
  void read(T& item) {
    if constexpr (std::is_same_v<T, TaskFault>) {
      const auto number = bytes_.number<std::uint8_t>();
      if (number > static_cast<std::uint8_t>(TaskFault::inputs_missing))
        bytes_.refuse(fmt::format("{} is no kind of failure", number));
      item = static_cast<TaskFault>(number);
    } else if constexpr (std::is_same_v<T, bool>) {
      item = bytes_.number<std::uint8_t>() != 0;
    } else if constexpr (std::is_arithmetic_v<T>) {
      item = bytes_.number<T>();
    } else {
      fields(*this, item);
    }
  }
  template <class Tag, class Rep>
  void read(StrongId<Tag, Rep>& id) {
    id = StrongId<Tag, Rep>(bytes_.number<Rep>());
  }
  void read(std::string& text) { text = bytes_.text(); }
  template <class T>
  void read(std::vector<T>& items) {
    items.resize(bytes_.count(std::is_arithmetic_v<T> ? sizeof(T) : 4));
    for (T& item : items) read(item);
  }

  ByteReader bytes_;
};

template <std::size_t kKind = 0>
void read_event(Reader& reader, std::size_t kind, ScheduleEvent& event) {
  if constexpr (kKind < std::variant_size_v<ScheduleEvent>) {
    if (kind == kKind) return fields(reader, event.emplace<kKind>());
    read_event<kKind + 1>(reader, kind, event);
  } else {
    reader.bytes().refuse(fmt::format("{} is no kind of event", kind));
  }
}

}  // namespace

std::vector<std::byte> encode(const JournalRecord& record) {
  Writer body;
  body(record.now, static_cast<std::uint8_t>(record.event.index()));
  std::visit([&](const auto& event) { fields(body, event); }, record.event);
  const std::vector<std::byte> bytes = body.take();
  ByteWriter whole;
  whole.count(bytes.size());
  whole.number(checksum(bytes));
  whole.raw(bytes);
  return whole.take();
}

std::optional<JournalRecord> JournalReader::next() {
  if (bytes_.size() - at_ < kHeader) return std::nullopt;
  ByteReader header(bytes_.subspan(at_, kHeader));
  const std::size_t length = header.number<std::uint32_t>();
  const auto sum = header.number<std::uint32_t>();
  if (length > bytes_.size() - at_ - kHeader) return std::nullopt;
  const ByteSpan body = bytes_.subspan(at_ + kHeader, length);
  if (length == 0 || checksum(body) != sum) return std::nullopt;
  Reader reader(body);
  JournalRecord record;
  reader(record.now);
  read_event(reader, reader.bytes().number<std::uint8_t>(), record.event);
  if (reader.bytes().left() > 0)
    reader.bytes().refuse(fmt::format("{} bytes after the event", reader.bytes().left()));
  at_ += kHeader + length;
  return record;
}

}  // namespace muster::engine
