#include "modules.h"

namespace muster::python {
namespace {

nb::handle find(const char* module, const char* name) {
  return nb::object(nb::module_::import_(module).attr(name)).release();
}

}  // namespace

const Modules& Modules::get() {
  static const Modules modules{
      find("pickle", "dumps"), find("pickle", "loads"),  find("json", "dumps"),
      find("json", "loads"),   find("numpy", "ndarray"), find("numpy", "dtype"),
      find("enum", "Enum"),
  };
  return modules;
}

}  // namespace muster::python
