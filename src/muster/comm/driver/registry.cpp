#include "muster/comm/driver/registry.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/base/suggest.h"
#include "muster/comm/driver/inproc/inproc.h"
#include "muster/comm/driver/option_reader.h"
#include "muster/comm/driver/shm/shm_driver.h"
#include "muster/comm/driver/ucx/load.h"
#include "muster/comm/driver/ucx/ucx_driver.h"
#include "muster/comm/driver/zmq/zmq_driver.h"
#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

Result<ShmOptions> parse_shm_options(const DriverOptionTexts& texts) {
  ShmOptions options;
  OptionReader reader("shm", texts);
  reader.number("ring_bytes", options.ring_bytes);
  reader.number("inline_bytes", options.inline_bytes);
  reader.number("arena_bytes", options.arena_bytes);
  if (auto ok = reader.finish(); !ok) return fail(ok.error());
  return options;
}

Result<ZmqOptions> parse_zmq_options(const DriverOptionTexts& texts) {
  ZmqOptions options;
  std::string protocol = "tcp";
  std::size_t port = options.port;
  OptionReader reader("zmq", texts);
  reader.text("protocol", protocol);
  reader.text("host", options.host);
  reader.number("port", port);
  reader.text("advertise", options.advertise);
  if (auto ok = reader.finish(); !ok) return fail(ok.error());
  if (protocol != "tcp" && protocol != "ipc")
    return fail(Errc::driver_type,
                fmt::format("option 'zmq.protocol' is '{}', not tcp or ipc", protocol));
  if (port > 65535)
    return fail(Errc::driver_type, fmt::format("option 'zmq.port' is {}, not a port", port));
  options.protocol = protocol == "tcp" ? ZmqProtocol::tcp : ZmqProtocol::ipc;
  options.port = static_cast<std::uint16_t>(port);
  return options;
}

Result<UcxOptions> parse_ucx_options(const DriverOptionTexts& texts) {
  UcxOptions options;
  OptionReader reader("ucx", texts);
  reader.text("transports", options.transports);
  reader.text("devices", options.devices);
  if (auto ok = reader.finish(); !ok) return fail(ok.error());
  return options;
}

bool always() { return true; }

constexpr std::array kRows{
    DriverRow{"inproc", "proxies of one process, nothing is copied", false, true, always,
              [](const DriverContext& context, const DriverOptionTexts&) {
                return make_inproc_driver(context);
              }},
    DriverRow{"shm", "processes of one user on one host, through shared memory", false, true,
              always,
              [](const DriverContext& context,
                 const DriverOptionTexts& options) -> Result<std::unique_ptr<Driver>> {
                auto parsed = parse_shm_options(options);
                if (!parsed) return fail(parsed.error());
                return make_shm_driver(context, *parsed);
              }},
    DriverRow{"zmq", "processes on any hosts, over TCP or unix sockets", true, true, always,
              [](const DriverContext& context,
                 const DriverOptionTexts& options) -> Result<std::unique_ptr<Driver>> {
                auto parsed = parse_zmq_options(options);
                if (!parsed) return fail(parsed.error());
                return make_zmq_driver(context, *parsed);
              }},
    DriverRow{"ucx", "processes on any hosts, over what UCX finds: RDMA, shared memory, TCP", true,
              false, ucx_built,
              [](const DriverContext& context,
                 const DriverOptionTexts& options) -> Result<std::unique_ptr<Driver>> {
                auto parsed = parse_ucx_options(options);
                if (!parsed) return fail(parsed.error());
                return make_ucx_driver(context, *parsed);
              }},
};

Result<void> check_options(const DriverOptionTexts& options) {
  for (const auto& [key, value] : options) {
    const std::string_view driver = std::string_view(key).substr(0, key.find('.'));
    const bool known = std::any_of(kRows.begin(), kRows.end(),
                                   [&](const DriverRow& row) { return row.name == driver; });
    if (!known)
      return fail(Errc::driver_type, fmt::format("driver option '{}' names no driver", key));
  }
  // Also of drivers that will not be needed: a mistake should not wait for the day they are.
  if (auto ok = parse_shm_options(options); !ok) return fail(ok.error());
  if (auto ok = parse_zmq_options(options); !ok) return fail(ok.error());
  if (auto ok = parse_ucx_options(options); !ok) return fail(ok.error());
  return {};
}

}  // namespace

std::span<const DriverRow> driver_rows() { return kRows; }

Result<std::vector<std::unique_ptr<Driver>>> make_drivers(std::string_view name, bool host_only,
                                                          const DriverContext& context,
                                                          const DriverOptionTexts& options) {
  if (auto ok = check_options(options); !ok) return fail(ok.error());
  std::vector<std::unique_ptr<Driver>> drivers;
  std::vector<std::string> names{"auto"};
  for (const DriverRow& row : kRows) {
    names.emplace_back(row.name);
    const bool fits = row.automatic && !(row.between_hosts && host_only);
    if (name == "auto" ? !fits : row.name != name) continue;
    auto driver = row.make(context, options);
    if (!driver) return fail(driver.error().within(fmt::format("driver '{}'", row.name)));
    drivers.push_back(*std::move(driver));
  }
  if (drivers.empty()) {
    const std::string meant = nearest(name, names);
    return fail(Errc::driver_type,
                fmt::format("no driver is named '{}'{}; there are {}", name,
                            meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant),
                            fmt::join(names, ", ")));
  }
  return drivers;
}

}  // namespace muster::comm
