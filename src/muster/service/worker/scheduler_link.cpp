#include "muster/service/worker/scheduler_link.h"

namespace muster::service {

bool SchedulerLink::begin(TimePoint now, bool there) {
  if (!there || place_ || (asked_ && now < *asked_ + kPatience)) return false;
  asked_ = now;
  return true;
}

void SchedulerLink::registered(Place place) {
  asked_.reset();
  place_ = place;
  before_ = place;
}

void SchedulerLink::heard(const Beat& beat) {
  // Notifications stay in order: a beat that comes before the answer was sent before it.
  if (asked_ || !place_) return;
  if (!beat.registered || !follows({beat.epoch, beat.worker})) place_.reset();
}

void SchedulerLink::broken() { place_.reset(); }

}  // namespace muster::service
