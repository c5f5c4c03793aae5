#include "message.h"

#include <atomic>
#include <string>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "body.h"
#include "muster/base/fork_guard.h"
#include "names.h"
#include "session_enums.h"
#include "tag.h"

namespace muster::python {
namespace {

/// Makes the ids of messages that are made in Python before a proxy sees them. With the GIL held. A
/// forked child starts anew, so that it never makes an id of its parent again.
comm::IdSource& ids() {
  static std::uint64_t generation = fork_generation();
  static auto source = std::make_unique<comm::IdSource>(comm::new_instance_id());
  if (generation != fork_generation()) {
    generation = fork_generation();
    source = std::make_unique<comm::IdSource>(comm::new_instance_id());
  }
  return *source;
}

bool is_immutable(nb::handle value) {
  return PyUnicode_CheckExact(value.ptr()) || PyBytes_CheckExact(value.ptr());
}

}  // namespace

nb::object MessageObject::tag() const { return decode_tag(native_.tag, native_.tag_origin); }

void MessageObject::set_tag(nb::handle tag) {
  auto [text, origin] = encode_tag(tag);
  native_.tag = std::move(text);
  native_.tag_origin = std::move(origin);
}

nb::object MessageObject::body() {
  if (!body_.is_valid()) {
    body_ = decode_body(native_.body, Decode::own);
    // The Python value is what counts from now on, unless it can never differ.
    if (!is_immutable(body_)) native_.body = {};
  }
  return body_;
}

nb::object MessageObject::view() const {
  return body_.is_valid() ? body_ : decode_body(native_.body, Decode::view);
}

void MessageObject::set_body(nb::object body) {
  body_ = std::move(body);
  native_.body = {};
}

const comm::SessionId& MessageObject::session_id() {
  if (!native_.session_id.valid()) native_.session_id = ids().next_session();
  return native_.session_id;
}

const comm::MessageId& MessageObject::message_id() {
  if (!native_.message_id.valid()) native_.message_id = ids().next_message();
  return native_.message_id;
}

void MessageObject::reply(nb::handle tag, nb::object body) {
  std::swap(native_.source, native_.destination);
  if (PyObject_IsTrue(tag.ptr()) == 1) set_tag(tag);
  set_body(std::move(body));
  native_.message_id = {};
  is_reply_ = true;
}

void MessageObject::forward(Name destination, nb::handle tag, nb::object body) {
  native_.source = std::exchange(native_.destination, std::move(destination));
  if (PyObject_IsTrue(tag.ptr()) == 1) set_tag(tag);
  if (!body.is_none()) set_body(std::move(body));
  native_.message_id = {};
  is_reply_ = false;
}

comm::Body MessageObject::encoded_body() const {
  if (!body_.is_valid() || (native_.body.size() > 0 && is_immutable(body_))) return native_.body;
  return encode_body(body_);
}

comm::Message MessageObject::outgoing() {
  if (was_sent_ && native_.session_stage == comm::SessionStage::request && !is_reply_) {
    native_.session_id = {};
    native_.message_id = {};
  }
  (void)session_id();
  (void)message_id();
  comm::Message message = native_;
  message.body = encoded_body();
  return message;
}

int MessageObject::traverse(visitproc visit, void* arg) {
  Py_VISIT(body_.ptr());
  return 0;
}

nb::object to_python(comm::Message&& message) {
  return nb::cast(SessionMessageObject(std::move(message)));
}

namespace {

int traverse_message(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<MessageObject>(self)->traverse(visit, arg) : 0;
}

int clear_message(PyObject* self) {
  nb::inst_ptr<MessageObject>(self)->clear();
  return 0;
}

PyType_Slot message_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_message)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_message)},
    {0, nullptr},
};

nb::object chosen_body(nb::object body, nb::object payload) {
  if (!body.is_none() && !payload.is_none()) throw nb::type_error("give body or payload, not both");
  nb::object chosen = body.is_none() ? std::move(payload) : std::move(body);
  return chosen.is_none() ? nb::dict() : chosen;
}

template <class Object>
void fill(Object& message, nb::handle tag, nb::handle source, nb::handle destination,
          nb::object body) {
  message.set_tag(tag);
  message.native().source = name_argument("source", source);
  message.native().destination = name_argument("destination", destination);
  message.set_body(std::move(body));
}

template <class Id>
Id parse_id(std::string_view text) {
  const auto id = Id::parse(text);
  if (!id)
    throw nb::value_error(
        ("'" + std::string(text) + "' is not an id such as 'f00dfeed00000001-2a'").c_str());
  return *id;
}

void append_field(std::string& text, const char* name, nb::handle value) {
  if (!text.empty()) text += "; \n";
  text += name;
  text += " = ";
  text += nb::str(value).c_str();
}

std::string describe(MessageObject& self, nb::handle python_self) {
  std::string text;
  for (const char* name : {"tag", "source", "destination", "body", "session_id", "message_id"}) {
    append_field(text, name, python_self.attr(name));
  }
  if (nb::isinstance<SessionMessageObject>(python_self)) {
    append_field(text, "session_type", to_python(self.native().session_type));
    append_field(text, "session_stage",
                 to_python(self.native().session_type, self.native().session_stage));
  }
  return text;
}

// ---- Pickle and copy

nb::tuple state_of(MessageObject& self) {
  const comm::Message& native = self.native();
  return nb::make_tuple(self.tag(), native.source, native.destination, self.body(),
                        self.session_id().str(), self.message_id().str(),
                        to_python(native.session_type),
                        to_python(native.session_type, native.session_stage));
}

template <class Object>
void restore(Object* self, const nb::tuple& state) {
  Object* const message = new (self) Object();
  fill(*message, state[0], state[1], state[2], nb::borrow(state[3]));
  comm::Message& native = message->native();
  native.session_id = parse_id<comm::SessionId>(text_of(state[4]));
  native.message_id = parse_id<comm::MessageId>(text_of(state[5]));
  native.session_type = session_type_of(state[6]);
  native.session_stage = session_stage_of(native.session_type, state[7]);
}

template <class Object, class Class>
void bind_pickle(Class& bound) {
  bound
      .def(
          "__getstate__", [](Object& self) { return state_of(self); },
          nb::sig("def __getstate__(self) -> tuple[typing.Any, ...]"))
      .def(
          "__setstate__", [](Object* self, const nb::tuple& state) { restore(self, state); },
          nb::sig("def __setstate__(self, state: tuple[typing.Any, ...], /) -> None"));
}

constexpr const char* kMessageDoc = R"(What components pass to each other.

Arguments:
    tag: What the message is about: a ``str`` or a member of an ``Enum``, which arrives as the same member.
    source: The name of the sender.
    destination: The name of the receiver.
    body: Anything that can be pickled; ``bytes``, ``str`` and NumPy arrays travel without pickling. None becomes ``{}``.
    payload: The same as ``body``, by its older name.)";

void bind_plain_message(nb::module_& module) {
  auto bound =
      nb::class_<MessageObject>(module, "Message", nb::dynamic_attr(), nb::is_weak_referenceable(),
                                nb::type_slots(message_slots), kMessageDoc);
  bound
      .def(
          "__init__",
          [](MessageObject* self, nb::handle tag, nb::handle source, nb::handle destination,
             nb::object body, nb::object payload) {
            fill(*new (self) MessageObject(), tag, source, destination,
                 chosen_body(std::move(body), std::move(payload)));
          },
          nb::arg("tag") = nb::none(), nb::arg("source") = nb::none(),
          nb::arg("destination") = nb::none(), nb::arg("body") = nb::none(),
          nb::arg("payload") = nb::none(),
          nb::sig("def __init__(self, tag: str | enum.Enum, source: str, destination: str, body: "
                  "typing.Any = None, payload: typing.Any = "
                  "None) -> None"))
      .def_prop_rw(
          "tag", [](MessageObject& self) { return self.tag(); },
          [](MessageObject& self, nb::handle tag) { self.set_tag(tag); }, nb::arg("tag").none(),
          nb::for_getter(nb::sig("def tag(self) -> str | enum.Enum")),
          nb::for_setter(nb::sig("def tag(self, tag: str | enum.Enum) -> None")),
          "What the message is about.")
      .def_prop_rw(
          "source", [](MessageObject& self) { return self.native().source; },
          [](MessageObject& self, nb::handle source) {
            self.native().source = name_argument("source", source);
          },
          nb::arg("source").none(), nb::for_getter(nb::sig("def source(self) -> str")),
          nb::for_setter(nb::sig("def source(self, source: str) -> None")),
          "The name of the sender.")
      .def_prop_rw(
          "destination", [](MessageObject& self) { return self.native().destination; },
          [](MessageObject& self, nb::handle destination) {
            self.native().destination = name_argument("destination", destination);
          },
          nb::arg("destination").none(), nb::for_getter(nb::sig("def destination(self) -> str")),
          nb::for_setter(nb::sig("def destination(self, destination: str) -> None")),
          "The name of the receiver.")
      .def_prop_rw(
          "session_id", [](MessageObject& self) { return self.session_id().str(); },
          [](MessageObject& self, nb::handle id) {
            self.native().session_id = parse_id<comm::SessionId>(text_argument("session_id", id));
          },
          nb::arg("id").none(), nb::for_getter(nb::sig("def session_id(self) -> str")),
          nb::for_setter(nb::sig("def session_id(self, id: str) -> None")),
          "Equal for a request and all that belongs to it.")
      .def_prop_rw(
          "message_id", [](MessageObject& self) { return self.message_id().str(); },
          [](MessageObject& self, nb::handle id) {
            self.native().message_id = parse_id<comm::MessageId>(text_argument("message_id", id));
          },
          nb::arg("id").none(), nb::for_getter(nb::sig("def message_id(self) -> str")),
          nb::for_setter(nb::sig("def message_id(self, id: str) -> None")),
          "Different for every message.");
  for (const char* name : {"body", "payload"}) {
    bound.def_prop_rw(
        name, [](MessageObject& self) { return self.body(); },
        [](MessageObject& self, nb::object body) { self.set_body(std::move(body)); },
        nb::arg("body").none(),
        nb::for_getter(nb::sig(name[0] == 'b' ? "def body(self) -> typing.Any"
                                              : "def payload(self) -> typing.Any")),
        nb::for_setter(nb::sig(name[0] == 'b' ? "def body(self, body: typing.Any) -> None"
                                              : "def payload(self, body: typing.Any) -> None")),
        "The contents. Those of a received message are decoded when they are first looked at.");
  }
  bound.def_prop_ro(
      "view", [](MessageObject& self) { return self.view(); },
      nb::sig("def view(self) -> typing.Any"),
      "The contents of a received message without a copy: arrays in it are read-only and stand on "
      "the received memory, which may be "
      "shared with other receivers. What ``body`` gives is the program's own instead.");
  bound
      .def(
          "reply",
          [](MessageObject& self, nb::handle tag, nb::object body) {
            self.reply(tag, std::move(body));
          },
          nb::arg("tag") = nb::none(), nb::arg("body") = nb::none(),
          nb::sig("def reply(self, tag: str | enum.Enum | None = None, body: typing.Any = None) -> "
                  "None"),
          "Turns this message into the answer to itself: source and destination swap, the session "
          "stays. Without a tag the tag is kept; "
          "without a body the answer has none (``None``).")
      .def(
          "forward",
          [](MessageObject& self, nb::handle destination, nb::handle tag, nb::object body) {
            self.forward(name_argument("destination", destination), tag, std::move(body));
          },
          nb::arg("destination").none(), nb::arg("tag") = nb::none(), nb::arg("body") = nb::none(),
          nb::sig("def forward(self, destination: str, tag: str | enum.Enum | None = None, body: "
                  "typing.Any = None) -> None"),
          "Addresses this message to another peer, in the same session. Without a tag or a body, "
          "those of the message are kept.")
      .def("__repr__",
           [](nb::handle self) { return describe(*nb::inst_ptr<MessageObject>(self), self); });
  bind_pickle<MessageObject>(bound);
}

void bind_session_message(nb::module_& module) {
  auto bound = nb::class_<SessionMessageObject, MessageObject>(
      module, "SessionMessage",
      "A message that knows where its session stands.\n\nEvery received message is one. A task is "
      "answered with a result "
      "(request, receive, complete), a notification at most with a receipt (request, receive).");
  bound
      .def(
          "__init__",
          [](SessionMessageObject* self, nb::handle tag, nb::handle source, nb::handle destination,
             nb::object body, nb::handle session_type, nb::handle session_stage,
             nb::object payload) {
            SessionMessageObject message;
            fill(message, tag, source, destination,
                 chosen_body(std::move(body), std::move(payload)));
            comm::Message& native = message.native();
            if (!session_type.is_none()) native.session_type = session_type_of(session_type);
            native.session_stage = session_stage_of(native.session_type, session_stage);
            new (self) SessionMessageObject(std::move(message));
          },
          nb::arg("tag") = nb::none(), nb::arg("source") = nb::none(),
          nb::arg("destination") = nb::none(), nb::arg("body") = nb::none(),
          nb::arg("session_type") = nb::none(), nb::arg("session_stage") = nb::none(),
          nb::arg("payload") = nb::none(),
          nb::sig("def __init__(self, tag: str | enum.Enum, source: str, destination: str, body: "
                  "typing.Any = None, session_type: "
                  "muster.communication.message.SessionType | None = None, session_stage: "
                  "muster.communication.message.SessionStage | "
                  "None = None, payload: typing.Any = None) -> None"))
      .def_prop_rw(
          "session_type",
          [](SessionMessageObject& self) { return to_python(self.native().session_type); },
          [](SessionMessageObject& self, nb::handle type) {
            self.native().session_type = session_type_of(type);
          },
          nb::for_getter(
              nb::sig("def session_type(self) -> muster.communication.message.SessionType")),
          nb::for_setter(nb::sig(
              "def session_type(self, type: muster.communication.message.SessionType) -> None")),
          "Whether a result is expected (``TASK``) or not (``NOTIFICATION``).")
      .def_prop_rw(
          "session_stage",
          [](SessionMessageObject& self) {
            return to_python(self.native().session_type, self.native().session_stage);
          },
          [](SessionMessageObject& self, nb::handle stage) {
            self.native().session_stage = session_stage_of(self.native().session_type, stage);
          },
          nb::for_getter(
              nb::sig("def session_stage(self) -> muster.communication.message.SessionStage")),
          nb::for_setter(nb::sig(
              "def session_stage(self, stage: muster.communication.message.SessionStage) -> None")),
          "How far the session is.");
  bind_pickle<SessionMessageObject>(bound);
}

}  // namespace

void bind_message(nb::module_& module) {
  bind_plain_message(module);
  bind_session_message(module);
}

}  // namespace muster::python
