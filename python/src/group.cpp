#include "group.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "calls.h"
#include "collective_call.h"
#include "memory.h"
#include "muster/comm/collective/choice.h"
#include "muster/comm/collective/group.h"
#include "proxy.h"

namespace muster::python {
namespace {

using comm::Group;
using Seconds = std::optional<double>;

Duration duration_of(nb::handle seconds) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(nb::cast<double>(seconds)));
}

comm::Plane plane_of(const std::string& name) {
  if (name == "auto") return comm::Plane::automatic;
  if (name == "shared") return comm::Plane::shared;
  if (name == "network") return comm::Plane::network;
  throw nb::value_error(("plane is 'auto', 'shared' or 'network', not '" + name + "'").c_str());
}

/// A call under way, with what it works on. Destroyed with the GIL held; a call that is not over is
/// given up then.
class HandleObject {
 public:
  HandleObject(comm::Handle handle, CollectiveCall call)
      : call_(std::move(call)), handle_(std::move(handle)) {}
  HandleObject(const HandleObject&) = delete;
  HandleObject& operator=(const HandleObject&) = delete;
  ~HandleObject() {
    const nb::gil_scoped_release released;
    handle_ = {};
  }

  void wait(Seconds timeout) {
    const Result<void> over = without_gil([&] { return handle_.wait(from_seconds(timeout)); });
    raise_or_return(over);
  }

  bool test() {
    const Result<bool> over = without_gil([&] { return handle_.test(); });
    if (!over || *over) raise_or_return(over);
    return *over;
  }

  void cancel() {
    const nb::gil_scoped_release released;
    handle_.cancel();
  }

 private:
  template <class T>
  void raise_or_return(const Result<T>& over) {
    if (call_.user) call_.user->throw_if_raised();
    if (!over) raise(over.error());
  }

  CollectiveCall call_;
  comm::Handle handle_;
};

class GroupObject {
 public:
  explicit GroupObject(Group group) : group_(std::move(group)) {}
  GroupObject(const GroupObject&) = delete;
  GroupObject& operator=(const GroupObject&) = delete;
  ~GroupObject() {
    // What is left of it may wait for threads that need the interpreter.
    const nb::gil_scoped_release released;
    const Group last = std::move(group_);
  }

  [[nodiscard]] Group& native() { return group_; }

  void close() {
    const nb::gil_scoped_release released;
    group_.close();
  }

 private:
  Group group_;
};

nb::object to_python(Group group) {
  return nb::cast(std::make_unique<GroupObject>(std::move(group)));
}

/// What `join` and `from_environment` both take.
comm::GroupOptions options_of(const nb::dict& given) {
  comm::GroupOptions options;
  options.member = nb::cast<std::string>(given["member"]);
  options.discovery = nb::cast<std::string>(given["discovery"]);
  options.driver = nb::cast<std::string>(given["driver"]);
  options.driver_options = nb::cast<std::map<std::string, std::string>>(given["driver_options"]);
  options.security.secret = nb::cast<std::string>(given["secret"]);
  options.security.insecure = nb::cast<bool>(given["insecure"]);
  options.join_timeout = duration_of(given["join_timeout"]);
  options.lease = duration_of(given["lease"]);
  options.plane = plane_of(nb::cast<std::string>(given["plane"]));
  options.minority_may_shrink = nb::cast<bool>(given["minority_may_shrink"]);
  options.interrupted = &interrupted;
  return options;
}

nb::object join(const std::string& name, int size, std::optional<int> rank, const nb::dict& given) {
  comm::GroupOptions options = options_of(given);
  options.name = name;
  options.size = size;
  options.rank = rank;
  return to_python(call_or_raise([&] { return Group::join(std::move(options)); }));
}

nb::object from_environment(const nb::dict& given) {
  comm::GroupOptions options = options_of(given);
  return to_python(call_or_raise([&] { return Group::from_environment(std::move(options)); }));
}

nb::object from_proxy(nb::handle proxy, const std::string& name,
                      const std::vector<std::string>& types, int size, std::optional<int> rank,
                      double join_timeout, const std::string& plane) {
  comm::FromProxyOptions options;
  options.name = name;
  options.types = types;
  options.size = size;
  options.rank = rank;
  options.join_timeout = duration_of(nb::float_(join_timeout));
  options.plane = plane_of(plane);
  comm::Proxy& native = native_proxy(proxy);
  return to_python(call_or_raise([&] { return Group::from(native, std::move(options)); }));
}

comm::CallOptions call_options(int tag, Seconds timeout) {
  if (tag < 0 || tag > 255) throw nb::value_error("tag is a number from 0 to 255");
  return {tag, from_seconds(timeout)};
}

CollectiveCall call_of(GroupObject& self, std::string operation, nb::object input,
                       nb::object output, nb::object reduction, bool commutative, int root,
                       nb::object counts, nb::object receive_counts) {
  const CollectiveArguments arguments = {std::move(operation), std::move(input),
                                         std::move(output),    std::move(reduction),
                                         commutative,          root,
                                         std::move(counts),    std::move(receive_counts)};
  return collective_call(arguments, self.native().rank(), self.native().size());
}

void run(GroupObject& self, std::string operation, nb::object input, nb::object output,
         nb::object reduction, bool commutative, int root, nb::object counts,
         nb::object receive_counts, int tag, Seconds timeout) {
  const comm::CallOptions options = call_options(tag, timeout);
  const CollectiveCall made =
      call_of(self, std::move(operation), std::move(input), std::move(output), std::move(reduction),
              commutative, root, std::move(counts), std::move(receive_counts));
  const Result<void> done = without_gil([&] { return self.native().run(made.call, options); });
  if (made.user) made.user->throw_if_raised();
  if (!done) raise(done.error());
}

nb::object start(GroupObject& self, std::string operation, nb::object input, nb::object output,
                 nb::object reduction, bool commutative, int root, nb::object counts,
                 nb::object receive_counts, int tag, Seconds timeout) {
  const comm::CallOptions options = call_options(tag, timeout);
  CollectiveCall made =
      call_of(self, std::move(operation), std::move(input), std::move(output), std::move(reduction),
              commutative, root, std::move(counts), std::move(receive_counts));
  comm::Handle handle = call_or_raise([&] { return self.native().start(made.call, options); });
  return nb::cast(std::make_unique<HandleObject>(std::move(handle), std::move(made)));
}

void check_peer(GroupObject& self, const char* operation, const char* argument, int rank) {
  if (rank < 0 || rank >= self.native().size())
    throw nb::value_error((std::string("[") + operation + "] " + argument + " is " +
                           std::to_string(rank) + ", and the group has the ranks 0 to " +
                           std::to_string(self.native().size() - 1))
                              .c_str());
}

void send(GroupObject& self, nb::handle data, int to, int tag, Seconds timeout) {
  const ArrayView view(data, "[send] data", ArrayView::Access::read);
  check_peer(self, "send", "to", to);
  const comm::CallOptions options = call_options(tag, timeout);
  call_or_raise([&] {
    return self.native().send_bytes(to, {view.data(), view.bytes()}, view.element(), options);
  });
}

void receive(GroupObject& self, nb::handle out, int from, int tag, Seconds timeout) {
  const ArrayView view(out, "[recv] out", ArrayView::Access::write);
  check_peer(self, "recv", "source", from);
  const comm::CallOptions options = call_options(tag, timeout);
  call_or_raise([&] {
    return self.native().receive_bytes(from, {view.data(), view.bytes()}, view.element(), options);
  });
}

nb::object start_send(GroupObject& self, nb::handle data, int to, int tag, Seconds timeout) {
  CollectiveCall held;
  held.input = ArrayView(data, "[isend] data", ArrayView::Access::read);
  check_peer(self, "isend", "to", to);
  const comm::CallOptions options = call_options(tag, timeout);
  comm::Handle handle = call_or_raise([&] {
    return self.native().start_send(to, {held.input.data(), held.input.bytes()},
                                    held.input.element(), options);
  });
  return nb::cast(std::make_unique<HandleObject>(std::move(handle), std::move(held)));
}

nb::object start_receive(GroupObject& self, nb::handle out, int from, int tag, Seconds timeout) {
  CollectiveCall held;
  held.output = ArrayView(out, "[irecv] out", ArrayView::Access::write);
  check_peer(self, "irecv", "source", from);
  const comm::CallOptions options = call_options(tag, timeout);
  comm::Handle handle = call_or_raise([&] {
    return self.native().start_receive(from, {held.output.data(), held.output.bytes()},
                                       held.output.element(), options);
  });
  return nb::cast(std::make_unique<HandleObject>(std::move(handle), std::move(held)));
}

nb::object split(GroupObject& self, int color, int key, int tag, Seconds timeout) {
  const comm::CallOptions options = call_options(tag, timeout);
  return to_python(call_or_raise([&] { return self.native().split(color, key, options); }));
}

nb::tuple agree(GroupObject& self, std::uint64_t bits, Seconds timeout) {
  const Group::Agreement agreed =
      call_or_raise([&] { return self.native().agree(bits, from_seconds(timeout)); });
  return nb::make_tuple(agreed.bits, agreed.ranks);
}

nb::tuple shrink(GroupObject& self, Seconds timeout) {
  comm::Shrunk shrunk = call_or_raise([&] { return self.native().shrink(from_seconds(timeout)); });
  nb::dict by_tag;
  for (const auto& [tag, finished] : shrunk.by_tag)
    by_tag[nb::int_(tag)] = nb::make_tuple(finished.calls, finished.last);
  return nb::make_tuple(to_python(std::move(shrunk.group)), shrunk.lost, shrunk.finished,
                        shrunk.last, by_tag);
}

nb::object grow(GroupObject& self, int newcomers, Seconds timeout) {
  return to_python(
      call_or_raise([&] { return self.native().grow(newcomers, from_seconds(timeout)); }));
}

nb::object allocate(GroupObject& self, std::size_t bytes) {
  comm::WritableBuffer memory = call_or_raise([&] { return self.native().allocate(bytes); });
  return nb::cast(Memory(std::move(memory).freeze(), Memory::Access::writable));
}

std::string plane_name(GroupObject& self) {
  return self.native().plane() == comm::Plane::shared ? "shared" : "network";
}

/// (NumPy dtype, shape) of what a collective would work on.
nb::tuple describe(nb::handle array, const std::string& what) {
  const ArrayView view(array, what, ArrayView::Access::read);
  nb::list shape;
  for (const std::size_t extent : view.shape()) shape.append(extent);
  const nb::object dtype = view.is_bool()
                               ? nb::object(nb::module_::import_("numpy").attr("dtype")("bool"))
                               : dtype_of(view.element());
  return nb::make_tuple(dtype, nb::tuple(shape));
}

template <class Function>
void def_call(nb::class_<GroupObject>& type, const char* name, Function function,
              const char* returns) {
  const std::string signature =
      std::string("def ") + name +
      "(self, operation: str, data: object, out: object, op: object, commutative: bool, root: int, "
      "counts: object, receive_counts: object, tag: int, timeout: float | None) -> " +
      returns;
  type.def(name, function, nb::arg("operation"), nb::arg("data").none(), nb::arg("out").none(),
           nb::arg("op").none(), nb::arg("commutative"), nb::arg("root"), nb::arg("counts").none(),
           nb::arg("receive_counts").none(), nb::arg("tag"), nb::arg("timeout").none(),
           nb::sig(signature.c_str()));
}

}  // namespace

void bind_group(nb::module_& module) {
  const auto timeout = nb::arg("timeout").none();
  nb::class_<HandleObject>(module, "NativeHandle", "What muster.collective.Handle stands on.")
      .def("wait", &HandleObject::wait, timeout)
      .def("test", &HandleObject::test)
      .def("cancel", &HandleObject::cancel);

  nb::class_<GroupObject> type(module, "NativeGroup", nb::is_weak_referenceable(),
                               "What muster.collective.Group stands on.");
  type.def_static("join", &join, nb::arg("name"), nb::arg("size"), nb::arg("rank").none(),
                  nb::arg("options"),
                  nb::sig("def join(name: str, size: int, rank: int | None, options: dict[str, "
                          "typing.Any]) -> NativeGroup"))
      .def_static("from_environment", &from_environment, nb::arg("options"),
                  nb::sig("def from_environment(options: dict[str, typing.Any]) -> NativeGroup"))
      .def_static("from_proxy", &from_proxy, nb::arg("proxy"), nb::arg("name"), nb::arg("types"),
                  nb::arg("size"), nb::arg("rank").none(), nb::arg("join_timeout"),
                  nb::arg("plane"),
                  nb::sig("def from_proxy(proxy: NativeProxy, name: str, types: list[str], size: "
                          "int, rank: int | None, join_timeout: float, plane: str) -> NativeGroup"))
      .def_prop_ro("rank", [](GroupObject& self) { return self.native().rank(); })
      .def_prop_ro("size", [](GroupObject& self) { return self.native().size(); })
      .def_prop_ro("name", [](GroupObject& self) { return self.native().name(); })
      .def_prop_ro("epoch", [](GroupObject& self) { return self.native().epoch(); })
      .def_prop_ro("members", [](GroupObject& self) { return self.native().members(); })
      .def_prop_ro(
          "lost",
          [](GroupObject& self) { return without_gil([&] { return self.native().lost(); }); })
      .def_prop_ro("plane", &plane_name)
      .def("send", &send, nb::arg("data"), nb::arg("to"), nb::arg("tag"), timeout)
      .def("recv", &receive, nb::arg("out"), nb::arg("source"), nb::arg("tag"), timeout)
      .def("isend", &start_send, nb::arg("data"), nb::arg("to"), nb::arg("tag"), timeout,
           nb::sig("def isend(self, data: object, to: int, tag: int, timeout: float | None) -> "
                   "NativeHandle"))
      .def("irecv", &start_receive, nb::arg("out"), nb::arg("source"), nb::arg("tag"), timeout,
           nb::sig("def irecv(self, out: object, source: int, tag: int, timeout: float | None) -> "
                   "NativeHandle"))
      .def("split", &split, nb::arg("color"), nb::arg("key"), nb::arg("tag"), timeout,
           nb::sig("def split(self, color: int, key: int, tag: int, timeout: float | None) -> "
                   "NativeGroup"))
      .def("agree", &agree, nb::arg("bits"), timeout,
           nb::sig("def agree(self, bits: int, timeout: float | None) -> tuple[int, list[int]]"))
      .def("shrink", &shrink, timeout,
           nb::sig("def shrink(self, timeout: float | None) -> tuple[NativeGroup, list[int], int, "
                   "str, dict[int, tuple[int, str]]]"))
      .def("grow", &grow, nb::arg("newcomers"), timeout,
           nb::sig("def grow(self, newcomers: int, timeout: float | None) -> NativeGroup"))
      .def("allocate", &allocate, nb::arg("bytes"),
           nb::sig("def allocate(self, bytes: int) -> Memory"))
      .def("close", &GroupObject::close);
  def_call(type, "run", &run, "None");
  def_call(type, "start", &start, "NativeHandle");
  module.def("describe_array", &describe, nb::arg("array").none(), nb::arg("what"),
             nb::sig("def describe_array(array: object, what: str) -> "
                     "tuple[numpy.dtype[typing.Any], tuple[int, ...]]"));
}

}  // namespace muster::python
