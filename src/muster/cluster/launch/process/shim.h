#pragma once

#include "muster/cluster/launch/process/shim_order.h"

namespace muster::cluster {

/// The life of a shim: claims the folder, starts the program, keeps its output, and writes down how
/// it ended when nothing is left of it. The program that calls it is nothing else: it takes over
/// signals and children of the whole process. Returns its exit status, which is the program's as a
/// shell would report it.
///
/// SIGTERM ends the program: SIGTERM to its group, SIGKILL to all that is left after the grace
/// time. What the program leaves behind when it ends, also in sessions of its own, is ended, too.
/// Both get SIGCONT after SIGTERM, as who is stopped hears nothing before. SIGHUP, SIGINT,
/// SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGTSTP and SIGCONT are passed on.
int run_shim(const ShimOrder& order);

}  // namespace muster::cluster
