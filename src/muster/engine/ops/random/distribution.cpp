#include "muster/engine/ops/random/distribution.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/engine/errors.h"

namespace muster::engine::random {

namespace {

/// Whether a value is what a parameter needs. NaN never is.
bool fits(Needs needs, double value) {
  switch (needs) {
    case Needs::anything: return true;
    case Needs::not_negative: return value >= 0;
    case Needs::positive: return value > 0;
    case Needs::count: return value >= 0 && value <= 9e18;
    case Needs::up_to_1e9: return value >= 0 && value <= 1e9;
    case Needs::probability: return value >= 0 && value <= 1;
    case Needs::chance: return value > 0 && value <= 1;
    case Needs::share: return value >= 0 && value < 1;
    case Needs::above_one: return value > 1;
    case Needs::rate: return value >= 0 && value <= 9.2e18;
  }
  return true;
}

std::string_view text(Needs needs) {
  switch (needs) {
    case Needs::anything: return "anything";
    case Needs::not_negative: return "at least 0";
    case Needs::positive: return "above 0";
    case Needs::count: return "at least 0 and a number that int64 holds";
    case Needs::up_to_1e9: return "from 0 to 1e9";
    case Needs::probability: return "from 0 to 1";
    case Needs::chance: return "above 0 and at most 1";
    case Needs::share: return "at least 0 and below 1";
    case Needs::above_one: return "above 1";
    case Needs::rate: return "from 0 to 9.2e18";
  }
  return "";
}

template <class T>
void check_order(const Distribution& distribution, const Parameters& p, std::size_t count) {
  if (p.step[0] == 0 && p.step[1] == 0) count = std::min<std::size_t>(count, 1);
  for (std::size_t i = 0; i < count; ++i)
    if (p.value<T>(0, i) > p.value<T>(1, i))
      wrong_value(fmt::format("[{}] low {} is above high {}", distribution.name, p.value<T>(0, i),
                              p.value<T>(1, i)));
}

}  // namespace

void check(const Distribution& distribution, std::size_t number, const double* values,
           std::size_t count) {
  const Parameter& parameter = distribution.parameters[number];
  for (std::size_t i = 0; i < count; ++i)
    if (!fits(parameter.needs, values[i]))
      wrong_value(fmt::format("[{}] {} is {}, but must be {}", distribution.name, parameter.name,
                              values[i], text(parameter.needs)));
}

void check(const Distribution& distribution, const Parameters& parameters, std::size_t count) {
  if (distribution.parameter_type == Type::i64)
    return check_order<std::int64_t>(distribution, parameters, count);
  if (distribution.parameter_type == Type::u64)
    return check_order<std::uint64_t>(distribution, parameters, count);
  for (std::size_t number = 0; number < distribution.parameters.size(); ++number)
    check(distribution, number, reinterpret_cast<const double*>(parameters.at[number]),
          parameters.step[number] == 0 ? 1 : count);
  if (distribution.check == nullptr) return;
  if (std::all_of(parameters.step.begin(), parameters.step.end(), [](Index s) { return s == 0; }))
    count = std::min<std::size_t>(count, 1);
  for (std::size_t i = 0; i < count; ++i)
    if (const std::string_view wrong = distribution.check(parameters, i); !wrong.empty())
      wrong_value(fmt::format("[{}] {}", distribution.name, wrong));
}

}  // namespace muster::engine::random
