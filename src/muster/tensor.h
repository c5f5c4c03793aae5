#pragma once

/// Lazy chunked arrays for C++ programs: expressions build a graph, a session computes it.
///
///     using namespace muster::tensor;
///     Session session;
///     auto y = (sin(x) * 2.0 + 1.0).sum(axis(0));
///     session.execute(y);
///     for (double each : session.fetch<double>(y)) ...

#include "muster/engine/errors.h"                      // IWYU pragma: export
#include "muster/engine/graph/tensor.h"                // IWYU pragma: export
#include "muster/engine/ops/creation/constant.h"       // IWYU pragma: export
#include "muster/engine/ops/creation/diagonal.h"       // IWYU pragma: export
#include "muster/engine/ops/creation/full.h"           // IWYU pragma: export
#include "muster/engine/ops/creation/ranges.h"         // IWYU pragma: export
#include "muster/engine/ops/creation/triangle.h"       // IWYU pragma: export
#include "muster/engine/ops/elementwise/composed.h"    // IWYU pragma: export
#include "muster/engine/ops/elementwise/conversion.h"  // IWYU pragma: export
#include "muster/engine/ops/elementwise/functions.h"   // IWYU pragma: export
#include "muster/engine/ops/indexing/along_axis.h"     // IWYU pragma: export
#include "muster/engine/ops/indexing/choose.h"         // IWYU pragma: export
#include "muster/engine/ops/indexing/gather.h"         // IWYU pragma: export
#include "muster/engine/ops/indexing/mask.h"           // IWYU pragma: export
#include "muster/engine/ops/indexing/slice.h"          // IWYU pragma: export
#include "muster/engine/ops/joining/concatenate.h"     // IWYU pragma: export
#include "muster/engine/ops/reduction/arg.h"           // IWYU pragma: export
#include "muster/engine/ops/reduction/extremes.h"      // IWYU pragma: export
#include "muster/engine/ops/reduction/over.h"          // IWYU pragma: export
#include "muster/engine/ops/reduction/product.h"       // IWYU pragma: export
#include "muster/engine/ops/reduction/scan.h"          // IWYU pragma: export
#include "muster/engine/ops/reduction/sum.h"           // IWYU pragma: export
#include "muster/engine/ops/reduction/truth.h"         // IWYU pragma: export
#include "muster/engine/ops/reduction/variance.h"      // IWYU pragma: export
#include "muster/engine/ops/shape/axes.h"              // IWYU pragma: export
#include "muster/engine/ops/shape/broadcast.h"         // IWYU pragma: export
#include "muster/engine/ops/shape/rechunk.h"           // IWYU pragma: export
#include "muster/engine/ops/shape/reshape.h"           // IWYU pragma: export
#include "muster/engine/ops/statistics/counting.h"     // IWYU pragma: export
#include "muster/engine/ops/statistics/histogram.h"    // IWYU pragma: export
#include "muster/engine/ops/statistics/quantile.h"     // IWYU pragma: export
#include "muster/engine/session/session.h"             // IWYU pragma: export

namespace muster {
namespace tensor = engine;
}
