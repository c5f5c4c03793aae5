#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "muster/engine/ops/random/samplers.h"

namespace muster::engine::random {

namespace {

/// Every whole number up to here is a double, and fits an int64.
constexpr double kLargest = 9.0e18;

/// log(k!) by Stirling's series, which is exact enough from 16 on. (std::lgamma writes to a
/// global.)
double log_factorial(double k) {
  constexpr std::array<double, 16> kSmall = {0,
                                             0,
                                             0.69314718055994531,
                                             1.7917594692280550,
                                             3.1780538303479458,
                                             4.7874917427820458,
                                             6.5792512120101012,
                                             8.5251613610654147,
                                             10.604602902745251,
                                             12.801827480081469,
                                             15.104412573075516,
                                             17.502307845873887,
                                             19.987214495661885,
                                             22.552163853123425,
                                             25.191221182738680,
                                             27.899271383840890};
  if (k < 16) return kSmall[static_cast<std::size_t>(k)];
  const double x = k + 1;
  const double square = x * x;
  const double tail = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / x;
  return (x - 0.5) * std::log(x) - x + 0.5 * std::log(2 * std::numbers::pi) + tail;
}

std::int64_t whole(double value) { return static_cast<std::int64_t>(std::min(value, kLargest)); }

/// Hörmann: The transformed rejection method for generating Poisson random variables (1993), PTRS.
std::int64_t poisson_large(Draws& draws, double lam) {
  const double log_lam = std::log(lam);
  const double b = 0.931 + 2.53 * std::sqrt(lam);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = draws.uniform() - 0.5;
    const double v = draws.positive();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + lam + 0.43);
    if (us >= 0.07 && v <= v_r) return whole(k);
    if (k < 0 || k > kLargest || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        -lam + k * log_lam - log_factorial(k))
      return whole(k);
  }
}

/// By the probabilities one after the other; for few expected successes.
std::int64_t binomial_small(Draws& draws, double n, double p) {
  const double ratio = p / (1 - p);
  const double first = std::exp(n * std::log1p(-p));
  for (;;) {
    double u = draws.uniform();
    double probability = first;
    double k = 0;
    while (u > probability && k <= n) {
      u -= probability;
      ++k;
      probability *= ratio * (n - k + 1) / k;
    }
    if (k <= n) return whole(k);  // else rounding has left a rest of u
  }
}

/// Hörmann: The generation of binomial random variates (1993), BTRS; p is at most one half.
std::int64_t binomial_large(Draws& draws, double n, double p) {
  const double deviation = std::sqrt(n * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = n * p + 0.5;
  const double v_r = 0.92 - 4.2 / b;
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double log_ratio = std::log(p / (1 - p));
  const double mode = std::floor((n + 1) * p);
  const double at_mode = log_factorial(mode) + log_factorial(n - mode);
  for (;;) {
    const double u = draws.uniform() - 0.5;
    const double v = draws.positive();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + c);
    if (k < 0 || k > n) continue;
    if (us >= 0.07 && v <= v_r) return whole(k);
    const double bound = at_mode - log_factorial(k) - log_factorial(n - k) + (k - mode) * log_ratio;
    if (std::log(v * alpha / (a / (us * us) + b)) <= bound) return whole(k);
  }
}

std::int64_t hypergeometric_small(Draws& draws, std::int64_t good, std::int64_t bad,
                                  std::int64_t sample) {
  std::int64_t found = 0;
  for (; sample > 0 && good > 0; --sample) {
    const auto all = static_cast<std::uint64_t>(good) + static_cast<std::uint64_t>(bad);
    if (draws.below(all) < static_cast<std::uint64_t>(good)) {
      ++found;
      --good;
    } else {
      --bad;
    }
  }
  return found;
}

/// Stadlober: The ratio of uniforms approach for generating discrete random variates (1990), HRUA.
std::int64_t hypergeometric_large(Draws& draws, double good, double bad, double sample) {
  const double fewer = std::min(good, bad);
  const double more = std::max(good, bad);
  const double all = good + bad;
  const double m = std::min(sample, all - sample);
  const double share = fewer / all;
  const double center = m * share + 0.5;
  const double deviation = std::sqrt((all - m) * sample * share * (1 - share) / (all - 1) + 0.5);
  const double width = 1.7155277699214135 * deviation + 0.8989161620588988;
  const double mode = std::floor((m + 1) * (fewer + 1) / (all + 2));
  const auto log_weight = [&](double z) {
    return log_factorial(z) + log_factorial(fewer - z) + log_factorial(m - z) +
           log_factorial(more - m + z);
  };
  const double at_mode = log_weight(mode);
  const double end = std::min(std::min(m, fewer) + 1, std::floor(center + 16 * deviation));
  double z = 0;
  for (;;) {
    const double x = draws.positive();
    const double y = draws.uniform();
    const double w = center + width * (y - 0.5) / x;
    if (w < 0 || w >= end) continue;
    z = std::floor(w);
    const double t = at_mode - log_weight(z);
    if (x * (4 - x) - 3 <= t) break;
    if (x * (x - t) >= 1) continue;
    if (2 * std::log(x) <= t) break;
  }
  if (good > bad) z = m - z;
  if (m < sample) z = good - z;
  return whole(z);
}

}  // namespace

std::int64_t poisson(Draws& draws, double lam) {
  if (lam >= 10) return poisson_large(draws, lam);
  const double limit = std::exp(-lam);
  double product = draws.uniform();
  std::int64_t k = 0;
  for (; product > limit; ++k) product *= draws.uniform();
  return k;
}

std::int64_t binomial(Draws& draws, std::int64_t n, double p) {
  if (n == 0 || p == 0) return 0;
  if (p > 0.5) return n - binomial(draws, n, 1 - p);
  const auto trials = static_cast<double>(n);
  return trials * p < 10 ? binomial_small(draws, trials, p) : binomial_large(draws, trials, p);
}

std::int64_t negative_binomial(Draws& draws, double n, double p) {
  // Beyond, the rate of the gamma distribution overflows with it.
  return poisson(draws, std::min(gamma(draws, n) * (1 - p) / p, kLargest));
}

std::int64_t geometric(Draws& draws, double p) {
  if (p == 1) return 1;
  return std::max(std::int64_t{1}, whole(std::ceil(std::log(draws.positive()) / std::log1p(-p))));
}

std::int64_t hypergeometric(Draws& draws, std::int64_t good, std::int64_t bad,
                            std::int64_t sample) {
  if (sample == 0 || good == 0) return 0;
  if (sample <= 10) return hypergeometric_small(draws, good, bad, sample);
  if (sample >= good + bad - 10)  // what is left over is drawn instead
    return good - hypergeometric_small(draws, good, bad, good + bad - sample);
  return hypergeometric_large(draws, static_cast<double>(good), static_cast<double>(bad),
                              static_cast<double>(sample));
}

// Kemp: Efficient generation of logarithmically distributed pseudo-random variables (1981).
std::int64_t logseries(Draws& draws, double p) {
  const double r = std::log1p(-p);
  for (;;) {
    const double v = draws.positive();
    if (v >= p) return 1;
    const double q = -std::expm1(r * draws.uniform());
    if (v <= q * q) {
      const double result = std::floor(1 + std::log(v) / std::log(q));
      if (result >= 1) return whole(result);
      continue;
    }
    return v >= q ? 1 : 2;
  }
}

// Devroye: Non-uniform random variate generation (1986), chapter X.6.
std::int64_t zipf(Draws& draws, double a) {
  if (a >= 1025) return 1;  // the others have no weight that a double can hold
  const double less = a - 1;
  const double b = std::exp2(less);
  for (;;) {
    const double x = std::floor(std::pow(draws.positive(), -1 / less));
    const double v = draws.uniform();
    if (x > kLargest || x < 1) continue;
    const double t = std::pow(1 + 1 / x, less);
    if (v * x * (t - 1) / (b - 1) <= t / b) return whole(x);
  }
}

}  // namespace muster::engine::random
