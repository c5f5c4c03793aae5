#include "muster/service/scheduler/records.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/schedule/scheduler.h"
#include "muster/engine/wire/byte_reader.h"
#include "muster/engine/wire/byte_writer.h"
#include "muster/engine/wire/values.h"

namespace muster::service {
namespace {

using engine::ByteReader;
using engine::ByteWriter;

constexpr std::uint8_t kEvent = 0;  ///< the kinds of ServiceRecord follow
constexpr std::size_t kHeader = 1 + 8 + 4;
// The reader refuses longer texts.
constexpr std::size_t kLongestText = 64 * 1024;

// As in engine/schedule/journal.cpp: torn and zeroed tails are what it has to find. Eight bytes at
// a time, because bodies and graphs are long.
std::uint32_t checksum(ByteSpan bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    hash = (hash ^ word) * 0x100000001b3ull;
    hash ^= hash >> 29;
  }
  for (; at < bytes.size(); ++at)
    hash = (hash ^ std::to_integer<std::uint64_t>(bytes[at])) * 0x100000001b3ull;
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

// The fields of each record, once for both directions.
template <class Archive, class T>
void fields(Archive& archive, T& item) {
  using R = std::remove_const_t<T>;
  if constexpr (std::is_same_v<R, LifeBegan>)
    archive(item.epoch, item.first_epoch, item.next_session, item.next_worker);
  else if constexpr (std::is_same_v<R, WorkerNamed>)
    archive(item.worker, item.name, item.host, item.metrics, item.pid);
  else if constexpr (std::is_same_v<R, SessionOpened>)
    archive(item.session, item.name, item.timeout, item.trusted);
  else if constexpr (std::is_same_v<R, SessionEnded>)
    archive(item.session);
  else if constexpr (std::is_same_v<R, ExecutionSubmitted>)
    archive(item.session, item.execution, item.keys, item.options, item.graph);
  else if constexpr (std::is_same_v<R, StageSubmitted>)
    archive(item.session, item.graph, item.execution, item.bodies, item.body_of, item.first_output,
            item.step);
  else if constexpr (std::is_same_v<R, engine::TaskId>)
    archive(item.session, item.index);
  else if constexpr (std::is_same_v<R, ShapesLearned>)
    archive(item.task, item.shapes);
  else if constexpr (std::is_same_v<R, TensorPlace>)
    archive(item.key, item.graph, item.dtype, item.splits, item.chunks);
  else if constexpr (std::is_same_v<R, LastSubmitted>)
    archive(item.session, item.execution, item.results);
  else if constexpr (std::is_same_v<R, ExecutionEnded>)
    archive(item.session, item.execution, item.state, item.kind, item.error);
  else if constexpr (std::is_same_v<R, TensorKept>)
    archive(item.session, item.tensor);
  else if constexpr (std::is_same_v<R, SchedulerSaved>)
    archive(item.now, item.snapshot);
  else if constexpr (std::is_same_v<R, TasksSaved>)
    archive(item.session, item.bodies, item.body_of, item.first_output, item.step);
  else if constexpr (std::is_same_v<R, ExecutionSaved>)
    archive(item.session, item.execution, item.graph, item.ranges);
  else {
    static_assert(std::is_same_v<R, TensorReleased>, "a record without fields here");
    archive(item.session, item.key);
  }
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
    if constexpr (std::is_same_v<T, bool>)
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
    bytes_.text(std::string_view(text).substr(0, kLongestText));
  }
  void write(const Buffer& buffer) {
    bytes_.number(static_cast<std::uint64_t>(buffer.size()));
    bytes_.raw(buffer.bytes());
  }
  void write(const engine::DType& dtype) { write_meta(bytes_, {dtype, {}}); }
  template <class T>
  void write(const std::vector<T>& items) {
    bytes_.count(items.size());
    if constexpr (std::is_arithmetic_v<T>)
      bytes_.raw(std::as_bytes(std::span(items)));
    else
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
    if constexpr (std::is_same_v<T, bool>)
      item = bytes_.number<std::uint8_t>() != 0;
    else if constexpr (std::is_arithmetic_v<T>)
      item = bytes_.number<T>();
    else
      fields(*this, item);
  }
  template <class Tag, class Rep>
  void read(StrongId<Tag, Rep>& id) {
    id = StrongId<Tag, Rep>(bytes_.number<Rep>());
  }
  void read(std::string& text) { text = bytes_.text(); }
  void read(Buffer& buffer) {
    const auto length = bytes_.number<std::uint64_t>();
    if (length > bytes_.left()) bytes_.refuse(fmt::format("a buffer of {} bytes", length));
    buffer = Buffer::copy_of(bytes_.raw(static_cast<std::size_t>(length)));
  }
  void read(engine::DType& dtype) { dtype = engine::read_meta(bytes_).dtype; }
  template <class T>
  void read(std::vector<T>& items) {
    if constexpr (std::is_arithmetic_v<T>) {
      items.resize(bytes_.count(sizeof(T)));
      const ByteSpan raw = bytes_.raw(items.size() * sizeof(T));
      if (!raw.empty()) std::memcpy(items.data(), raw.data(), raw.size());
    } else {
      items.resize(bytes_.count(4));
      for (T& item : items) read(item);
    }
  }

  ByteReader bytes_;
};

template <std::size_t kKind = 0>
void read_record(Reader& reader, std::size_t kind, ServiceRecord& record) {
  if constexpr (kKind < std::variant_size_v<ServiceRecord>) {
    if (kind == kKind) return fields(reader, record.emplace<kKind>());
    read_record<kKind + 1>(reader, kind, record);
  } else {
    reader.bytes().refuse(fmt::format("{} is no kind of record", kind));
  }
}

// One more whenever a record changes its meaning, but not its size.
constexpr std::uint64_t kMeaning = 1;

template <class... Kinds>
std::uint64_t sizes_of(std::uint64_t hash, const std::variant<Kinds...>* /*kinds*/) {
  ((hash = hash * 1099511628211ull + sizeof(Kinds)), ...);
  return hash;
}

}  // namespace

std::uint64_t entry_layout() {
  const std::uint64_t hash = kMeaning * 1099511628211ull + engine::Scheduler::snapshot_layout();
  return sizes_of(sizes_of(hash, static_cast<const engine::ScheduleEvent*>(nullptr)),
                  static_cast<const ServiceRecord*>(nullptr));
}

std::vector<std::byte> encode_entry(const engine::JournalRecord& record) {
  std::vector<std::byte> bytes = engine::encode(record);
  bytes.insert(bytes.begin(), std::byte{kEvent});
  return bytes;
}

std::vector<std::byte> encode_entry(const ServiceRecord& record) {
  Writer fields_of;
  std::visit([&](const auto& each) { fields(fields_of, each); }, record);
  const std::vector<std::byte> payload = fields_of.take();
  ByteWriter out;
  out.number(static_cast<std::uint8_t>(record.index() + 1));
  out.number(static_cast<std::uint64_t>(payload.size()));
  out.number(checksum(payload));
  out.raw(payload);
  return out.take();
}

std::optional<JournalEntry> EntryReader::next() {
  const ByteSpan left = bytes_.subspan(at_);
  if (left.size() < kHeader) return std::nullopt;
  const auto kind = std::to_integer<std::uint8_t>(left[0]);
  if (kind == kEvent) {
    engine::JournalReader reader(left.subspan(1));
    auto record = reader.next();
    if (!record) return std::nullopt;
    at_ += 1 + reader.good();
    return JournalEntry(std::move(*record));
  }
  ByteReader header(left.subspan(1, kHeader - 1));
  const auto length = header.number<std::uint64_t>();
  const auto expected = header.number<std::uint32_t>();
  if (length > left.size() - kHeader) return std::nullopt;
  const ByteSpan payload = left.subspan(kHeader, length);
  if (checksum(payload) != expected) return std::nullopt;
  ServiceRecord record;
  Reader reader(payload);
  read_record(reader, kind - 1u, record);
  at_ += kHeader + length;
  return JournalEntry(std::move(record));
}

}  // namespace muster::service
