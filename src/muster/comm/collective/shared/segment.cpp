#include "muster/comm/collective/shared/segment.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/comm/errc.h"
#include "muster/runtime/mapping.h"
#include "muster/runtime/poll.h"
#include "muster/runtime/unix_socket.h"

namespace muster::comm::collective::shared {
namespace {

constexpr std::size_t pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

constexpr std::size_t kHeaderBytes = pages(sizeof(Header));
constexpr std::size_t kControlBytes = pages(sizeof(RankControl));
constexpr std::size_t kStagingPages = pages(kStagingBytes);  // of one rank in one channel
static_assert(kPackedStart % kPage == 0);

std::size_t control_start(int rank) {
  return kHeaderBytes + static_cast<std::size_t>(rank) * kControlBytes;
}

std::size_t staging_start(int ranks, int rank, std::size_t channel) {
  return control_start(ranks) +
         (static_cast<std::size_t>(rank) * kChannels + channel) * kStagingPages;
}

std::size_t arena_start(int ranks, int rank, std::size_t arena_bytes) {
  return staging_start(ranks, ranks, 0) + static_cast<std::size_t>(rank) * arena_bytes;
}

// No rank can have more than the machine, and the arenas of all must fit into each one's addresses.
std::size_t arena_size(int ranks) {
  constexpr std::size_t kAddresses = std::size_t{1} << 46;
  const auto count = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
  const std::size_t memory = count * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return pages(std::min(memory, kAddresses / static_cast<std::size_t>(ranks)));
}

Result<std::size_t> sealed_size(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  struct stat status{};
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(fd, &status) != 0)
    return fail(Errc::malformed, "the group's memory is not a sealed memory file");
  return static_cast<std::size_t>(status.st_size);
}

bool wants_to_lend() {
  const char* const set = std::getenv("MUSTER_LEND");
  const std::string_view wanted = set == nullptr ? "" : set;
  if (wanted.empty() || wanted == "1") return true;
  if (wanted != "0")
    log(LogLevel::warning, "comm", "MUSTER_LEND is '{}' and should be 0 or 1: taken for 0", wanted);
  return false;
}

}  // namespace

Result<FileDescriptor> Segment::create(int ranks) {
  if (ranks < 1 || static_cast<std::size_t>(ranks) > kMostRanks)
    return fail(Errc::group_full,
                fmt::format("{} ranks cannot share memory; at most {} can", ranks, kMostRanks));
  FileDescriptor fd(::memfd_create("muster-group", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return fail(system_error(errno, "memfd_create"));
  const std::size_t arena_bytes = arena_size(ranks);
  const std::size_t size = arena_start(ranks, ranks, arena_bytes);
  if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
    return fail(system_error(errno, fmt::format("make shared memory of {} bytes", size)));
  if (auto ok = reserve_memory(fd.get(), 0, control_start(ranks)); !ok) return fail(ok.error());
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail(system_error(errno, "seal shared memory"));
  void* const first =
      ::mmap(nullptr, kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (first == MAP_FAILED) return fail(system_error(errno, "map shared memory"));
  auto* const header = static_cast<Header*>(first);
  header->ranks = static_cast<std::uint32_t>(ranks);
  header->step_bytes = kStepBytes;
  header->arena_bytes = arena_bytes;
  header->magic = kMagic;
  ::munmap(first, kHeaderBytes);
  return fd;
}

Result<std::shared_ptr<Segment>> Segment::map(FileDescriptor fd, int rank, int ranks,
                                              std::shared_ptr<const Segment> beside) {
  std::shared_ptr<Segment> segment(new Segment(std::move(fd), rank, ranks, std::move(beside)));
  if (auto ok = segment->map_all(); !ok) return fail(ok.error());
  if (auto ok = segment->reserve_staging(0); !ok) return fail(ok.error());
  return segment;
}

Result<void> Segment::map_all() {
  mapped_ = staging_start(ranks_, ranks_, 0);
  const auto size = sealed_size(fd_.get());
  if (!size) return fail(size.error());
  if (*size < mapped_) return fail(Errc::malformed, "the group's memory is too small");
  void* const at =
      beside_ ? beside_->base_
              : ::mmap(nullptr, mapped_, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
  if (at == MAP_FAILED)
    return fail(system_error(errno, fmt::format("map {} bytes of shared memory", mapped_)));
  base_ = static_cast<std::byte*>(at);
  header_ = reinterpret_cast<Header*>(base_);
  if (header_->magic != kMagic || header_->ranks != static_cast<std::uint32_t>(ranks_) ||
      header_->step_bytes != kStepBytes ||
      *size != arena_start(ranks_, ranks_, header_->arena_bytes))
    return fail(Errc::malformed,
                "the group's memory has another layout; is Muster's version the same?");
  const auto writable = [&](std::size_t offset, std::size_t bytes) {
    return ::mprotect(base_ + offset, bytes, PROT_READ | PROT_WRITE) == 0;
  };
  if (!writable(0, kHeaderBytes) || !writable(control_start(rank_), kControlBytes) ||
      !writable(staging_start(ranks_, rank_, 0), kChannels * kStagingPages))
    return fail(system_error(errno, "write to shared memory"));
  control(rank_).owner = proof_.memory();
  control(rank_).stage = Stage::here;
  arenas_ = std::vector<std::atomic<std::byte*>>(static_cast<std::size_t>(ranks_));
  free_.push_back({0, header_->arena_bytes});
  return {};
}

Segment::~Segment() {
  if (base_ == nullptr) return;
  for (const auto& arena : arenas_)
    if (arena != nullptr) ::munmap(arena, header_->arena_bytes);
  if (!beside_) ::munmap(base_, mapped_);
}

RankControl& Segment::control(int rank) const {
  return *reinterpret_cast<RankControl*>(base_ + control_start(rank));
}

std::vector<int> Segment::missing(Stage stage) const {
  std::vector<int> missing;
  for (int rank = 0; rank < ranks_; ++rank)
    if (control(rank).stage.load() < stage) missing.push_back(rank);
  return missing;
}

void Segment::try_reading() {
  bool can = wants_to_lend();
  for (int rank = 0; rank < ranks_ && can; ++rank)
    can = rank == rank_ || read(rank, control(rank).owner.proof_at, {}).has_value();
  if (!can) header_->cannot_read = 1;
  control(rank_).stage = Stage::tried;
}

bool Segment::ranks_can_read_each_other() const { return header_->cannot_read.load() == 0; }

Result<void> Segment::read(int rank, std::uint64_t address, std::span<std::byte> into) const {
  auto read = read_memory(control(rank).owner, address, into);
  if (!read) return fail(read.error().within(fmt::format("rank {}", rank)));
  return read;
}

bool Segment::has_ended(int rank) const {
  const auto pid = static_cast<pid_t>(control(rank).owner.pid);
  const auto process = watch_process(pid);
  if (!process) return ::kill(pid, 0) != 0 && errno == ESRCH;
  std::vector<pollfd> slot{{process->get(), POLLIN, 0}};
  return poll_until(slot, std::chrono::steady_clock::now()) && slot.front().revents != 0;
}

std::byte* Segment::staging(int rank, std::size_t channel) const {
  return base_ + staging_start(ranks_, rank, channel);
}

Result<void> Segment::reserve_staging(std::size_t channel) {
  const std::lock_guard lock(mutex_);
  if (reserved_[channel]) return {};
  const std::size_t start = staging_start(ranks_, rank_, channel);
  if (auto ok = reserve_memory(fd_.get(), start, kStagingPages); !ok) return ok;
  // Where it looks for what others give packed, perhaps before they have come here.
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::size_t packed = staging_start(ranks_, rank, channel) + kPackedStart;
    if (auto ok = reserve_memory(fd_.get(), packed, kStagingPages - kPackedStart); !ok) return ok;
  }
  reserved_[channel] = true;
  return {};
}

Result<std::byte*> Segment::map_arena(int rank) {
  auto& slot = arenas_[static_cast<std::size_t>(rank)];
  if (std::byte* const there = slot.load(std::memory_order_acquire)) return there;
  const std::lock_guard lock(mutex_);
  if (std::byte* const there = slot.load(std::memory_order_relaxed)) return there;
  const int access = rank == rank_ ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const at =
      ::mmap(nullptr, header_->arena_bytes, access, MAP_SHARED | MAP_NORESERVE, fd_.get(),
             static_cast<off_t>(arena_start(ranks_, rank, header_->arena_bytes)));
  if (at == MAP_FAILED) return fail(system_error(errno, "map a rank's arena"));
  slot.store(static_cast<std::byte*>(at), std::memory_order_release);
  return static_cast<std::byte*>(at);
}

Result<WritableBuffer> Segment::allocate(std::size_t bytes) {
  const auto too_much = [&] {
    return fail(system_error(ENOMEM, fmt::format("allocate {} bytes of shared memory", bytes)));
  };
  if (bytes > header_->arena_bytes) return too_much();  // rounded to pages, it may not fit a word
  const std::size_t needed = pages(std::max<std::size_t>(bytes, 1));
  auto base = map_arena(rank_);
  if (!base) return fail(base.error());
  std::size_t offset = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto hole = std::find_if(free_.begin(), free_.end(),
                                   [&](const Free& free) { return free.bytes >= needed; });
    if (hole == free_.end()) return too_much();
    offset = hole->offset;
    hole->offset += needed;
    hole->bytes -= needed;
    if (hole->bytes == 0) free_.erase(hole);
  }
  const std::size_t start = arena_start(ranks_, rank_, header_->arena_bytes);
  if (auto ok = reserve_memory(fd_.get(), start + offset, needed); !ok) {
    release(offset, needed);
    return fail(ok.error());
  }
  // The owner keeps the mapping, which may outlive the group.
  std::shared_ptr<void> owner(*base + offset, [segment = shared_from_this(), offset, needed](
                                                  void*) { segment->release(offset, needed); });
  return WritableBuffer{{*base + offset, bytes}, std::move(owner)};
}

void Segment::release(std::size_t offset, std::size_t bytes) {
  if (fork_generation_ != fork_generation()) return;
  // Gives the pages back, so that the next owner finds zeroes.
  ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(arena_start(ranks_, rank_, header_->arena_bytes) + offset),
              static_cast<off_t>(bytes));
  const std::lock_guard lock(mutex_);
  auto next = std::find_if(free_.begin(), free_.end(),
                           [&](const Free& free) { return free.offset > offset; });
  if (next != free_.end() && offset + bytes == next->offset) {
    next->offset = offset;
    next->bytes += bytes;
  } else {
    next = free_.insert(next, {offset, bytes});
  }
  if (next == free_.begin()) return;
  const auto before = next - 1;
  if (before->offset + before->bytes != next->offset) return;
  before->bytes += next->bytes;
  free_.erase(next);
}

std::optional<std::uint64_t> Segment::arena_offset(const std::byte* data, std::size_t bytes) const {
  const std::byte* const base =
      arenas_[static_cast<std::size_t>(rank_)].load(std::memory_order_acquire);
  if (base == nullptr || data < base || data + bytes > base + header_->arena_bytes)
    return std::nullopt;
  return static_cast<std::uint64_t>(data - base);
}

const std::byte* Segment::arena(int rank, std::uint64_t offset, std::size_t bytes) {
  const std::uint64_t all = header_->arena_bytes;
  if (offset > all || bytes > all - offset)
    throw std::runtime_error(
        fmt::format("rank {} gives {} bytes that do not lie in its memory", rank, bytes));
  const auto base = map_arena(rank);
  if (!base) throw std::runtime_error(base.error().message());
  return *base + offset;
}

}  // namespace muster::comm::collective::shared
