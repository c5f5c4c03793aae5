// Precompiled for the loops, whose compiler options are not those of other sources.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <hwy/base.h>

#include "muster/engine/ops/elementwise/elementwise.h"
#include "muster/engine/ops/elementwise/ufunc_row.h"
#include "muster/engine/ops/reduction/reduce.h"
