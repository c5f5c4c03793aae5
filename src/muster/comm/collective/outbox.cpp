#include "muster/comm/collective/outbox.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "muster/base/log.h"

namespace muster::comm::collective {

void Outbox::post(const std::string& member, std::string text) {
  Kept& kept = kept_[member];
  if (kept.texts.size() == kMost) {
    log(LogLevel::warning, "comm", "'{}' is away, and {} control messages wait for it: one is lost",
        member, kMost);
    kept.texts.pop_front();
  }
  kept.texts.push_back(std::move(text));
  if (drain(member, kept)) kept_.erase(member);
}

void Outbox::retry() {
  for (auto it = kept_.begin(); it != kept_.end();)
    it = drain(it->first, it->second) ? kept_.erase(it) : std::next(it);
}

bool Outbox::drain(const std::string& member, Kept& kept) {
  while (!kept.texts.empty()) {
    kept.last = send_(member, kept.texts.front());
    if (kept.last == Attempt::full || kept.last == Attempt::away) return false;
    kept.texts.pop_front();
  }
  return true;
}

bool Outbox::waits_for_room() const {
  return std::any_of(kept_.begin(), kept_.end(),
                     [](const auto& item) { return item.second.last == Attempt::full; });
}

}  // namespace muster::comm::collective
