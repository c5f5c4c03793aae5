#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "muster/base/name.h"
#include "muster/base/result.h"
#include "muster/comm/message/ids.h"

namespace muster::comm {

/// What a proxy tells the others about itself through the discovery store and in the handshake.
struct Entry {
  Name name;
  Name type;
  InstanceId instance;
  std::map<std::string, std::string>
      addresses;     ///< by driver: {"shm": "…", "zmq": "tcp://127.0.0.1:4711"}
  std::string host;  ///< equal for processes that can share memory: boot id and network namespace,
                     ///< or MUSTER_HOST_ID
  std::string process;  ///< equal within one process only
  /// When this life began, in microseconds of the wall clock: tells lives under one name apart when
  /// the store has not shown yet which is the newest.
  std::int64_t born = 0;
  std::int64_t pid = 0;
  std::uint64_t pid_start = 0;  ///< tells processes with the same pid apart
  std::string pid_namespace;    ///< a pid means something only where this is equal

  bool operator==(const Entry&) const = default;

  [[nodiscard]] std::string to_json() const;
  /// Checks every field; for text that came from outside.
  [[nodiscard]] static Result<Entry> from_json(std::string_view text);
};

/// Where the process of an entry is, seen from here: "process 4711 on this host".
[[nodiscard]] std::string whereabouts(const Entry& entry);

/// Why `entry` cannot be renewed in `group`: `holder` has its name.
[[nodiscard]] Error name_taken(const Entry& entry, const std::string& group, const Entry& holder);

/// An entry for this process with the identity fields filled in (host, process, pid) and a fresh
/// instance.
[[nodiscard]] Entry local_entry(Name name, Name type);

}  // namespace muster::comm
