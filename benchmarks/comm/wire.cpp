#include "wire.h"

#include <array>
#include <vector>

namespace muster::bench {

std::unique_ptr<Wire> make_wire(const WireSpec& spec, End end) {
  return spec.kind.starts_with("raw-") ? make_zmq_wire(spec, end) : make_muster_wire(spec, end);
}

bool within_process(const WireSpec& spec) { return spec.kind.find("inproc") != std::string::npos; }

bool watches_memory(const WireSpec& spec) {
  return spec.kind.starts_with("shm") || spec.kind == "inproc";
}

const std::byte* payload(std::size_t turn) {
  static const std::array both{std::vector<std::byte>(kLargest, std::byte{1}),
                               std::vector<std::byte>(kLargest, std::byte{2})};
  return both[turn % both.size()].data();
}

}  // namespace muster::bench
