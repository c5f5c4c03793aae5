#include "endpoint.h"

#include <map>
#include <string>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "calls.h"
#include "message.h"
#include "muster/comm/proxy/driver_endpoint.h"
#include "names.h"

namespace muster::python {
namespace {

using Milliseconds = std::optional<double>;

class EndpointObject {
 public:
  explicit EndpointObject(comm::DriverEndpoint endpoint) : endpoint_(std::move(endpoint)) {}
  EndpointObject(const EndpointObject&) = delete;
  EndpointObject& operator=(const EndpointObject&) = delete;
  ~EndpointObject() { close(); }

  [[nodiscard]] comm::DriverEndpoint& native() { return endpoint_; }
  void close() {
    const nb::gil_scoped_release released;
    endpoint_.close();
  }

 private:
  comm::DriverEndpoint endpoint_;
};

void open_endpoint(EndpointObject* self, std::string type, std::string driver,
                   std::map<std::string, std::string> driver_options, Milliseconds send_timeout) {
  comm::EndpointOptions options;
  options.type = std::move(type);
  options.driver = std::move(driver);
  options.driver_options = std::move(driver_options);
  // Longer than any program runs.
  options.send_timeout = from_milliseconds(send_timeout).value_or(std::chrono::hours(24 * 365));
  options.interrupted = &interrupted;
  new (self)
      EndpointObject(call_or_raise([&] { return comm::DriverEndpoint::open(std::move(options)); }));
}

/// A plain message expects no answer.
comm::Message outgoing(nb::handle message) {
  if (!nb::isinstance<MessageObject>(message)) {
    throw nb::type_error(
        (std::string("message is a Message, not ") + nb::repr(message).c_str()).c_str());
  }
  auto& object = nb::cast<MessageObject&>(message);
  comm::Message native = object.outgoing();
  object.set_sent();
  if (!nb::isinstance<SessionMessageObject>(message))
    native.session_type = comm::SessionType::notification;
  return native;
}

void send(EndpointObject& self, nb::handle message) {
  const comm::Message native = outgoing(message);
  call_or_raise([&] { return self.native().send(native); });
}

void broadcast(EndpointObject& self, std::string_view type, nb::handle message) {
  const comm::Message native = outgoing(message);
  call_or_raise([&] { return self.native().broadcast(type, native); });
}

nb::object receive_once(EndpointObject& self, Milliseconds timeout) {
  auto received =
      call_or_raise([&] { return self.native().receive_once(from_milliseconds(timeout)); });
  if (!received) return nb::none();
  return to_python(*std::move(received));
}

}  // namespace

void bind_endpoint(nb::module_& module) {
  nb::class_<EndpointObject>(module, "Endpoint",
                             "What the drivers of muster.communication stand on.")
      .def("__init__", &open_endpoint, nb::arg("component_type"), nb::arg("driver"),
           nb::arg("driver_options"), nb::arg("send_timeout").none())
      .def_prop_ro("name", [](EndpointObject& self) { return self.native().name(); })
      .def_prop_ro(
          "address",
          [](EndpointObject& self) { return without_gil([&] { return self.native().address(); }); })
      .def(
          "connect",
          [](EndpointObject& self, const Name& peer, std::string_view address) {
            call_or_raise([&] { return self.native().connect(peer, address); });
          },
          nb::arg("peer"), nb::arg("address"))
      .def(
          "disconnect",
          [](EndpointObject& self, const Name& peer) {
            call_or_raise([&] { return self.native().disconnect(peer); });
          },
          nb::arg("peer"))
      .def("send", &send, nb::arg("message"), nb::sig("def send(self, message: Message) -> None"))
      .def("broadcast", &broadcast, nb::arg("component_type"), nb::arg("message"),
           nb::sig("def broadcast(self, component_type: str, message: Message) -> None"))
      .def("receive_once", &receive_once, nb::arg("timeout").none(),
           nb::sig("def receive_once(self, timeout: float | None) -> SessionMessage | None"))
      .def("close", &EndpointObject::close);
}

}  // namespace muster::python
