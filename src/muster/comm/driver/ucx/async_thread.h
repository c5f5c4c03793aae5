#pragma once

namespace muster::comm {

/// Whether the thread of libucx that accepts connections is in this process. It is there as
/// long as a port is open, but not in a child that was forked meanwhile, which gets none for its
/// own.
[[nodiscard]] bool ucx_thread_runs();

}  // namespace muster::comm
