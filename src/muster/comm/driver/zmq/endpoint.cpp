#include "muster/comm/driver/zmq/endpoint.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

struct Address {
  std::string text;
  bool loopback = false;
  bool wildcard = false;
  bool ipv6 = false;
};

std::optional<Address> parse_address(const std::string& text) {
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    const std::uint32_t bits = ntohl(v4.s_addr);
    return Address{.text = text,
                   .loopback = bits >> 24 == IN_LOOPBACKNET,
                   .wildcard = bits == INADDR_ANY,
                   .ipv6 = false};
  }
  in6_addr v6{};
  if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    return Address{.text = text,
                   .loopback = IN6_IS_ADDR_LOOPBACK(&v6) != 0,
                   .wildcard = IN6_IS_ADDR_UNSPECIFIED(&v6) != 0,
                   .ipv6 = true};
  }
  return std::nullopt;
}

struct FreeInterfaces {
  void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

// The IPv4 address of the named interface, or, without a name, of the first one that others can
// reach.
std::optional<Address> interface_address(std::string_view name) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, FreeInterfaces> owner(list);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    const bool usable = name.empty()
                            ? (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0
                            : name == one->ifa_name;
    if (!usable) continue;
    char text[INET_ADDRSTRLEN] = {};
    const auto* const address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    if (::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != nullptr)
      return parse_address(text);
  }
  return std::nullopt;
}

Result<Address> resolve(const std::string& host) {
  if (host.empty() || host == "localhost") return *parse_address("127.0.0.1");
  if (host == "*") return *parse_address("0.0.0.0");
  if (auto address = parse_address(host)) return *std::move(address);
  if (auto address = interface_address(host)) return *std::move(address);
  return fail(
      Errc::socket_type,
      fmt::format(
          "cannot listen on '{}': it is neither an IP address nor a network interface of this host",
          host));
}

std::string for_url(const Address& address) {
  return address.ipv6 ? fmt::format("[{}]", address.text) : address.text;
}

// "10.0.0.5:7001" or "[fd00::5]:7001": a colon behind the brackets of an IPv6 address, if it is
// one.
bool names_a_port(std::string_view address) {
  const std::size_t bracket = address.rfind(']');
  return address.find(':', bracket == std::string_view::npos ? 0 : bracket) !=
         std::string_view::npos;
}

}  // namespace

Result<ListenPlan> plan_listening(const ZmqOptions& options) {
  if (options.protocol == ZmqProtocol::ipc) {
    const std::string name =
        fmt::format("ipc://@muster-{:016x}{:016x}", secure_random_u64(), secure_random_u64());
    return ListenPlan{.endpoint = name, .advertise = {}, .loopback = true, .ipv6 = false};
  }
  const auto address = resolve(options.host);
  if (!address) return fail(address.error());
  ListenPlan plan{.endpoint = fmt::format("tcp://{}:{}", for_url(*address),
                                          options.port == 0 ? "*" : std::to_string(options.port)),
                  .advertise = for_url(*address),
                  .loopback = address->loopback,
                  .ipv6 = address->ipv6};
  if (address->wildcard)
    plan.advertise = interface_address("").value_or(*parse_address("127.0.0.1")).text;
  if (!options.advertise.empty()) plan.advertise = options.advertise;
  return plan;
}

std::string advertised_address(const ListenPlan& plan, std::string_view endpoint) {
  if (plan.advertise.empty()) return std::string(endpoint);
  if (names_a_port(plan.advertise)) return "tcp://" + plan.advertise;
  return fmt::format("tcp://{}{}", plan.advertise, endpoint.substr(endpoint.rfind(':')));
}

}  // namespace muster::comm
