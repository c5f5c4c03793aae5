#pragma once

#include <condition_variable>
#include <mutex>

namespace muster::engine {

/// Lets so many into a spill directory at a time; with one place it is a lock. Several transfers at
/// once make a disk seek, a network file system quick. Thread-safe.
class IoPlaces {
 public:
  /// 0: everybody may enter.
  explicit IoPlaces(unsigned places) : limited_(places > 0), free_(places) {}

  class Place {
   public:
    explicit Place(IoPlaces& places) : places_(places) { places_.enter(); }
    ~Place() { places_.leave(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    IoPlaces& places_;
  };

 private:
  void enter() {
    if (!limited_) return;
    std::unique_lock lock(mutex_);
    // Whoever is inside is moving bytes and will leave.
    left_.wait(lock, [&] { return free_ > 0; });
    --free_;
  }
  void leave() {
    if (!limited_) return;
    {
      const std::scoped_lock lock(mutex_);
      ++free_;
    }
    left_.notify_one();
  }

  const bool limited_;
  std::mutex mutex_;
  std::condition_variable left_;
  unsigned free_;
};

}  // namespace muster::engine
