#pragma once

#include <memory>

#include <nanobind/nanobind.h>

namespace muster::python {

namespace nb = nanobind;

/// Work that needs the interpreter but arises where the GIL is not held, perhaps under a lock of
/// the library or while the interpreter shuts down: letting go of a Python object, writing a log
/// line. It is put aside without waiting and done by the next thread that holds the GIL and comes
/// by: every call into the library, every waiting thread ten times a second, and the interpreter's
/// own pending calls. So no foreign thread ever waits for the GIL.
class Chore {
 public:
  virtual ~Chore() = default;
  /// With the GIL held.
  virtual void run() = 0;

 private:
  friend void put_aside(std::unique_ptr<Chore> chore) noexcept;
  friend void do_chores();
  Chore* next_ = nullptr;  // the list that it waits in owns it
};

/// Thread-safe, with or without the GIL.
void put_aside(std::unique_ptr<Chore> chore) noexcept;

/// With the GIL held: does what was put aside. Costs a load when there is nothing. Keeps a pending
/// Python exception as it is.
void do_chores();

/// For waits of the library, without the GIL: true when a signal handler raised. The exception is
/// then set in this thread, and must be thrown once the GIL is held again.
bool interrupted();

/// Throws the exception that `interrupted` left.
void throw_if_raised();

}  // namespace muster::python
