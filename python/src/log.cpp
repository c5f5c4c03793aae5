#include "log.h"

#include <string>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "interpreter.h"
#include "muster/base/log.h"
#include "names.h"

namespace muster::python {
namespace {

// Called with (level, area, text). Lives as long as the interpreter.
PyObject* writer = nullptr;

class LogLine final : public Chore {
 public:
  LogLine(LogLevel level, std::string_view area, std::string_view text)
      : level_(level), area_(area), text_(text) {}

  void run() override {
    if (writer == nullptr) return;
    // Python's levels are 10 for debug, 20 for info, and so on.
    const int level = 10 * (static_cast<int>(level_) + 1);
    try {
      nb::borrow(writer)(level, to_str(area_), to_str(text_));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("writing a log line of muster");
    }
  }

 private:
  LogLevel level_;
  std::string area_;
  std::string text_;
};

void set_writer(nb::object callable) {
  if (callable.is_none()) {
    set_log_sink({});
    do_chores();
    Py_CLEAR(writer);
    return;
  }
  Py_XSETREF(writer, callable.release().ptr());
  set_log_sink([](LogLevel level, std::string_view area, std::string_view text) {
    put_aside(std::make_unique<LogLine>(level, area, text));
  });
}

/// `level` is one of Python's.
void set_level(int level) {
  const int index = level <= 0 ? 0 : (level - 1) / 10;
  set_log_level(index >= 4 ? LogLevel::off : static_cast<LogLevel>(index));
}

}  // namespace

void bind_log(nb::module_& module) {
  module.def("set_log_writer", &set_writer, nb::arg("writer").none(),
             nb::sig("def set_log_writer(writer: collections.abc.Callable[[int, str, str], None] | "
                     "None) -> None"),
             "Sends log lines to writer(level, area, text); None sends them to stderr again.");
  module.def("set_log_level", &set_level, nb::arg("level"),
             "Drops log lines below this level of Python's logging.");
}

}  // namespace muster::python
