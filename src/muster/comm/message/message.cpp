#include "muster/comm/message/message.h"

namespace muster::comm {

std::string_view to_string(SessionType type) {
  return type == SessionType::task ? "task" : "notification";
}

std::string_view to_string(SessionStage stage) {
  switch (stage) {
    case SessionStage::request: return "request";
    case SessionStage::receive: return "receive";
    case SessionStage::complete: return "complete";
  }
  return "unknown";
}

}  // namespace muster::comm
