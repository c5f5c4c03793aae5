#pragma once

#include <cstdint>

#include "muster/engine/ops/random/draws.h"

namespace muster::engine::random {

// One number of a distribution each, from the numbers of an element. Parameters were checked.

[[nodiscard]] double gamma(Draws& draws, double shape);
[[nodiscard]] double beta(Draws& draws, double a, double b);
[[nodiscard]] double chisquare(Draws& draws, double df);
[[nodiscard]] double noncentral_chisquare(Draws& draws, double df, double nonc);
[[nodiscard]] double standard_t(Draws& draws, double df);
[[nodiscard]] double vonmises(Draws& draws, double mu, double kappa);
[[nodiscard]] double wald(Draws& draws, double mean, double scale);

[[nodiscard]] std::int64_t poisson(Draws& draws, double lam);
[[nodiscard]] std::int64_t binomial(Draws& draws, std::int64_t n, double p);
[[nodiscard]] std::int64_t negative_binomial(Draws& draws, double n, double p);
[[nodiscard]] std::int64_t geometric(Draws& draws, double p);
[[nodiscard]] std::int64_t hypergeometric(Draws& draws, std::int64_t good, std::int64_t bad,
                                          std::int64_t sample);
[[nodiscard]] std::int64_t logseries(Draws& draws, double p);
[[nodiscard]] std::int64_t zipf(Draws& draws, double a);

}  // namespace muster::engine::random
