#pragma once

/// Before a loop: what one step writes no other step reads, so they may run side by side.
#ifdef __clang__
#define MUSTER_INDEPENDENT_ITEMS _Pragma("clang loop vectorize(assume_safety)")
#else
#define MUSTER_INDEPENDENT_ITEMS _Pragma("GCC ivdep")
#endif
