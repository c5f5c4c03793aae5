#include "held_object.h"

#include "interpreter.h"

namespace muster::python {

namespace {

class Held final : public Chore {
 public:
  explicit Held(nb::handle object) : object_(nb::borrow(object)) {}
  void run() override { object_.reset(); }

 private:
  nb::object object_;
};

}  // namespace

std::shared_ptr<const void> hold(nb::handle object) {
  return {new Held(object), [](Held* held) {  // NOLINT: the deleter owns it at once
            std::unique_ptr<Chore> owned(held);
            if (PyGILState_Check() == 0)
              put_aside(std::move(owned));
            else
              owned->run();
          }};
}

}  // namespace muster::python
