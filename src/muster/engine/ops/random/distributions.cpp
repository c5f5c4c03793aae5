#include <algorithm>
#include <array>
#include <cmath>

#include "muster/engine/ops/random/batch.h"
#include "muster/engine/ops/random/distribution.h"
#include "muster/engine/ops/random/samplers.h"

namespace muster::engine::random {

namespace {

/// A sampler called for each element with its parameters.
template <class T, class... X, std::size_t... J>
void call_each(T (*sample)(Draws&, X...), std::index_sequence<J...>, std::uint64_t key,
               std::uint64_t first, std::size_t count, const Parameters& p, std::byte* out) {
  auto* const to = reinterpret_cast<T*>(out);
  for (std::size_t i = 0; i < count; ++i) {
    Draws draws(key, first + i);
    to[i] = sample(draws, static_cast<X>(p.value(J, i))...);
  }
}
template <class T, class... X>
void call_each(T (*sample)(Draws&, X...), std::uint64_t key, std::uint64_t first, std::size_t count,
               const Parameters& p, std::byte* out) {
  call_each(sample, std::index_sequence_for<X...>(), key, first, count, p, out);
}
template <auto Sample>
void sampled(std::uint64_t key, std::uint64_t first, std::size_t count, const Parameters& p,
             std::byte* out) {
  call_each(Sample, key, first, count, p, out);
}

/// One number for each element from a fast generator, then a function of it and the parameters.
template <class... X, std::size_t... J>
void map_each(double (*f)(double, X...), std::index_sequence<J...>, std::size_t count,
              const Parameters& p, double* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = f(out[i], p.value(J, i)...);
}
template <class... X>
void map_each(double (*f)(double, X...), std::size_t count, const Parameters& p, double* out) {
  map_each(f, std::index_sequence_for<X...>(), count, p, out);
}
template <auto Base, auto F>
void mapped(std::uint64_t key, std::uint64_t first, std::size_t count, const Parameters& p,
            std::byte* out) {
  auto* const to = reinterpret_cast<double*>(out);
  Base(key, first, count, to);
  map_each(F, count, p, to);
}

void units(std::uint64_t key, std::uint64_t first, std::size_t count, double* out) {
  uniforms(key, first, count, 0, 1, out);
}

void uniform(std::uint64_t key, std::uint64_t first, std::size_t count, const Parameters& p,
             std::byte* out) {
  auto* const to = reinterpret_cast<double*>(out);
  if (p.step[0] == 0 && p.step[1] == 0)
    return uniforms(key, first, count, p.value(0, 0), p.value(1, 0) - p.value(0, 0), to);
  units(key, first, count, to);
  for (std::size_t i = 0; i < count; ++i)
    to[i] = p.value(0, i) + (p.value(1, i) - p.value(0, i)) * to[i];
}

void normal(std::uint64_t key, std::uint64_t first, std::size_t count, const Parameters& p,
            std::byte* out) {
  auto* const to = reinterpret_cast<double*>(out);
  normals(key, first, count, to);
  if (p.step[0] == 0 && p.step[1] == 0) {
    const double loc = p.value(0, 0);
    const double scale = p.value(1, 0);
    for (std::size_t i = 0; i < count; ++i) to[i] = loc + scale * to[i];
    return;
  }
  for (std::size_t i = 0; i < count; ++i) to[i] = p.value(0, i) + p.value(1, i) * to[i];
}

/// One of the whole numbers from low to high, both included, by multiplication (Lemire: Fast random
/// integer generation in an interval, 2019): exact, and a second draw is next to never needed.
std::uint64_t scaled(std::uint64_t word, std::uint64_t bound, std::uint64_t key,
                     std::uint64_t element) {
  __extension__ using Wide = unsigned __int128;
  Wide product = Wide{word} * bound;
  if (static_cast<std::uint64_t>(product) < bound) [[unlikely]] {
    const std::uint64_t surplus = (0 - bound) % bound;
    for (Draws draws(key, element); static_cast<std::uint64_t>(product) < surplus;)
      product = Wide{draws.word()} * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

void integers(std::uint64_t key, std::uint64_t first, std::size_t count, const Parameters& p,
              std::byte* out) {
  auto* const to = reinterpret_cast<std::uint64_t*>(out);
  words(key, first, count, 0, to);
  for (std::size_t i = 0; i < count; ++i) {
    const auto low = p.value<std::uint64_t>(0, i);
    const std::uint64_t bound = p.value<std::uint64_t>(1, i) - low + 1;  // 0 for all of them
    if (bound != 0) to[i] = low + scaled(to[i], bound, key, first + i);
  }
}

std::string_view check_triangular(const Parameters& p, std::size_t i) {
  const double left = p.value(0, i);
  const double mode = p.value(1, i);
  const double right = p.value(2, i);
  return left <= mode && mode <= right && left < right
             ? ""
             : "left, mode and right must not fall, and left be below right";
}

double triangular(double u, double left, double mode, double right) {
  const double width = right - left;
  if (u <= (mode - left) / width) return left + std::sqrt(u * width * (mode - left));
  return right - std::sqrt((1 - u) * width * (right - mode));
}

double laplace(double u, double loc, double scale) {
  return u < 0.5 ? loc + scale * std::log(std::max(2 * u, 0x1p-53))
                 : loc - scale * std::log(2 - 2 * u);
}

double logistic(double u, double loc, double scale) {
  const double inside = std::max(u, 0x1p-54);
  return loc + scale * (std::log(inside) - std::log1p(-inside));
}

double lognormal_of(double z, double mean, double sigma) { return std::exp(mean + sigma * z); }

double exponential_of(double e, double scale) { return scale * e; }

double rayleigh_of(double e, double scale) { return scale * std::sqrt(2 * e); }

double weibull_of(double e, double a) { return a == 0 ? 0 : std::pow(e, 1 / a); }

double pareto_of(double e, double a) { return std::expm1(e / a); }

double power_of(double e, double a) { return std::pow(-std::expm1(-e), 1 / a); }

double gumbel_of(double e, double loc, double scale) {
  return loc - scale * std::log(std::max(e, 0x1p-54));
}

double standard_cauchy_of(Draws& draws) {
  const double normal = draws.normal();
  return normal / draws.normal();
}

/// Marsaglia and Tsang's method as in `gamma`, the first attempt of all elements by vectors: it
/// succeeds for 19 of 20. The others go on with draws of their own.
void gammas(std::uint64_t key, std::uint64_t first, std::size_t count, const Parameters& p,
            std::byte* out) {
  auto* const to = reinterpret_cast<double*>(out);
  std::array<std::uint64_t, kBatch> drawn;
  normals(key, first, count, to);
  words(key, first, count, 1, drawn.data());
  for (std::size_t i = 0; i < count; ++i) {
    const double shape = p.value(0, i);
    const double scale = p.value(1, i);
    const double square = to[i] * to[i];
    const double d = shape - 1.0 / 3;
    const double root = 1 + to[i] / std::sqrt(9 * d);
    const double u = static_cast<double>(drawn[i] >> 11) * 0x1p-53;
    const double v = root * root * root;
    // What lies below the first bound is accepted without a logarithm.
    const bool accepted = shape >= 1 && root > 0 &&
                          (u < 1 - 0.0331 * square * square ||
                           std::log(u) < 0.5 * square + d - d * v + d * std::log(v));
    Draws draws(key, first + i);
    to[i] = scale * (accepted ? d * v : gamma(draws, shape));
  }
}

double f_of(Draws& draws, double dfnum, double dfden) {
  const double above = chisquare(draws, dfnum) * dfden;
  return above / (chisquare(draws, dfden) * dfnum);
}

double noncentral_f_of(Draws& draws, double dfnum, double dfden, double nonc) {
  const double above = noncentral_chisquare(draws, dfnum, nonc) * dfden;
  return above / (chisquare(draws, dfden) * dfnum);
}

std::vector<Distribution> make() {
  using enum Needs;
  constexpr Type kWhole = Type::i64;
  return {
      {"random.uniform",
       "low to high, evenly",
       {{"low"}, {"high"}},
       Type::f64,
       uniform,
       [](const Parameters& p, std::size_t i) -> std::string_view {
         return std::isfinite(p.value(1, i) - p.value(0, i)) ? ""
                                                             : "high - low is not a finite number";
       }},
      {"random.integers",
       "whole numbers from low to high, both included",
       {{"low"}, {"high"}},
       kWhole,
       integers,
       nullptr,
       kWhole},
      {"random.unsigned_integers",
       "the same for uint64",
       {{"low"}, {"high"}},
       Type::u64,
       integers,
       nullptr,
       Type::u64},
      {"random.normal",
       "loc + scale * N(0, 1)",
       {{"loc"}, {"scale", not_negative}},
       Type::f64,
       normal},
      {"random.lognormal",
       "the exponential of a normal",
       {{"mean"}, {"sigma", not_negative}},
       Type::f64,
       mapped<normals, lognormal_of>},
      {"random.exponential",
       "times between events; mean scale",
       {{"scale", not_negative}},
       Type::f64,
       mapped<exponentials, exponential_of>},
      {"random.rayleigh",
       "the length of a plane normal",
       {{"scale", not_negative}},
       Type::f64,
       mapped<exponentials, rayleigh_of>},
      {"random.weibull",
       "exponential to the power 1 / a",
       {{"a", not_negative}},
       Type::f64,
       mapped<exponentials, weibull_of>},
      {"random.pareto",
       "Pareto II, also called Lomax",
       {{"a", positive}},
       Type::f64,
       mapped<exponentials, pareto_of>},
      {"random.power",
       "0 to 1 with density a x^(a - 1)",
       {{"a", positive}},
       Type::f64,
       mapped<exponentials, power_of>},
      {"random.gumbel",
       "the largest of many",
       {{"loc"}, {"scale", not_negative}},
       Type::f64,
       mapped<exponentials, gumbel_of>},
      {"random.laplace",
       "the difference of two exponentials",
       {{"loc"}, {"scale", not_negative}},
       Type::f64,
       mapped<units, laplace>},
      {"random.logistic",
       "the inverse of the logistic function",
       {{"loc"}, {"scale", not_negative}},
       Type::f64,
       mapped<units, logistic>},
      {"random.triangular",
       "left to right, most often near mode",
       {{"left"}, {"mode"}, {"right"}},
       Type::f64,
       mapped<units, triangular>,
       check_triangular},
      {"random.standard_cauchy",
       "the quotient of two normals",
       {},
       Type::f64,
       sampled<standard_cauchy_of>},
      {"random.gamma",
       "the sum of shape exponentials with mean scale",
       {{"shape", not_negative}, {"scale", not_negative}},
       Type::f64,
       gammas},
      {"random.beta",
       "0 to 1, the share of one gamma in two",
       {{"a", positive}, {"b", positive}},
       Type::f64,
       sampled<beta>},
      {"random.chisquare",
       "the sum of df squared normals",
       {{"df", positive}},
       Type::f64,
       sampled<chisquare>},
      {"random.noncentral_chisquare",
       "the same of normals that are shifted",
       {{"df", positive}, {"nonc", not_negative}},
       Type::f64,
       sampled<noncentral_chisquare>},
      {"random.f",
       "the quotient of two chi-squares",
       {{"dfnum", positive}, {"dfden", positive}},
       Type::f64,
       sampled<f_of>},
      {"random.noncentral_f",
       "the same with a noncentral one above",
       {{"dfnum", positive}, {"dfden", positive}, {"nonc", not_negative}},
       Type::f64,
       sampled<noncentral_f_of>},
      {"random.standard_t", "Student's t", {{"df", positive}}, Type::f64, sampled<standard_t>},
      {"random.vonmises",
       "angles around mu",
       {{"mu"}, {"kappa", not_negative}},
       Type::f64,
       sampled<vonmises>},
      {"random.wald",
       "the inverse Gaussian",
       {{"mean", positive}, {"scale", positive}},
       Type::f64,
       sampled<wald>},
      {"random.poisson",
       "events in a time in which lam are expected",
       {{"lam", rate}},
       kWhole,
       sampled<poisson>},
      {"random.binomial",
       "successes in n trials",
       {{"n", count}, {"p", probability}},
       kWhole,
       sampled<binomial>},
      {"random.negative_binomial",
       "failures before the n-th success",
       {{"n", positive}, {"p", chance}},
       kWhole,
       sampled<negative_binomial>},
      {"random.geometric",
       "trials up to the first success",
       {{"p", chance}},
       kWhole,
       sampled<geometric>},
      {"random.hypergeometric",
       "good ones among a sample drawn without replacement",
       {{"ngood", up_to_1e9}, {"nbad", up_to_1e9}, {"nsample", up_to_1e9}},
       kWhole,
       sampled<hypergeometric>,
       [](const Parameters& p, std::size_t i) -> std::string_view {
         return p.value(2, i) <= p.value(0, i) + p.value(1, i) ? ""
                                                               : "ngood + nbad is below nsample";
       }},
      {"random.logseries", "the logarithmic series", {{"p", share}}, kWhole, sampled<logseries>},
      {"random.zipf", "Zipf's: k with weight k^-a", {{"a", above_one}}, kWhole, sampled<zipf>},
  };
}

}  // namespace

const std::vector<Distribution>& distributions() {
  static const std::vector<Distribution> kAll = make();
  return kAll;
}

const Distribution* find_distribution(std::string_view name) {
  for (const Distribution& each : distributions())
    if (each.name == name) return &each;
  return nullptr;
}

}  // namespace muster::engine::random
