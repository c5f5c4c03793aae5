#pragma once

#include "muster/comm/collective/options.h"

namespace muster::comm {

/// Lets this process, which is to join with these options, seem to lie on another host than those
/// with another number. "shm", which does not reach other hosts, becomes "auto": shm within the
/// hosts and zmq between them.
void go_to_host(int number, GroupOptions& options);

}  // namespace muster::comm
