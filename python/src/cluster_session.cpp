#include "cluster_session.h"

#include <chrono>
#include <memory>
#include <string>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include "engine_calls.h"
#include "engine_values.h"
#include "muster/service/client/cluster_session.h"
#include "muster/service/errc.h"

namespace muster::python {

namespace {

using engine::ArrayError;
using engine::Tensor;
using engine::Wrong;
using service::ClusterSession;

[[noreturn]] void raise_opening(const Error& error) {
  PyObject* type = PyExc_ConnectionError;
  if (error.is(service::Errc::refused)) type = PyExc_PermissionError;
  if (error.is(service::Errc::invalid)) type = PyExc_ValueError;
  PyErr_SetString(type, error.message().c_str());
  throw nb::python_error();
}

Duration seconds(double number, const char* name) {
  if (!(number > 0) || number > 1e7)
    throw nb::value_error((std::string(name) + " must be a positive number of seconds").c_str());
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(number));
}

std::unique_ptr<ClusterSession> open(const std::string& url, const std::string& token,
                                     const std::string& tls_ca, double timeout,
                                     double session_timeout, std::size_t connections,
                                     const std::string& name) {
  service::ClusterOptions options;
  options.token = token;
  options.tls_ca = tls_ca;
  options.timeout = seconds(timeout, "timeout");
  options.session_timeout = seconds(session_timeout, "session_timeout");
  options.connections = connections;
  options.name = name;
  auto opened = [&] {
    const nb::gil_scoped_release released;
    return ClusterSession::open(url, std::move(options));
  }();
  if (!opened) raise_opening(opened.error());
  return *std::move(opened);
}

nb::object fetch(ClusterSession& session, const Tensor& tensor) {
  return translating([&] {
    engine::Array array;
    {
      const nb::gil_scoped_release released;
      if (!tensor.node()->stored(tensor.output()))
        throw ArrayError(Wrong::value, "the tensor has not been executed");
      array = session.fetch(tensor, look_around);
    }
    return numpy_from(array, Access::writable);
  });
}

nb::object fetch_part(ClusterSession& session, const Tensor& tensor, const engine::Shape& start,
                      const engine::Shape& extents) {
  return translating([&] {
    engine::Array array;
    {
      const nb::gil_scoped_release released;
      if (!tensor.node()->stored(tensor.output()))
        throw ArrayError(Wrong::value, "the tensor has not been executed");
      array = session.fetch_part(tensor, start, extents, look_around);
    }
    return numpy_from(array, Access::writable);
  });
}

std::string cluster_info(const ClusterSession& session) {
  return translating([&] {
    const nb::gil_scoped_release released;
    return session.cluster_info().dump();
  });
}

}  // namespace

void bind_cluster_session(nb::module_& module) {
  nb::class_<ClusterSession>(module, "ClusterSession", "Computes tensors on a cluster.")
      .def(nb::new_(&open), nb::arg("url"), nb::arg("token") = "", nb::arg("tls_ca") = "",
           nb::arg("timeout") = 60.0, nb::arg("session_timeout") = 120.0,
           nb::arg("connections") = 4, nb::arg("name") = "")
      .def("execute", execute_in<ClusterSession>, nb::arg("tensors"), nb::arg("options"),
           nb::arg("control") = nb::none(), nb::arg("timeout") = nb::none(),
           nb::sig("def execute(self, tensors: collections.abc.Sequence[TensorHandle], options: "
                   "dict[str, object], "
                   "control: RunControl | None = None, timeout: float | None = None) -> None"))
      .def("fetch", fetch, nb::arg("tensor"),
           nb::sig("def fetch(self, tensor: TensorHandle) -> object"))
      .def("fetch_part", fetch_part, nb::arg("tensor"), nb::arg("start"), nb::arg("extents"),
           nb::sig(
               "def fetch_part(self, tensor: TensorHandle, start: collections.abc.Sequence[int], "
               "extents: collections.abc.Sequence[int]) -> object"),
           "The items from `start` on; only the chunks that they are in come over.")
      .def("cluster_info", cluster_info, "The state of the cluster, as JSON.")
      .def(
          "close",
          [](ClusterSession& session) {
            const nb::gil_scoped_release released;
            session.close();
          },
          "Gives back everything on the cluster.")
      .def_prop_ro("url", [](const ClusterSession& session) { return session.url(); });
}

}  // namespace muster::python
