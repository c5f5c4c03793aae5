#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "muster/version.h"

NB_MODULE(_core, module) {
  module.doc() = "The native part of Muster.";
  module.attr("version") = std::string(muster::kVersion);
}
