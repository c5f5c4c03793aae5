#include "muster/comm/discovery/open_store.h"

#include "muster/comm/discovery/file/file_store.h"

namespace muster::comm {

Result<std::unique_ptr<Store>> open_store(std::string_view address) {
  if (address.starts_with("file:/")) return make_file_store(address.substr(5));
  return make_file_store();
}

}  // namespace muster::comm
