#pragma once

// For sources that Highway compiles once per target: processors between these, which lie a decade
// back, take the portable one.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
