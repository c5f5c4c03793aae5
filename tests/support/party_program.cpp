// One member of a group, for tests that need real processes on hosts of their own.
//
//   muster_party worker KEY=VALUE...   answers every request with its body until it is told to exit
//   muster_party master KEY=VALUE...   asks all workers in rounds, and prints a line for each
//
// Keys: name, group, discovery, driver, lease_ms, workers, rounds (0: until killed), bytes,
// pause_ms, timeout_ms, join_ms, rejoin (0 or 1), and any driver option such as zmq.advertise.

#include <cstdio>
#include <map>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/muster.h"

namespace {

using namespace muster;
using namespace muster::comm;
using std::chrono::milliseconds;

class Settings {
 public:
  explicit Settings(std::span<char* const> words) {
    for (const std::string word : words) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) throw std::invalid_argument("not KEY=VALUE: " + word);
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }

  [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise) const {
    const auto it = values_.find(key);
    return it == values_.end() ? otherwise : it->second;
  }
  [[nodiscard]] std::size_t number(const std::string& key, std::size_t otherwise) const {
    return std::stoul(text(key, std::to_string(otherwise)));
  }
  [[nodiscard]] std::map<std::string, std::string> driver_options() const {
    std::map<std::string, std::string> result;
    for (const auto& [key, value] : values_) {
      if (key.find('.') != std::string::npos) result.emplace(key, value);
    }
    return result;
  }

 private:
  std::map<std::string, std::string> values_;
};

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print("{}\n", fmt::format(format, std::forward<Args>(args)...));
  std::fflush(stdout);
}

ProxyOptions options(const Settings& settings, const std::string& type, const std::string& other,
                     std::size_t count) {
  ProxyOptions result;
  result.group = settings.text("group", "party");
  result.type = type;
  result.name = settings.text("name", "");
  result.expected_peers = {{other, count}};
  result.discovery = settings.text("discovery", "");
  result.driver = settings.text("driver", "auto");
  result.driver_options = settings.driver_options();
  result.lease = milliseconds(settings.number("lease_ms", 3000));
  result.join_timeout = milliseconds(settings.number("join_ms", 30'000));
  result.rejoin.enabled = settings.number("rejoin", 0) != 0;
  result.rejoin.max_rejoins = 1000;
  return result;
}

int fail_with(const Error& error) {
  say("error {} {}", error.code().value(), error.message());
  return 1;
}

int work(const Settings& settings) {
  auto proxy = Proxy::join(options(settings, "worker", "master", 1));
  if (!proxy) return fail_with(proxy.error());
  say("joined {}", proxy->name().view());
  while (true) {
    auto message = proxy->receive_once(milliseconds(200));
    if (!message) return fail_with(message.error());
    if (!*message) continue;
    if ((*message)->tag == "exit") break;
    if (auto sent = proxy->reply(**message, {}, (*message)->body); !sent) {
      say("unsent {}", sent.error().message());
    }
  }
  say("left");
  return 0;
}

int lead(const Settings& settings) {
  const std::size_t workers = settings.number("workers", 1);
  const std::size_t rounds = settings.number("rounds", 1);
  const milliseconds pause(settings.number("pause_ms", 0));
  const milliseconds timeout(settings.number("timeout_ms", 60'000));
  auto proxy = Proxy::join(options(settings, "master", "worker", workers));
  if (!proxy) return fail_with(proxy.error());
  say("joined {}", proxy->name().view());
  const Body body = Body::bytes(
      Buffer::take(std::vector<std::byte>(settings.number("bytes", 100), std::byte{7})));
  for (std::size_t round = 0; rounds == 0 || round < rounds; ++round) {
    const auto peers = proxy->peers()["worker"];
    Proxy::DestinationBodies destinations;
    for (const Name& peer : peers) destinations.emplace_back(peer, body);
    const auto replies = proxy->scatter("echo", SessionType::task, destinations, timeout);
    if (!replies) {
      say("round {} error {}", round, replies.error().message());
    } else {
      std::vector<std::string> names;
      bool whole = true;
      for (const Message& reply : replies->messages) {
        names.push_back(reply.source.str());
        whole = whole && reply.body == body;
      }
      std::sort(names.begin(), names.end());
      std::vector<std::string> lost;
      for (const Name& name : replies->lost) lost.push_back(name.str());
      say("round {} replies [{}] lost [{}] {}", round, fmt::join(names, " "), fmt::join(lost, " "),
          whole ? "whole" : "damaged");
    }
    if (pause.count() > 0) static_cast<void>(proxy->receive_once(pause));
  }
  static_cast<void>(proxy->ibroadcast("worker", "exit", SessionType::notification));
  const auto counters = proxy->counters();
  say("left sent {} received {} duplicates {} strangers {}", counters.sent, counters.received,
      counters.duplicates, counters.drivers.strangers);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string role = argc > 1 ? argv[1] : "";
    const Settings settings(
        std::span(argv, static_cast<std::size_t>(argc)).subspan(argc > 1 ? 2 : 1));
    if (role == "worker") return work(settings);
    if (role == "master") return lead(settings);
    fmt::print(stderr, "usage: muster_party worker|master KEY=VALUE...\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "muster_party: {}\n", error.what());
  }
  return 2;
}
