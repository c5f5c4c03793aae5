#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "body.h"
#include "cluster_session.h"
#include "endpoint.h"
#include "errors.h"
#include "events.h"
#include "group.h"
#include "log.h"
#include "memory.h"
#include "message.h"
#include "muster/version.h"
#include "proxy.h"
#include "session_enums.h"
#include "tensor.h"

NB_MODULE(_core, module) {
  module.doc() = "The native part of Muster.";
  // A program that ends with proxies or messages in its hands has done nothing wrong.
  nanobind::set_leak_warnings(false);
  module.attr("version") = std::string(muster::kVersion);
  muster::python::bind_errors(module);
  muster::python::bind_log(module);
  muster::python::bind_memory(module);
  muster::python::bind_body(module);
  muster::python::bind_session_enums(module);
  muster::python::bind_message(module);
  muster::python::bind_proxy(module);
  muster::python::bind_events(module);
  muster::python::bind_endpoint(module);
  muster::python::bind_group(module);
  muster::python::bind_tensor(module);
  muster::python::bind_cluster_session(module);
}
