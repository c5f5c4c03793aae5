#include "muster/engine/ops/statistics/quantile_items.h"

#include <limits>

namespace muster::engine {

QuantilesWanted::QuantilesWanted(const Attributes& attributes)
    : method(*quantile_method_named(attributes.get<std::string>("method"))),
      skip_nan(attributes.get<bool>("skip_nan", false)),
      dtype(attributes.get<DType>("dtype")) {
  const auto array = attributes.get<Array>("q");
  q.assign(array.as<double>(), array.as<double>() + array.size());
  q_shape = array.shape();
}

double QuantileWriter::between(double a, double b, double share) const {
  if (share == 0 || a == b) return a;
  if (method_ == QuantileMethod::median) return a / 2 + b / 2;
  // From the nearer end, as NumPy, so that the ends are met exactly.
  return share >= 0.5 ? b - (b - a) * (1 - share) : a + (b - a) * share;
}

void QuantileWriter::put_none(std::byte* to) const {
  put_double(std::numeric_limits<double>::quiet_NaN(), to);
}

}  // namespace muster::engine
