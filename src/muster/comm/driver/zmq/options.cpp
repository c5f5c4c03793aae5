#include "muster/comm/driver/zmq/options.h"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

constexpr std::string_view kPrefix = "zmq.";

Result<void> set_option(ZmqOptions& options, std::string_view key, const std::string& value) {
  if (key == "protocol") {
    if (value != "tcp" && value != "ipc")
      return fail(Errc::driver_type, fmt::format("zmq.protocol is '{}', not tcp or ipc", value));
    options.protocol = value == "tcp" ? ZmqProtocol::tcp : ZmqProtocol::ipc;
    return {};
  }
  if (key == "port") {
    const char* const end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, options.port);
    if (error != std::errc{} || stop != end)
      return fail(Errc::driver_type, fmt::format("zmq.port is '{}', not a port", value));
    return {};
  }
  if (key == "host") {
    options.host = value;
    return {};
  }
  if (key == "advertise") {
    options.advertise = value;
    return {};
  }
  return fail(Errc::driver_type,
              fmt::format("no option is named 'zmq.{}'; there are zmq.protocol, zmq.host, "
                          "zmq.port, zmq.advertise",
                          key));
}

}  // namespace

Result<ZmqOptions> ZmqOptions::from_texts(const std::map<std::string, std::string>& texts) {
  ZmqOptions options;
  for (const auto& [key, value] : texts) {
    if (!key.starts_with(kPrefix)) continue;
    const auto ok = set_option(options, std::string_view(key).substr(kPrefix.size()), value);
    if (!ok) return fail(ok.error());
  }
  return options;
}

}  // namespace muster::comm
