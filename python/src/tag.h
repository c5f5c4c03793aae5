#pragma once

#include <nanobind/nanobind.h>

#include "muster/base/name.h"

namespace muster::python {

namespace nb = nanobind;

/// A tag as it travels: its text, and for a member of an Enum where that is defined.
struct Tag {
  Name text;
  Name origin;  ///< "package.module:Color.red"; empty for a `str`
};

/// Of a `str` or a member of an Enum (its value is the text). Throws TypeError for other values.
[[nodiscard]] Tag encode_tag(nb::handle tag);

/// The member of the Enum again, found as pickle finds it; the text where there is none by that
/// name.
[[nodiscard]] nb::object decode_tag(const Name& text, const Name& origin);

}  // namespace muster::python
