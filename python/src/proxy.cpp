#include "proxy.h"

#include <map>
#include <span>
#include <string>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "body.h"
#include "calls.h"
#include "message.h"
#include "muster/comm/errc.h"
#include "muster/comm/proxy/proxy.h"
#include "names.h"
#include "session_enums.h"
#include "tag.h"

namespace muster::python {
namespace {

using comm::SessionId;
using Milliseconds = std::optional<double>;

/// A proxy as Python holds it. Every call releases the GIL before it enters the library.
class ProxyObject {
 public:
  ProxyObject(comm::Proxy proxy, bool caches) : proxy_(std::move(proxy)), caches_(caches) {}
  ProxyObject(const ProxyObject&) = delete;
  ProxyObject& operator=(const ProxyObject&) = delete;
  ~ProxyObject() { close(); }

  [[nodiscard]] comm::Proxy& native() { return proxy_; }
  /// A full cache of a peer that is away is an error; a message in it is not.
  [[nodiscard]] bool caches() const { return caches_; }

  void close() {
    const nb::gil_scoped_release released;
    proxy_.close();
  }

 private:
  comm::Proxy proxy_;
  bool caches_;
};

nb::list ids_to_python(std::span<const SessionId> sessions) {
  nb::list ids;
  for (const SessionId& session : sessions) ids.append(to_str(session.str()));
  return ids;
}

/// ([replies], [names of the peers whose replies will not come])
nb::tuple replies_to_python(comm::Replies&& replies) {
  nb::list messages;
  for (comm::Message& message : replies.messages) messages.append(to_python(std::move(message)));
  nb::list lost;
  for (const Name& name : replies.lost) lost.append(to_str(name));
  return nb::make_tuple(messages, lost);
}

/// The ids, or None when the message waits for a peer that is away.
nb::object sent_or_kept(const ProxyObject& self, Result<comm::SessionIds>&& sent) {
  if (!sent && self.caches() && sent.error().is(comm::Errc::pending)) return nb::none();
  return ids_to_python(value_or_raise(std::move(sent)));
}

std::vector<SessionId> parse_ids(nb::iterable targets) {
  std::vector<SessionId> sessions;
  for (nb::handle target : targets) {
    const std::string_view text = text_argument("a session id", target);
    const auto session = SessionId::parse(text);
    if (!session)
      throw nb::value_error(("'" + std::string(text) + "' is not a session id").c_str());
    sessions.push_back(*session);
  }
  return sessions;
}

comm::Tag tag_or_none(nb::handle tag) {
  if (PyObject_IsTrue(tag.ptr()) != 1) return {};
  auto [text, origin] = encode_tag(tag);
  return {std::move(text), std::move(origin)};
}

comm::Proxy::DestinationBodies encode_destinations(nb::iterable pairs) {
  comm::Proxy::DestinationBodies destinations;
  for (nb::handle pair : pairs) {
    const bool sequence = PySequence_Check(pair.ptr()) != 0 && !PyUnicode_Check(pair.ptr()) &&
                          !PyBytes_Check(pair.ptr());
    if (!sequence || nb::len(pair) != 2) {
      const std::string text =
          std::string("destination_body_list holds pairs (destination, body), ") + "not " +
          nb::repr(pair).c_str();
      if (sequence) throw nb::value_error(text.c_str());
      throw nb::type_error(text.c_str());
    }
    // As in a message: no body is an empty one.
    nb::object body = nb::object(pair[1]);
    if (body.is_none()) body = nb::dict();
    destinations.emplace_back(name_argument("a destination", pair[0]), encode_body(body));
  }
  return destinations;
}

// ---- Receiving

nb::object receive_once(ProxyObject& self, Milliseconds timeout) {
  auto received =
      call_or_raise([&] { return self.native().receive_once(from_milliseconds(timeout)); });
  if (!received) return nb::none();
  return to_python(*std::move(received));
}

nb::tuple receive_by_id(ProxyObject& self, nb::iterable targets, Milliseconds timeout) {
  const std::vector<SessionId> sessions = parse_ids(std::move(targets));
  return replies_to_python(call_or_raise(
      [&] { return self.native().receive_by_id(sessions, from_milliseconds(timeout)); }));
}

// ---- Sending. What is sent is held until the GIL is back, so that letting go of it needs no
// detour.

/// The request as it came, whether or not the message was turned into its answer since.
comm::Message request_of(ProxyObject& self, const MessageObject& message) {
  const comm::Message& native = message.native();
  comm::Message request;
  request.tag = native.tag;
  request.tag_origin = native.tag_origin;
  const bool answered = message.is_reply() || native.source == self.native().name();
  request.source = answered ? native.destination : native.source;
  request.destination = self.native().name();
  request.session_id = native.session_id;
  request.session_type = native.session_type;
  return request;
}

/// Sends a message that `Message.reply` turned into an answer.
Result<comm::SessionIds> send_answer(ProxyObject& self, MessageObject& message) {
  const comm::Message request = request_of(self, message);
  const comm::Body body = message.encoded_body();
  const auto acknowledge = message.native().session_stage == comm::SessionStage::receive
                               ? comm::Acknowledge::yes
                               : comm::Acknowledge::no;
  return without_gil([&] { return self.native().reply(request, {}, body, acknowledge); });
}

nb::object isend(ProxyObject& self, MessageObject& message) {
  if (message.is_reply()) return sent_or_kept(self, send_answer(self, message));
  const comm::Message outgoing = message.outgoing();
  message.set_sent();
  return sent_or_kept(self, without_gil([&] { return self.native().isend(outgoing); }));
}

nb::tuple send(ProxyObject& self, MessageObject& message, Milliseconds timeout) {
  const comm::Message outgoing = message.outgoing();
  message.set_sent();
  auto replies =
      without_gil([&] { return self.native().send(outgoing, from_milliseconds(timeout)); });
  if (!replies && self.caches() && replies.error().is(comm::Errc::pending))
    return replies_to_python({});
  return replies_to_python(value_or_raise(std::move(replies)));
}

nb::list iscatter(ProxyObject& self, nb::handle tag, nb::handle type, nb::iterable destinations) {
  const comm::Tag encoded = tag_or_none(tag);
  const auto session_type = session_type_of(type);
  const auto bodies = encode_destinations(std::move(destinations));
  return ids_to_python(
      call_or_raise([&] { return self.native().iscatter(encoded, session_type, bodies); }));
}

nb::tuple scatter(ProxyObject& self, nb::handle tag, nb::handle type, nb::iterable destinations,
                  Milliseconds timeout) {
  const comm::Tag encoded = tag_or_none(tag);
  const auto session_type = session_type_of(type);
  const auto bodies = encode_destinations(std::move(destinations));
  return replies_to_python(call_or_raise([&] {
    return self.native().scatter(encoded, session_type, bodies, from_milliseconds(timeout));
  }));
}

nb::list ibroadcast(ProxyObject& self, std::string_view peer_type, nb::handle tag, nb::handle type,
                    nb::handle body) {
  const comm::Tag encoded = tag_or_none(tag);
  const auto session_type = session_type_of(type);
  const comm::Body encoded_body = encode_body(body);
  return ids_to_python(call_or_raise(
      [&] { return self.native().ibroadcast(peer_type, encoded, session_type, encoded_body); }));
}

nb::tuple broadcast(ProxyObject& self, std::string_view peer_type, nb::handle tag, nb::handle type,
                    nb::handle body, Milliseconds timeout) {
  const comm::Tag encoded = tag_or_none(tag);
  const auto session_type = session_type_of(type);
  const comm::Body encoded_body = encode_body(body);
  return replies_to_python(call_or_raise([&] {
    return self.native().broadcast(peer_type, encoded, session_type, encoded_body,
                                   from_milliseconds(timeout));
  }));
}

nb::object reply(ProxyObject& self, MessageObject& message, nb::handle tag, nb::object body,
                 bool acknowledge) {
  const comm::Message request = request_of(self, message);
  const comm::Tag encoded_tag = tag_or_none(tag);
  const comm::Body encoded_body = encode_body(body);
  nb::object sent = sent_or_kept(self, without_gil([&] {
                                   return self.native().reply(request, encoded_tag, encoded_body,
                                                              comm::Acknowledge(acknowledge));
                                 }));
  comm::Message& native = message.native();
  native.source = request.source;
  native.destination = self.native().name();
  message.reply(tag, std::move(body));
  native.session_stage = native.session_type == comm::SessionType::task && !acknowledge
                             ? comm::SessionStage::complete
                             : comm::SessionStage::receive;
  return sent;
}

nb::object forward(ProxyObject& self, MessageObject& message, Name destination, nb::handle tag,
                   nb::object body) {
  message.forward(std::move(destination), tag, std::move(body));
  const comm::Message outgoing = message.outgoing();
  return sent_or_kept(self, without_gil([&] { return self.native().isend(outgoing); }));
}

// ---- Others

nb::object empty_array(ProxyObject& self, nb::handle shape, nb::handle dtype, std::size_t bytes) {
  auto memory = call_or_raise([&] { return self.native().allocate(bytes); });
  return draft_array(std::move(memory).freeze(), shape, dtype);
}

nb::dict counters(ProxyObject& self) {
  const comm::ProxyCounters counted = without_gil([&] { return self.native().counters(); });
  nb::dict result;
  result["sent"] = counted.sent;
  result["received"] = counted.received;
  result["duplicates"] = counted.duplicates;
  result["rejoins"] = counted.rejoins;
  result["malformed"] = counted.drivers.malformed;
  result["strangers"] = counted.drivers.strangers;
  result["stale"] = counted.drivers.stale;
  return result;
}

Duration seconds(nb::handle value) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(nb::cast<double>(value)));
}

using Counts = std::map<std::string, std::size_t>;
using Texts = std::map<std::string, std::string>;

comm::ProxyOptions options_from(const nb::dict& given) {
  comm::ProxyOptions options;
  options.group = nb::cast<std::string>(given["group"]);
  options.type = nb::cast<std::string>(given["type"]);
  options.expected_peers = nb::cast<Counts>(given["expected_peers"]);
  options.name = nb::cast<std::string>(given["name"]);
  options.driver = nb::cast<std::string>(given["driver"]);
  options.driver_options = nb::cast<Texts>(given["driver_options"]);
  options.discovery = nb::cast<std::string>(given["discovery"]);
  options.join_timeout = seconds(given["join_timeout"]);
  options.store_timeout = seconds(given["store_timeout"]);
  options.lease = seconds(given["lease"]);
  options.linger = seconds(given["linger"]);
  options.send_timeout = seconds(given["send_timeout"]);
  options.max_spin = seconds(given["max_spin"]);
  options.security.secret = nb::cast<std::string>(given["secret"]);
  options.security.insecure = nb::cast<bool>(given["insecure"]);
  options.rejoin.enabled = nb::cast<bool>(given["enable_rejoin"]);
  options.rejoin.minimal_peers = nb::cast<Counts>(given["minimal_peers"]);
  options.rejoin.minimal_peers_timeout = seconds(given["minimal_peers_timeout"]);
  options.rejoin.cache_messages = nb::cast<bool>(given["cache_messages"]);
  options.rejoin.cache_length = nb::cast<std::size_t>(given["cache_length"]);
  options.rejoin.max_rejoins = nb::cast<std::size_t>(given["max_rejoins"]);
  options.limits.peer_bytes = nb::cast<std::size_t>(given["peer_bytes"]);
  options.limits.inbox_messages = nb::cast<std::size_t>(given["inbox_messages"]);
  options.limits.inbox_bytes = nb::cast<std::size_t>(given["inbox_bytes"]);
  options.interrupted = &interrupted;
  return options;
}

void join(ProxyObject* self, const nb::dict& given) {
  comm::ProxyOptions options = options_from(given);
  const bool caches = options.rejoin.enabled && options.rejoin.cache_messages;
  new (self)
      ProxyObject(call_or_raise([&] { return comm::Proxy::join(std::move(options)); }), caches);
}

std::map<Name, std::vector<Name>> peers(ProxyObject& self) {
  return without_gil([&] { return self.native().peers(); });
}

std::optional<Name> type_of(ProxyObject& self, std::string_view peer) {
  Name type = without_gil([&] { return self.native().type_of(peer); });
  return type.empty() ? std::nullopt : std::optional(std::move(type));
}

}  // namespace

comm::Proxy& native_proxy(nb::handle object) {
  if (!nb::isinstance<ProxyObject>(object)) throw nb::type_error("this is no proxy");
  return nb::inst_ptr<ProxyObject>(object)->native();
}

void bind_proxy(nb::module_& module) {
  const auto timeout = nb::arg("timeout").none();
  nb::class_<ProxyObject>(module, "NativeProxy", nb::is_weak_referenceable(),
                          "What muster.communication.Proxy stands on.")
      .def("__init__", &join, nb::arg("options"),
           nb::sig("def __init__(self, options: dict[str, typing.Any]) -> None"))
      .def_prop_ro("name", [](ProxyObject& self) { return self.native().name(); })
      .def_prop_ro("component_type", [](ProxyObject& self) { return self.native().type(); })
      .def_prop_ro("group_name", [](ProxyObject& self) { return self.native().group(); })
      .def_prop_ro("peers", &peers)
      .def_prop_ro("peers_version",
                   [](ProxyObject& self) {
                     return without_gil([&] { return self.native().peers_version(); });
                   })
      .def("type_of", &type_of, nb::arg("peer"))
      .def("receive_once", &receive_once, timeout,
           nb::sig("def receive_once(self, timeout: float | None) -> SessionMessage | None"))
      .def("receive_by_id", &receive_by_id, nb::arg("targets"), timeout,
           nb::sig("def receive_by_id(self, targets: collections.abc.Iterable[str], timeout: float "
                   "| None) -> tuple[list[SessionMessage], list[str]]"))
      .def("isend", &isend, nb::arg("message"),
           nb::sig("def isend(self, message: Message) -> list[str] | None"))
      .def("send", &send, nb::arg("message"), timeout,
           nb::sig("def send(self, message: Message, timeout: float | None) -> "
                   "tuple[list[SessionMessage], list[str]]"))
      .def("iscatter", &iscatter, nb::arg("tag"), nb::arg("session_type"), nb::arg("destinations"),
           nb::sig("def iscatter(self, tag: str | enum.Enum, session_type: "
                   "muster.communication.message.SessionType, destinations: "
                   "collections.abc.Iterable[tuple[str, typing.Any]]) -> list[str]"))
      .def("scatter", &scatter, nb::arg("tag"), nb::arg("session_type"), nb::arg("destinations"),
           timeout,
           nb::sig("def scatter(self, tag: str | enum.Enum, session_type: "
                   "muster.communication.message.SessionType, destinations: "
                   "collections.abc.Iterable[tuple[str, typing.Any]], timeout: float | None) -> "
                   "tuple[list[SessionMessage], list[str]]"))
      .def("ibroadcast", &ibroadcast, nb::arg("peer_type"), nb::arg("tag"), nb::arg("session_type"),
           nb::arg("body").none(),
           nb::sig("def ibroadcast(self, peer_type: str, tag: str | enum.Enum, session_type: "
                   "muster.communication.message.SessionType, body: "
                   "typing.Any) -> list[str]"))
      .def("broadcast", &broadcast, nb::arg("peer_type"), nb::arg("tag"), nb::arg("session_type"),
           nb::arg("body").none(), timeout,
           nb::sig("def broadcast(self, peer_type: str, tag: str | enum.Enum, session_type: "
                   "muster.communication.message.SessionType, body: "
                   "typing.Any, timeout: float | None) -> tuple[list[SessionMessage], list[str]]"))
      .def("reply", &reply, nb::arg("message"), nb::arg("tag").none(), nb::arg("body").none(),
           nb::arg("acknowledge"),
           nb::sig("def reply(self, message: Message, tag: str | enum.Enum | None, body: "
                   "typing.Any, acknowledge: bool) -> list[str] | None"))
      .def("forward", &forward, nb::arg("message"), nb::arg("destination"), nb::arg("tag").none(),
           nb::arg("body").none(),
           nb::sig("def forward(self, message: Message, destination: str, tag: str | enum.Enum | "
                   "None, body: typing.Any) -> list[str] | None"))
      .def("empty", &empty_array, nb::arg("shape"), nb::arg("dtype"), nb::arg("bytes"),
           nb::sig("def empty(self, shape: tuple[int, ...], dtype: numpy.dtype[typing.Any], bytes: "
                   "int) -> "
                   "numpy.typing.NDArray[typing.Any]"))
      .def("counters", &counters, nb::sig("def counters(self) -> dict[str, int]"))
      .def("close", &ProxyObject::close);
}

}  // namespace muster::python
