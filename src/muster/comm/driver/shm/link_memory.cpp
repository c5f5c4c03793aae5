#include "muster/comm/driver/shm/link_memory.h"

#include <bit>
#include <new>

#include <fmt/format.h>

#include "muster/comm/errc.h"

namespace muster::comm::shm {
namespace {

constexpr std::uint32_t kMagic = 0x4C53'534D;  // "MSSL"
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kSlotsAt = kPage;
constexpr std::size_t kRingAt = 2 * kPage;
static_assert(kSlotsAt + kSlots <= kRingAt);
// More address space than this for one ring is a mistake or an attack.
constexpr std::size_t kLargestRing = std::size_t{1} << 30;

}  // namespace

struct LinkMemory::Header {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t ring_bytes;
  alignas(64) std::atomic<std::uint32_t> farewell;
  std::atomic<std::uint32_t> copy_please;
  RingIndices indices;
};

LinkMemory::Header& LinkMemory::header() const {
  static_assert(sizeof(Header) <= kPage);
  return *std::launder(reinterpret_cast<Header*>(mapping_.data()));
}

Result<LinkMemory> LinkMemory::create(std::size_t ring_bytes) {
  auto file = create_memory_file("muster-ring", kRingAt + ring_bytes);
  if (!file) return fail(file.error());
  auto mapping = Mapping::map_ring(file->get(), kRingAt, ring_bytes);
  if (!mapping) return fail(mapping.error());
  LinkMemory memory(*std::move(file), *std::move(mapping), ring_bytes);
  // The file is all zero: only what differs is written.
  Header& header = memory.header();
  header.magic = kMagic;
  header.version = kVersion;
  header.ring_bytes = ring_bytes;
  return memory;
}

Result<LinkMemory> LinkMemory::open(FileDescriptor file) {
  const auto bytes = memory_file_bytes(file.get());
  if (!bytes) return fail(bytes.error());
  if (*bytes < kRingAt + kPage || *bytes - kRingAt > kLargestRing ||
      !std::has_single_bit(*bytes - kRingAt)) {
    return fail(Errc::malformed, fmt::format("a link of {} bytes", *bytes));
  }
  const std::size_t ring_bytes = *bytes - kRingAt;
  auto mapping = Mapping::map_ring(file.get(), kRingAt, ring_bytes);
  if (!mapping) return fail(mapping.error());
  LinkMemory memory({}, *std::move(mapping), ring_bytes);
  const Header& header = memory.header();
  if (header.magic != kMagic) return fail(Errc::malformed, "no link: the magic is wrong");
  if (header.version != kVersion) {
    return fail(Errc::malformed, fmt::format("a link of version {}", header.version));
  }
  if (header.ring_bytes != ring_bytes) {
    return fail(Errc::malformed,
                fmt::format("a ring that says {} bytes and has {}", header.ring_bytes, ring_bytes));
  }
  return memory;
}

RingIndices& LinkMemory::indices() const { return header().indices; }

std::byte* LinkMemory::ring() const { return mapping_.data() + kRingAt; }

std::atomic<std::uint8_t>& LinkMemory::slot(std::uint32_t index) const {
  return *std::launder(
      reinterpret_cast<std::atomic<std::uint8_t>*>(mapping_.data() + kSlotsAt + index));
}

void LinkMemory::say(Farewell farewell) {
  header().farewell.store(static_cast<std::uint32_t>(farewell), std::memory_order_release);
}

Farewell LinkMemory::farewell() const {
  const std::uint32_t said = header().farewell.load(std::memory_order_acquire);
  return said <= static_cast<std::uint32_t>(Farewell::forgetting) ? static_cast<Farewell>(said)
                                                                  : Farewell::none;
}

std::atomic<std::uint32_t>& LinkMemory::copy_please() const { return header().copy_please; }

}  // namespace muster::comm::shm
