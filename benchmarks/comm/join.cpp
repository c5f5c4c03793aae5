#include "join.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "muster/comm/proxy/proxy.h"

namespace muster::bench {
namespace {

constexpr std::size_t kProcesses = 4;
// By then the others have entered themselves and wait.
constexpr auto kSettle = std::chrono::milliseconds(300);

}  // namespace

void join_and_greet(const std::string& meeting_place, const std::string& name, Control control) {
  control.say("there");
  if (control.hear().empty()) return;
  const std::int64_t start = now_ns();
  comm::ProxyOptions options;
  options.group = "bench";
  options.type = "worker";
  options.name = name;
  options.expected_peers = {{"worker", kProcesses - 1}};
  options.discovery = "file:" + meeting_place;
  auto proxy = comm::Proxy::join(std::move(options));
  if (!proxy) throw std::runtime_error(proxy.error().message());
  const auto sent = proxy->ibroadcast("worker", "greeting", comm::SessionType::notification);
  if (!sent) throw std::runtime_error(sent.error().message());
  for (std::size_t i = 1; i < kProcesses; ++i) {
    const auto greeting = proxy->receive_once(std::chrono::minutes(1));
    if (!greeting || !greeting->has_value()) throw std::runtime_error("a greeting is missing");
  }
  const std::int64_t end = now_ns();
  control.say(std::to_string(start));
  control.say(std::to_string(end));
  static_cast<void>(control.hear());
}

double time_to_join(const std::string& meeting_place) {
  std::vector<std::unique_ptr<Partner>> processes;
  for (std::size_t i = 0; i < kProcesses; ++i) {
    processes.push_back(std::make_unique<Partner>(
        std::vector<std::string>{"--join", meeting_place, "worker_" + std::to_string(i)}));
    if (processes.back()->control().hear().empty()) throw std::runtime_error("it did not start");
  }
  for (std::size_t i = 1; i < kProcesses; ++i) processes[i]->control().say("join");
  std::this_thread::sleep_for(kSettle);
  processes.front()->control().say("join");
  std::int64_t last_start = 0;
  std::int64_t last_end = 0;
  for (const auto& process : processes) {
    last_start = std::max<std::int64_t>(last_start, std::stoll(process->control().hear()));
    last_end = std::max<std::int64_t>(last_end, std::stoll(process->control().hear()));
  }
  return static_cast<double>(last_end - last_start) / 1e6;
}

}  // namespace muster::bench
