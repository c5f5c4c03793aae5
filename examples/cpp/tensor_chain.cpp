// Lazy arrays in C++: an expression builds a graph, the session cuts it into chunks, joins the
// element-wise functions with the sum that closes them into one pass over memory, and runs that on
// all cores.

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "muster/tensor.h"

using namespace muster::tensor;

// region chain
/// The columns' sums of 2 sin(x) + 1.
View<double> column_sums(Session& session, const Tensor& x) {
  auto y = (sin(x) * 2.0 + 1.0).sum(axis(0));
  session.execute(y);
  return session.fetch<double>(y);
}
// endregion

int main() {
  constexpr Index kRows = 100'000;
  constexpr Index kColumns = 3;
  std::vector<double> items(kRows * kColumns);
  std::iota(items.begin(), items.end(), 0.0);
  const Tensor x =
      constant(Array::copy_of(Type::f64, {kRows, kColumns}, items.data()), Ints{10'000, kColumns});

  Session session;
  const View<double> sums = column_sums(session, x);
  double error = 0;
  for (std::size_t column = 0; column < sums.size(); ++column) {
    double expected = 0;
    for (std::size_t i = column; i < items.size(); i += kColumns)
      expected += 2 * std::sin(items[i]) + 1;
    fmt::print("column {}: {:.6f}\n", column, sums[column]);
    error = std::max(error, std::abs(sums[column] - expected));
  }

  // region wrong
  // What cannot be is refused where it is written, or where the items are asked for.
  try {
    (void)session.fetch<float>(x + 1);
  } catch (const ArrayError& refused) {
    fmt::print("{}\n", refused.what());  // [fetch] the items are float64, not float32
  }
  // endregion
  return error < 1e-6 ? EXIT_SUCCESS : EXIT_FAILURE;
}
