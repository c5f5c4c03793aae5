#include "muster/engine/kernels/time_units.h"

#include <array>

#include <fmt/format.h>

#include "muster/engine/errors.h"

namespace muster::engine {

namespace {

constexpr bool is_calendar(TimeUnit unit) { return unit == TimeUnit::Y || unit == TimeUnit::M; }

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t whole = a / b;
  return whole - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::int64_t wrapping_multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// Days from 1970-01-01 to the first of a month, counted from January 1970; the proleptic
/// Gregorian calendar, years beginning in March so that leap days come last.
std::int64_t days_of_month(std::int64_t months) {
  const std::int64_t year = 1970 + floor_divide(months, 12);
  const std::int64_t month = months - floor_divide(months, 12) * 12;  // 0 is January
  const std::int64_t from_march = (month + 10) % 12;
  const std::int64_t y = month < 2 ? year - 1 : year;
  const std::int64_t era = floor_divide(y, 400);
  const std::int64_t of_era = y - era * 400;
  const std::int64_t day = (153 * from_march + 2) / 5;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + day - 719468;
}

std::int64_t month_of_day(std::int64_t days) {
  const std::int64_t shifted = days + 719468;
  const std::int64_t era = floor_divide(shifted, 146097);
  const std::int64_t of_era = shifted - era * 146097;
  const std::int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const std::int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const std::int64_t from_march = (5 * of_year + 2) / 153;
  const std::int64_t month = (from_march + 2) % 12;
  return (year + era * 400 + (month < 2 ? 1 : 0) - 1970) * 12 + month;
}

std::int64_t up(std::int64_t time, std::int64_t factor) { return wrapping_multiply(time, factor); }
std::int64_t down(std::int64_t time, std::int64_t factor) { return floor_divide(time, factor); }
std::int64_t months_to_days(std::int64_t time, std::int64_t) { return days_of_month(time); }
std::int64_t days_to_months(std::int64_t time, std::int64_t) { return month_of_day(time); }

template <std::int64_t (*kChange)(std::int64_t, std::int64_t)>
void rescale(const std::byte* const* in, std::byte* out, std::size_t count) {
  const auto* const times = reinterpret_cast<const std::int64_t*>(in[0]);
  const auto* const factors = reinterpret_cast<const std::int64_t*>(in[1]);
  auto* const to = reinterpret_cast<std::int64_t*>(out);
  for (std::size_t i = 0; i < count; ++i)
    to[i] = times[i] == kNaT ? kNaT : kChange(times[i], factors[i]);
}

enum Change : std::size_t { kUp, kDown, kMonthsToDays, kDaysToMonths };

/// How many of `fine` make one `coarse`, both of fixed length; 0 if no integer holds it.
std::int64_t ratio(TimeUnit coarse, TimeUnit fine) {
  // From each unit to the next finer one, weeks first.
  constexpr std::array<std::int64_t, 10> kSteps = {7,    24,   60,   60,   1000,
                                                   1000, 1000, 1000, 1000, 1000};
  std::int64_t product = 1;
  for (auto unit = static_cast<std::size_t>(coarse); unit < static_cast<std::size_t>(fine); ++unit)
    if (__builtin_mul_overflow(product, kSteps[unit - static_cast<std::size_t>(TimeUnit::W)],
                               &product))
      return 0;
  return product;
}

}  // namespace

const Ufunc& rescale_ufunc() {
  constexpr std::array<Type, 3> kInputs = {Type::timedelta, Type::i64};
  static const Ufunc kUfunc{2,
                            {{kInputs, Type::timedelta, rescale<up>},
                             {kInputs, Type::timedelta, rescale<down>},
                             {kInputs, Type::timedelta, rescale<months_to_days>},
                             {kInputs, Type::timedelta, rescale<days_to_months>}}};
  return kUfunc;
}

void check_units(DType from, DType to, std::string_view operation) {
  if (!is_time(from.type) || !is_time(to.type) || from.unit == to.unit ||
      from.unit == TimeUnit::generic || to.unit == TimeUnit::generic)
    return;
  const bool mixed = is_calendar(from.unit) != is_calendar(to.unit);
  const bool of_differences = from.type == Type::timedelta || to.type == Type::timedelta;
  if (mixed && of_differences)
    wrong_type(fmt::format("[{}] {} cannot become {}: years and months have no fixed length",
                           operation, name(from), name(to)));
}

std::uint16_t convert(Program::Builder& builder, std::uint16_t value, DType from, DType to) {
  if (!is_time(from.type) || !is_time(to.type) || from.unit == to.unit ||
      from.unit == TimeUnit::generic || to.unit == TimeUnit::generic)
    return builder.cast(value, to.type);
  const auto change = [&](Change how, std::int64_t factor) {
    value = builder.step("rescale_times", rescale_ufunc(), how,
                         {value, builder.constant(Scalar(factor))});
  };
  TimeUnit unit = from.unit;
  if (unit == TimeUnit::Y) {
    change(kUp, 12);
    unit = TimeUnit::M;
  }
  if (is_calendar(to.unit)) {
    if (unit != TimeUnit::M) {
      if (unit == TimeUnit::W)
        change(kUp, 7);
      else if (unit != TimeUnit::D)
        change(kDown, ratio(TimeUnit::D, unit));
      change(kDaysToMonths, 1);
    }
    if (to.unit == TimeUnit::Y) change(kDown, 12);
    return value;
  }
  if (unit == TimeUnit::M) {
    change(kMonthsToDays, 1);
    unit = TimeUnit::D;
  }
  if (unit == to.unit) return value;
  const bool finer = unit < to.unit;
  const std::int64_t factor = finer ? ratio(unit, to.unit) : ratio(to.unit, unit);
  if (factor == 0)
    wrong_value(fmt::format("[astype] {} cannot become {}: the units are too far apart", name(from),
                            name(to)));
  change(finer ? kUp : kDown, factor);
  return value;
}

}  // namespace muster::engine
