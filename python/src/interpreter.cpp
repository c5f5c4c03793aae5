#include "interpreter.h"

#include <atomic>

namespace muster::python {
namespace {

// A stack that threads push to and the holder of the GIL takes as a whole. Lock-free, so that a
// fork in the middle of a push leaves it usable.
std::atomic<Chore*> chores{nullptr};
std::atomic<bool> announced{false};

int on_pending_call(void* /*unused*/) {
  announced.store(false, std::memory_order_relaxed);
  do_chores();
  return 0;
}

bool finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

}  // namespace

void put_aside(std::unique_ptr<Chore> chore) noexcept {
  Chore* const added = chore.release();
  added->next_ = chores.load(std::memory_order_relaxed);
  while (!chores.compare_exchange_weak(added->next_, added, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
  if (announced.exchange(true, std::memory_order_relaxed)) return;
  // May fail when the interpreter's queue is full: the next caller does the chores then.
  if (Py_AddPendingCall(&on_pending_call, nullptr) != 0) announced.store(false);
}

void do_chores() {
  if (chores.load(std::memory_order_relaxed) == nullptr) return;
  Chore* stack = chores.exchange(nullptr, std::memory_order_acquire);
  Chore* in_order = nullptr;
  while (stack != nullptr) {
    Chore* const next = stack->next_;
    stack->next_ = in_order;
    in_order = stack;
    stack = next;
  }
  const nb::error_scope keep_exception;
  while (in_order != nullptr) {
    const std::unique_ptr<Chore> chore(in_order);
    in_order = in_order->next_;
    chore->run();
  }
}

bool interrupted() {
  if (finalizing()) return false;
  const PyGILState_STATE state = PyGILState_Ensure();
  do_chores();
  const bool raised = PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  return raised;
}

void throw_if_raised() {
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
}

}  // namespace muster::python
