#include <cmath>
#include <numbers>

#include "muster/engine/ops/random/samplers.h"

namespace muster::engine::random {

namespace {
constexpr double kPi = std::numbers::pi;
}

// Marsaglia and Tsang: A simple method for generating gamma variables (2000).
double gamma(Draws& draws, double shape) {
  if (shape == 0) return 0;
  if (shape < 1) {
    const double more = gamma(draws, shape + 1);
    return more * std::pow(draws.positive(), 1 / shape);
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = draws.normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(draws.positive()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double beta(Draws& draws, double a, double b) {
  if (a > 1 || b > 1) {
    const double x = gamma(draws, a);
    return x / (x + gamma(draws, b));
  }
  // Jöhnk's: for small parameters both gammas may be too small to tell apart.
  for (;;) {
    const double log_x = std::log(draws.positive()) / a;
    const double log_y = std::log(draws.positive()) / b;
    const double most = std::max(log_x, log_y);
    const double log_sum = most + std::log(std::exp(log_x - most) + std::exp(log_y - most));
    if (log_sum <= 0) return std::exp(log_x - log_sum);
  }
}

double chisquare(Draws& draws, double df) { return 2 * gamma(draws, df / 2); }

double noncentral_chisquare(Draws& draws, double df, double nonc) {
  if (std::isnan(nonc)) return nonc;
  if (nonc == 0) return chisquare(draws, df);
  if (df > 1) {
    const double rest = chisquare(draws, df - 1);
    const double shifted = draws.normal() + std::sqrt(nonc);
    return rest + shifted * shifted;
  }
  const auto terms = static_cast<double>(poisson(draws, nonc / 2));
  return chisquare(draws, df + 2 * terms);
}

double standard_t(Draws& draws, double df) {
  const double normal = draws.normal();
  return std::sqrt(df / 2) * normal / std::sqrt(gamma(draws, df / 2));
}

// Best and Fisher: Efficient simulation of the von Mises distribution (1979).
double vonmises(Draws& draws, double mu, double kappa) {
  if (kappa < 1e-8) return kPi * (2 * draws.uniform() - 1);
  const auto wrapped = [](double angle) { return std::remainder(angle, 2 * kPi); };
  if (kappa > 1e6) return wrapped(mu + draws.normal() / std::sqrt(kappa));
  double s = 0;
  if (kappa < 1e-5) {
    s = 1 / kappa + kappa;  // what follows loses all digits
  } else {
    const double r = 1 + std::sqrt(1 + 4 * kappa * kappa);
    const double rho = (r - std::sqrt(2 * r)) / (2 * kappa);
    s = (1 + rho * rho) / (2 * rho);
  }
  double w = 0;
  for (;;) {
    const double z = std::cos(kPi * draws.uniform());
    w = (1 + s * z) / (s + z);
    const double y = kappa * (s - w);
    const double v = draws.positive();
    if (y * (2 - y) - v >= 0 || std::log(y / v) + 1 - y >= 0) break;
  }
  const double angle = std::acos(w);
  return wrapped((draws.uniform() < 0.5 ? -angle : angle) + mu);
}

// Michael, Schucany and Haas: Generating random variates using transformations with multiple roots.
double wald(Draws& draws, double mean, double scale) {
  const double normal = draws.normal();
  const double y = mean * normal * normal;
  const double half = mean / (2 * scale);
  const double x = mean + half * (y - std::sqrt(4 * scale * y + y * y));
  return draws.uniform() <= mean / (mean + x) ? x : mean * mean / x;
}

}  // namespace muster::engine::random
