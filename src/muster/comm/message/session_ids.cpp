#include "muster/comm/message/session_ids.h"

namespace muster::comm {

void SessionIds::add_another(const SessionId& session) {
  if (size_ == 1) many_.assign(1, first_);
  many_.push_back(session);
  ++size_;
}

}  // namespace muster::comm
