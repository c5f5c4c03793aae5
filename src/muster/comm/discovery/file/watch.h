#pragma once

#include <filesystem>

#include "muster/runtime/fd.h"

namespace muster::comm::file {

/// inotify on discovery folders. Only a hint that it is time to look: events of other groups wake
/// too, and where the kernel has no watch left for us (128 per user are usual), `works` is false
/// and the caller looks again and again.
class Watch {
 public:
  Watch();

  /// Watches the group's folder, or while there is none the root for it to appear. Cheap when it is
  /// watched already. False if this cannot be watched.
  [[nodiscard]] bool add(const std::filesystem::path& root,
                         const std::filesystem::path& folder) const;

  /// Readable after an event; -1 when inotify is unavailable.
  [[nodiscard]] int fd() const { return fd_.get(); }
  void drain() const;

 private:
  FileDescriptor fd_;
};

}  // namespace muster::comm::file
