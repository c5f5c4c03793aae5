#pragma once

#include <cstdint>
#include <string_view>

#include "muster/engine/kernels/program.h"
#include "muster/engine/value/dtype.h"

namespace muster::engine {

/// A count of nothing: not a time.
inline constexpr std::int64_t kNaT = INT64_MIN;

/// Throws ArrayError (type) naming `operation` if no rule leads from one dtype to the other: years
/// and months have no fixed length in the other units.
void check_units(DType from, DType to, std::string_view operation);

/// Adds the steps that convert a value: numbers by casts, times by rescaling where units differ.
[[nodiscard]] std::uint16_t convert(Program::Builder& builder, std::uint16_t value, DType from,
                                    DType to);

/// The loops that rescale, with a time and a factor as inputs; for the registry.
[[nodiscard]] const Ufunc& rescale_ufunc();

}  // namespace muster::engine
