#include "muster/comm/collective/inside.h"

#include <stdexcept>

#include <fmt/format.h>

namespace muster::comm::collective {

void Inside::refuse(std::string_view call, std::string_view group) {
  throw std::logic_error(fmt::format(
      "[{}] on group '{}' from inside a reduction function, for which the group's calls wait: call "
      "it when the call that reduces is over; the function itself may only close and cancel",
      call, group));
}

}  // namespace muster::comm::collective
