#include "muster/cli/engine/role.h"

#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <optional>
#include <ostream>
#include <signal.h>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cluster/job/quantity.h"
#include "muster/runtime/poll.h"
#include "muster/runtime/signals.h"

namespace muster::cli {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(200);  // at what has no descriptor

std::optional<std::uint16_t> port_number(std::string_view text) {
  std::uint16_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_address(const std::string& host) {
  std::array<std::byte, sizeof(in6_addr)> any{};
  return ::inet_pton(AF_INET, host.c_str(), any.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), any.data()) == 1;
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

// What a socket can be bound to: names of hosts become addresses, names of interfaces stay.
std::string bindable(const std::string& host) {
  if (host == "localhost") return "127.0.0.1";
  if (host == "*" || is_address(host) || ::if_nametoindex(host.c_str()) != 0) return host;
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &wanted, &list);
  const std::unique_ptr<addrinfo, FreeAddresses> owner(list);
  if (error != 0)
    throw UsageError(
        fmt::format("-a '{}' is neither an address, nor an interface, nor a host that "
                    "is known here ({})",
                    host, ::gai_strerror(error)));
  std::array<char, INET_ADDRSTRLEN> text{};
  const auto* const address = reinterpret_cast<const sockaddr_in*>(list->ai_addr);
  ::inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size());
  return text.data();
}

void check_scheduler(std::string_view one) {
  const auto colon = one.rfind(':');
  const auto port =
      colon == std::string_view::npos ? std::nullopt : port_number(one.substr(colon + 1));
  if (colon == 0 || !port || *port == 0 || one.find('/') != std::string_view::npos)
    throw UsageError(fmt::format("-s '{}' is not HOST:PORT of a scheduler", one));
}

void check_schedulers(std::string_view list) {
  if (list.empty())
    throw UsageError(
        "which scheduler? Give -s HOST:PORT, as 'muster scheduler' printed it when it was ready");
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    check_scheduler(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

LogLevel level_of(const std::string& name) {
  if (name == "debug") return LogLevel::debug;
  if (name == "info") return LogLevel::info;
  if (name == "warning") return LogLevel::warning;
  return name == "error" ? LogLevel::error : LogLevel::off;
}

// Everything that goes to stderr, also what a crash leaves there.
Result<void> log_to(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return fail(system_error(errno, fmt::format("open the log file '{}'", path)));
  ::dup2(file.get(), STDERR_FILENO);
  return {};
}

// Whoever is killed cannot end its children; the kernel does.
Result<void> end_with(std::int64_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == parent) return {};
  return fail(std::errc::no_child_process, "the process that started this one is gone");
}

Result<void> prepare(const RoleFlags& flags) {
  if (flags.parent != 0) {
    if (auto ok = end_with(flags.parent); !ok) return ok;
  }
  if (!flags.log_file.empty()) {
    if (auto ok = log_to(flags.log_file); !ok) return ok;
  }
  if (!flags.log_level.empty()) set_log_level(level_of(flags.log_level));
  return {};
}

// The next signal, or nothing when `over` says so.
template <class Over>
std::optional<int> wait_for_signal(const SignalReader& signals, Over over) {
  while (true) {
    if (const auto number = signals.take()) return number;
    if (over()) return std::nullopt;
    std::array slots{pollfd{signals.fd(), POLLIN, 0}};
    static_cast<void>(poll_until(slots, SteadyClock().now() + kLook));
  }
}

// Leaving takes its time; whoever is impatient sends another signal.
void leave(const RunningRole& role, const SignalReader& signals) {
  std::atomic<bool> done = false;
  const std::jthread leaving([&] {
    role.leave();
    done = true;
  });
  if (wait_for_signal(signals, [&] { return done.load(); })) role.stop();
}

}  // namespace

void add_role_flags(CLI::App& parser, RoleFlags& flags, NeedsScheduler needs) {
  parser
      .add_option("-a,--address,--advertise,-H,--host", flags.host,
                  "Where to listen: an address, a host or an interface of this machine; 127.0.0.1 "
                  "if not given")
      ->type_name("ADDR");
  parser.add_option("-p,--port", flags.port, "The port; a free one if not given")
      ->type_name("PORT");
  if (needs == NeedsScheduler::yes) {
    parser
        .add_option("-s,--scheduler,--schedulers", flags.schedulers,
                    "Where the scheduler is; of several, the first that answers")
        ->type_name("HOST:PORT[,…]");
    parser
        .add_option("--wait", flags.patience, "How long to look for the scheduler before giving up")
        ->type_name("TIME")
        ->capture_default_str();
  }
  parser.add_option("--driver", flags.driver, "How messages travel between roles")
      ->check(CLI::IsMember({"auto", "shm", "zmq", "ucx"}).description(""))
      ->type_name("auto|shm|zmq|ucx")
      ->capture_default_str();
  parser
      .add_option("--lease", flags.lease, "How long a role may be silent before it counts as lost")
      ->type_name("TIME")
      ->capture_default_str();
  parser.add_flag("--insecure", flags.insecure,
                  "Let anybody in who can reach the address, without MUSTER_SECRET");
  parser.add_option("--log-level", flags.log_level, "What to log; warning if not given")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "off"}).description(""))
      ->type_name("debug|info|warning|error|off");
  parser.add_option("--log-file", flags.log_file, "Where to log instead of stderr")
      ->type_name("FILE");
  parser.add_option("--end-with", flags.parent, "End when this process ends")->group("");
}

comm::Security security_from(bool insecure) {
  const char* const secret = std::getenv("MUSTER_SECRET");
  return {.secret = secret == nullptr ? "" : secret, .insecure = insecure};
}

service::RoleOptions role_options(const RoleFlags& flags, const RoleEnvironment& environment,
                                  NeedsScheduler needs) {
  service::RoleOptions options;
  if (const std::string& host = flags.host.empty() ? environment.host : flags.host; !host.empty())
    options.host = bindable(host);
  options.port = environment.port;
  if (!flags.port.empty()) {
    const auto port = port_number(flags.port);
    if (!port)
      throw UsageError(fmt::format("-p '{}' is not a port: a number up to 65535", flags.port));
    options.port = *port;
  }
  if (needs == NeedsScheduler::yes) {
    options.scheduler = flags.schedulers.empty() ? environment.schedulers : flags.schedulers;
    check_schedulers(options.scheduler);
  }
  const auto lease = cluster::parse_time(flags.lease);
  if (!lease || *lease < std::chrono::milliseconds(100))
    throw UsageError(fmt::format("--lease '{}' is not a time of at least 100ms", flags.lease));
  options.lease = *lease;
  const auto patience = cluster::parse_time(flags.patience);
  if (!patience) throw UsageError(fmt::format("--wait '{}' is not a time", flags.patience));
  options.patience = *patience;
  options.driver = flags.driver;
  options.security = security_from(flags.insecure);
  return options;
}

RoleEnvironment environment_or_throw() {
  auto environment = read_environment();
  if (!environment) throw UsageError(environment.error().message());
  return *std::move(environment);
}

std::string place_text(const std::string& host, std::uint16_t port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

int run_role(const RoleFlags& flags, const Io& io,
             const std::function<Result<RunningRole>()>& start) {
  // First, so that all threads of the role have the signals blocked.
  const auto signals = SignalReader::open({SIGTERM, SIGINT});
  if (!signals) return report(io, signals.error());
  if (const auto ok = prepare(flags); !ok) return report(io, ok.error());
  const auto role = start();
  if (!role) return report(io, role.error());
  io.out << role->ready << std::endl;
  const auto number = wait_for_signal(*signals, [&] { return role->alive && !role->alive(); });
  if (number == SIGTERM && role->leave) leave(*role, *signals);
  const std::string why = number ? "" : role->why_gone();
  role->stop();
  return number ? kDone : report(io, "it is out of the cluster: " + why);
}

}  // namespace muster::cli
