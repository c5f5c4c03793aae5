#include "muster/engine/storage/spill_pool.h"

#include <algorithm>
#include <cerrno>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/storage/errc.h"
#include "muster/engine/storage/lane_choice.h"

namespace muster::engine {
namespace {

// Without a limit on transfers, so many threads keep a network file system busy.
constexpr unsigned kLockFreeWriters = 4;

bool means_full(const std::error_code& code) {
  return code.category() == std::system_category() &&
         (code.value() == ENOSPC || code.value() == EDQUOT || code.value() == EFBIG);
}

Error refused(ChunkKey key, std::size_t bytes, const std::string& refusals, bool full) {
  return {
      make_error_code(full ? StorageErrc::disk_full : StorageErrc::spill_failed),
      fmt::format("chunk {} of {} bytes cannot be spilled: {}; {}", to_string(key), bytes, refusals,
                  full ? "free disk space, add directories to spillDirs, or raise "
                         "workerCacheSize"
                       : "give spillDirs folders that can be written")};
}

}  // namespace

Result<std::unique_ptr<SpillPool>> SpillPool::open(const SpillOptions& options) {
  if (options.io_parallelism == 0)
    return fail(StorageErrc::invalid, "io parallelism is 0: give 1 or more");
  std::vector<SpillDirectory> directories;
  for (const auto& path : options.directories) {
    auto directory = SpillDirectory::open(path);
    if (!directory) return fail(directory.error());
    directories.push_back(std::move(*directory));
  }
  return std::make_unique<SpillPool>(options, std::move(directories));
}

SpillPool::SpillPool(const SpillOptions& options, std::vector<SpillDirectory> directories)
    : compression_(options.compression) {
  const bool free = options.lock_free_file_io;
  for (auto& directory : directories)
    lanes_.push_back(
        std::make_unique<Lane>(std::move(directory), free ? 0 : options.io_parallelism));
  const unsigned writers =
      free ? std::max(options.io_parallelism, kLockFreeWriters) : options.io_parallelism;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    for (unsigned i = 0; i < writers; ++i) threads_.emplace_back([this, lane] { work(lane); });
}

SpillPool::~SpillPool() { stop(); }

void SpillPool::write(ChunkKey key, ByteSpan bytes, Done done) {
  Job job{.key = key,
          .bytes = bytes,
          .done = std::move(done),
          .tried = std::vector<bool>(lanes_.size()),
          .refusals = {}};
  if (!hand_out(job)) job.done(fail(StorageErrc::closed, "the store was stopped"));
}

bool SpillPool::hand_out(Job& job) {
  const std::scoped_lock lock(mutex_);
  if (stopped_) return false;
  std::vector<std::size_t> loads;
  for (const auto& lane : lanes_) loads.push_back(lane->load);
  const auto chosen = choose_lane(loads, job.tried, turn_);
  if (!chosen) return false;
  turn_ = *chosen + 1;
  Lane& lane = *lanes_[*chosen];
  lane.load += job.bytes.size();
  lane.jobs.push_back(std::move(job));
  lane.arrived.notify_one();
  return true;
}

void SpillPool::work(std::size_t number) {
  Lane& lane = *lanes_[number];
  std::unique_lock lock(mutex_);
  for (;;) {
    lane.arrived.wait(lock, [&] { return stopped_ || !lane.jobs.empty(); });
    if (stopped_) return;
    Job job = std::move(lane.jobs.front());
    lane.jobs.pop_front();
    const std::size_t bytes = job.bytes.size();
    lock.unlock();
    run(number, std::move(job));
    lock.lock();
    lane.load -= bytes;
  }
}

void SpillPool::run(std::size_t number, Job job) {
  Lane& lane = *lanes_[number];
  // With a serial number, because a chunk that was dropped may be made again.
  std::string path = fmt::format("{}/{:x}-{:x}-{}.chunk", lane.directory.folder(), job.key.session,
                                 job.key.chunk, next_serial());
  const auto written = write_file(lane, job, path);
  if (written) {
    job.done(SpillFile{number, std::move(path), *written});
    return;
  }
  job.tried[number] = true;
  job.full = job.full || means_full(written.error().code());
  job.refusals += fmt::format("{}{}", job.refusals.empty() ? "" : "; ", written.error().message());
  if (!hand_out(job)) job.done(fail(refused(job.key, job.bytes.size(), job.refusals, job.full)));
}

std::uint64_t SpillPool::next_serial() {
  const std::scoped_lock lock(mutex_);
  return ++serial_;
}

Result<std::size_t> SpillPool::write_file(Lane& lane, const Job& job, const std::string& path) {
  std::string spare;
  {
    const std::scoped_lock lock(mutex_);
    spare = lane.spares.take(job.bytes.size());
  }
  const IoPlaces::Place place(lane.places);
  auto written = write_spill_file(path, job.key, job.bytes, compression_, spare);
  if (written) return written;
  // What failed may be the spare, or that there is no room beside the others.
  std::vector<std::string> rest;
  {
    const std::scoped_lock lock(mutex_);
    rest = lane.spares.take_all();
  }
  for (const std::string& each : rest) ::unlink(each.c_str());
  if (spare.empty() && rest.empty()) return written;
  return write_spill_file(path, job.key, job.bytes, compression_);
}

Result<void> SpillPool::read(const SpillFile& file, ChunkKey key, std::span<std::byte> into) {
  const IoPlaces::Place place(lanes_[file.lane]->places);
  std::multiset<std::string>::iterator mark;
  {
    const std::scoped_lock lock(mutex_);
    mark = reading_.insert(file.path);
  }
  auto read = read_spill_file(file.path, key, into);
  const std::scoped_lock lock(mutex_);
  reading_.erase(mark);
  return read;
}

void SpillPool::remove(const SpillFile& file) {
  Lane& lane = *lanes_[file.lane];
  const std::string spare = fmt::format("{}/spare-{}", lane.directory.folder(), next_serial());
  if (::rename(file.path.c_str(), spare.c_str()) != 0) {
    ::unlink(file.path.c_str());  // needs no room in the directory
    return;
  }
  {
    // Whoever reads it opened it before, and must not find another chunk in it.
    const std::scoped_lock lock(mutex_);
    if (!reading_.contains(file.path) && lane.spares.add(file.bytes, spare)) return;
  }
  ::unlink(spare.c_str());
}

void SpillPool::stop() {
  std::call_once(stop_once_, [&] {
    {
      const std::scoped_lock lock(mutex_);
      stopped_ = true;
      for (const auto& lane : lanes_) lane->arrived.notify_all();
    }
    for (auto& thread : threads_) thread.join();
    for (const auto& lane : lanes_) {
      for (auto& job : lane->jobs) job.done(fail(StorageErrc::closed, "the store was stopped"));
      lane->jobs.clear();
      lane->directory.remove();
    }
  });
}

}  // namespace muster::engine
