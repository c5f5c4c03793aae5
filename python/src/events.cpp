#include "events.h"

#include <map>
#include <string>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "errors.h"
#include "muster/comm/errc.h"
#include "muster/comm/event/matcher.h"
#include "muster/comm/event/parse.h"
#include "muster/comm/proxy/peer_snapshot.h"
#include "names.h"
#include "tag.h"

namespace muster::python {
namespace {

/// Python's str and nested tuples (or lists) as the parser takes them.
comm::EventDraft draft_from(nb::handle event, std::size_t depth = 0) {
  if (PyUnicode_Check(event.ptr())) return comm::EventDraft::of(std::string(text_of(event)));
  const bool sequence = PyTuple_Check(event.ptr()) != 0 || PyList_Check(event.ptr()) != 0;
  if (!sequence || depth > comm::kMaxEventDepth) {
    const std::string what = sequence ? "nests too deeply" : "is neither a str nor a tuple";
    raise(Error(make_error_code(comm::Errc::event_syntax),
                std::string("event ") + nb::repr(event).c_str() + " " + what));
  }
  std::vector<comm::EventDraft> elements;
  for (nb::handle element : event) elements.push_back(draft_from(element, depth + 1));
  return comm::EventDraft::tuple(std::move(elements));
}

comm::PeerSource source_from(nb::object peers, nb::object version) {
  comm::PeerSource source;
  source.peers = [peers = std::move(peers)] { return nb::cast<comm::PeersByType>(peers()); };
  if (!version.is_none()) {
    source.version = [version = std::move(version)] { return nb::cast<std::uint64_t>(version()); };
  }
  return source;
}

/// Conditional events over messages that Python keeps and names by tokens. Used with the GIL held.
class EventTable {
 public:
  EventTable(nb::object peers, nb::object version)
      : peers_(source_from(std::move(peers), std::move(version))),
        matcher_([this](std::string_view source) { return peers_.count(source); }) {}
  EventTable(const EventTable&) = delete;  // the matcher asks this object for the peers
  EventTable& operator=(const EventTable&) = delete;

  std::uint32_t add(nb::handle event) {
    comm::Event built = value_or_raise(comm::build_event(draft_from(event)));
    refresh();
    return matcher_.add(std::move(built)).value();
  }

  std::size_t push(std::uint64_t token, std::string_view source, nb::handle tag) {
    refresh();
    return value_or_raise(
        matcher_.push(token, source, peers_.type_of(source), encode_tag(tag).text));
  }

  std::vector<std::pair<std::uint32_t, std::vector<std::uint64_t>>> take_fired() {
    refresh();
    std::vector<std::pair<std::uint32_t, std::vector<std::uint64_t>>> fired;
    for (comm::Firing& firing : matcher_.take_fired()) {
      fired.emplace_back(firing.event.value(), std::move(firing.tokens));
    }
    return fired;
  }

  void clear() { matcher_.clear(); }
  [[nodiscard]] std::size_t waiting() const { return matcher_.waiting(); }

 private:
  void refresh() {
    if (peers_.refresh()) matcher_.recheck();
  }

  comm::PeerSnapshot peers_;
  comm::EventMatcher matcher_;
};

}  // namespace

void bind_events(nb::module_& module) {
  nb::class_<EventTable>(module, "EventTable", "What muster.communication.RegisterTable stands on.")
      .def(nb::init<nb::object, nb::object>(), nb::arg("peers"),
           nb::arg("version").none() = nb::none(),
           nb::sig("def __init__(self, peers: collections.abc.Callable[[], dict[str, list[str]]], "
                   "version: "
                   "collections.abc.Callable[[], int] | None = None) -> None"))
      .def("add", &EventTable::add, nb::arg("event"),
           nb::sig("def add(self, event: typing.Any) -> int"))
      .def("push", &EventTable::push, nb::arg("token"), nb::arg("source"), nb::arg("tag"),
           nb::sig("def push(self, token: int, source: str, tag: str | enum.Enum) -> int"))
      .def("take_fired", &EventTable::take_fired)
      .def("clear", &EventTable::clear)
      .def_prop_ro("waiting", &EventTable::waiting);
}

}  // namespace muster::python
