#pragma once

#include <string_view>
#include <vector>

#include "muster/engine/graph/operator.h"
#include "muster/engine/kernels/time_units.h"
#include "muster/engine/kernels/ufunc.h"

namespace muster::engine {

/// An element-wise function before it is an operator.
struct UfuncRow {
  std::string_view name;
  std::string_view summary;
  Ufunc ufunc;
};

/// Functions with their operators. The registry points into it, so it has static storage.
class UfuncTable {
 public:
  explicit UfuncTable(std::vector<UfuncRow> ufuncs);
  void add_to(Registry& registry) const;

 private:
  std::vector<UfuncRow> ufuncs_;
  std::vector<OperatorRow> rows_;
};

}  // namespace muster::engine
