#pragma once

#include "muster/cluster/launch/process/shim_order.h"

namespace muster::cluster {

/// The life of a shim: claims the folder, starts the program, keeps its output, and writes down how
/// it ended when nothing is left of it. The program that calls it is nothing else: it takes over
/// signals and children of the whole process. Returns its exit status, which is the program's as a
/// shell would report it.
///
/// SIGTERM ends the program: SIGTERM to its group, SIGKILL to all that is left after the grace
/// time. SIGHUP, SIGINT, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on. What the program leaves behind
/// when it ends, also in sessions of its own, is ended, too.
int run_shim(const ShimOrder& order);

}  // namespace muster::cluster
