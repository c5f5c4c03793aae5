#include "tensor.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "engine_calls.h"
#include "engine_values.h"
#include "muster/engine/errors.h"
#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/session/explain.h"
#include "muster/engine/session/session.h"
#include "muster/engine/session/stored_chunks.h"

namespace muster::python {

void bind_array_holder(nb::module_& module);

namespace {

using engine::ArrayError;
using engine::Session;
using engine::Tensor;
using engine::Wrong;

engine::Attributes attributes_from(const nb::dict& parameters) {
  engine::Attributes::Pairs pairs;
  for (const auto& [key, value] : parameters) {
    auto name = nb::cast<std::string>(key);
    auto attribute = attribute_from(value, name.c_str());
    if (!std::holds_alternative<std::monostate>(attribute))
      pairs.emplace_back(std::move(name), std::move(attribute));
  }
  return engine::Attributes(std::move(pairs));
}

std::vector<Tensor> apply(const std::string& name, std::vector<Tensor> inputs,
                          const nb::dict& parameters, std::string origin) {
  return translating([&] {
    return engine::apply(name, std::move(inputs), attributes_from(parameters), {std::move(origin)});
  });
}

nb::object fetch(Session& session, const Tensor& tensor) {
  return translating([&] {
    engine::Array array;
    bool shared = false;
    {
      const nb::gil_scoped_release released;
      const auto stored = tensor.node()->stored(tensor.output());
      if (!stored) throw ArrayError(Wrong::value, "the tensor has not been executed");
      array = engine::assemble(*stored, session.memory());
      shared = engine::chunk_count(stored->splits()) == 1;
    }
    return numpy_from(array, shared ? Access::read_only : Access::writable);
  });
}

nb::object fetch_part(Session& session, const Tensor& tensor, const engine::Shape& start,
                      const engine::Shape& extents) {
  return translating([&] {
    engine::Array array;
    {
      const nb::gil_scoped_release released;
      const auto stored = tensor.node()->stored(tensor.output());
      if (!stored) throw ArrayError(Wrong::value, "the tensor has not been executed");
      const engine::Shape shape = engine::shape_of(stored->splits());
      if (start.size() != shape.size() || extents.size() != shape.size())
        throw ArrayError(Wrong::index, "the part has another number of axes than the tensor");
      for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (start[axis] < 0 || extents[axis] < 0 || extents[axis] > shape[axis] - start[axis])
          throw ArrayError(Wrong::index, "the part lies outside of the tensor");
      array = engine::assemble_part(*stored, start, extents, session.memory());
    }
    return numpy_from(array, Access::writable);
  });
}

nb::list operators() {
  nb::list rows;
  for (const engine::OperatorRow* row : engine::registry().operators()) {
    nb::dict each;
    each["name"] = std::string(row->name);
    each["summary"] = std::string(row->summary);
    each["family"] = std::string(engine::name(row->family));
    each["native"] = !row->through_python;
    rows.append(each);
  }
  return rows;
}

nb::list steps_of(const std::vector<engine::ExplainedStep>& from) {
  nb::list steps;
  for (const engine::ExplainedStep& step : from) {
    nb::dict each;
    each["name"] = step.name;
    each["inputs"] = step.inputs;
    each["meta"] = step.meta;
    each["detail"] = step.detail;
    steps.append(each);
  }
  return steps;
}

nb::dict explain(const std::vector<Tensor>& tensors, const nb::dict& options) {
  return translating([&] {
    const engine::Explanation explanation = engine::explain(tensors, options_from(options));
    nb::dict out;
    out["text"] = engine::text(explanation);
    out["logical"] = steps_of(explanation.logical);
    out["optimised"] = steps_of(explanation.optimised);
    return out;
  });
}

nb::tuple splits_of(const engine::Splits& splits) {
  nb::list axes;
  for (const auto& extents : splits) {
    nb::list axis;
    for (const auto extent : extents) axis.append(extent);
    axes.append(nb::tuple(axis));
  }
  return nb::tuple(axes);
}

}  // namespace

void bind_tensor(nb::module_& module) {
  bind_array_holder(module);
  nb::class_<Tensor>(module, "TensorHandle", "One output of a node in the graph of operators.")
      .def_prop_ro(
          "dtype", [](const Tensor& tensor) { return numpy_dtype(tensor.dtype()); },
          nb::sig("def dtype(self) -> object"))
      .def_prop_ro(
          "shape",
          [](const Tensor& tensor) {
            nb::list shape;
            for (const auto extent : tensor.shape())
              shape.append(extent == engine::kUnknown ? nb::float_(NAN)
                                                      : nb::object(nb::int_(extent)));
            return nb::tuple(shape);
          },
          nb::sig("def shape(self) -> tuple[int, ...]"), "Unknown sizes are nan.")
      .def_prop_ro("operator",
                   [](const Tensor& tensor) { return std::string(tensor.node()->row().name); })
      .def_prop_ro(
          "is_executed",
          [](const Tensor& tensor) { return tensor.node()->stored(tensor.output()) != nullptr; })
      .def_prop_ro(
          "is_slice_of_executed",
          [](const Tensor& tensor) {
            const engine::Node* node = tensor.node().get();
            std::size_t output = tensor.output();
            while (node->row().name == "slice" && !node->stored(output)) {
              output = node->inputs().front().output();
              node = node->inputs().front().node().get();
            }
            return node != tensor.node().get() && node->stored(output) != nullptr;
          },
          "To compute it, chunks that are there are only looked at.")
      .def_prop_ro(
          "nsplits",
          [](const Tensor& tensor) -> nb::object {
            const auto stored = tensor.node()->stored(tensor.output());
            return stored ? nb::object(splits_of(stored->splits())) : nb::none();
          },
          nb::sig("def nsplits(self) -> tuple[tuple[int, ...], ...] | None"),
          "The extents of its chunks once it is executed.")
      .def(
          "__eq__",
          [](const Tensor& a, nb::handle b) {
            return nb::isinstance<Tensor>(b) && a == nb::cast<Tensor>(b);
          },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Tensor& tensor) {
        return std::hash<const void*>()(tensor.node().get()) + tensor.output();
      });

  nb::class_<engine::RunControl>(module, "RunControl",
                                 "Watches and ends an execution; for one only.")
      .def(nb::init<>())
      .def("cancel", &engine::RunControl::cancel, "Ends the execution soon.")
      .def_prop_ro("cancelled", &engine::RunControl::cancelled)
      .def_prop_ro("tasks", [](const engine::RunControl& control) { return control.tasks.load(); })
      .def_prop_ro("done", [](const engine::RunControl& control) { return control.done.load(); })
      .def_prop_ro(
          "bytes", [](const engine::RunControl& control) { return control.bytes.load(); },
          "Bytes that tasks made; only clusters tell.");

  nb::class_<Session>(module, "EngineSession", "Computes tensors in this process.")
      .def(
          "__init__",
          [](Session* self, std::size_t threads, std::size_t memory) {
            new (self) Session({.threads = threads, .memory = memory});  // NOLINT: nanobind owns it
          },
          nb::arg("threads") = 0, nb::arg("memory") = 0)
      .def("execute", execute_in<Session>, nb::arg("tensors"), nb::arg("options"),
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
           "The items from `start` on; only the chunks that they are in are read.")
      .def_prop_ro("threads", &Session::threads)
      .def_prop_ro("memory_limit", [](Session& session) { return session.memory().limit(); })
      .def_prop_ro("memory_in_use", [](Session& session) { return session.memory().in_use(); })
      .def_prop_ro("memory_peak", [](Session& session) { return session.memory().peak(); })
      .def("reset_memory_peak", [](Session& session) { session.memory().reset_peak(); });

  module.def(
      "tensor_apply", apply, nb::arg("name"), nb::arg("inputs"), nb::arg("parameters"),
      nb::arg("origin") = "",
      nb::sig(
          "def tensor_apply(name: str, inputs: collections.abc.Sequence[TensorHandle], parameters: "
          "dict[str, object], origin: str = '') -> list[TensorHandle]"),
      "Applies an operator by name; gives its results.");
  module.def(
      "tensor_constant",
      [](nb::handle array, nb::handle chunk_size, std::string origin) {
        return translating([&] {
          const engine::OriginScope scope({std::move(origin)});
          return engine::constant(array_from(array), attribute_from(chunk_size, "chunk_size"));
        });
      },
      nb::arg("array"), nb::arg("chunk_size") = nb::none(), nb::arg("origin") = "",
      nb::sig("def tensor_constant(array: object, chunk_size: object = None, origin: str = '') -> "
              "TensorHandle"),
      "A tensor over the items of a NumPy array, which are not copied.");
  module.def(
      "tensor_explain", explain, nb::arg("tensors"), nb::arg("options"),
      nb::sig(
          "def tensor_explain(tensors: collections.abc.Sequence[TensorHandle], options: dict[str, "
          "object]) -> dict[str, typing.Any]"),
      "How an execution would go.");
  module.def("tensor_operators", operators,
             nb::sig("def tensor_operators() -> list[dict[str, object]]"),
             "The rows of the registry.");
  module.def(
      "tensor_promote",
      [](nb::handle a, nb::handle b) -> nb::object {
        const auto both = engine::promote(dtype_from(a), dtype_from(b));
        return both ? numpy_dtype(*both) : nb::none();
      },
      nb::sig("def tensor_promote(a: object, b: object) -> object"),
      "The dtype that holds both; None if there is none.");
}

}  // namespace muster::python
