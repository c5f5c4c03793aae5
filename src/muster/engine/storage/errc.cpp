#include "muster/engine/storage/errc.h"

#include "muster/base/error_category.h"

namespace muster::engine {
namespace {

const char* text(StorageErrc errc) {
  switch (errc) {
    case StorageErrc::absent: return "no such chunk";
    case StorageErrc::exists: return "the chunk exists";
    case StorageErrc::too_large: return "the chunk is larger than the store";
    case StorageErrc::no_room: return "no room in the store";
    case StorageErrc::disk_full: return "no spill directory has room";
    case StorageErrc::spill_failed: return "spilling failed";
    case StorageErrc::corrupt: return "the spilled chunk is damaged";
    case StorageErrc::no_memory: return "not enough shared memory";
    case StorageErrc::invalid: return "wrong storage options";
    case StorageErrc::timeout: return "the deadline passed";
    case StorageErrc::closed: return "the store was stopped";
  }
  return "unknown storage error";
}

}  // namespace

std::error_code make_error_code(StorageErrc errc) {
  static const ErrorCategory<StorageErrc> category("muster.storage", text);
  return {static_cast<int>(errc), category};
}

}  // namespace muster::engine
