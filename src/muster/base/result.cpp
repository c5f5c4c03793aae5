#include "muster/base/result.h"

namespace muster {

Error system_error(int error_number, std::string_view doing) {
  const std::error_code code(error_number, std::system_category());
  return {code, std::string(doing) + ": " + code.message()};
}

}  // namespace muster
