// A worker goes away and comes back under its name; what was sent meanwhile is kept for it.

#include <algorithm>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "muster/muster.h"
#include "roles.h"

using namespace muster::comm;
using namespace std::chrono_literals;

/// Joins as `name` and replies to messages until one is tagged `last`.
int work_until(const std::string& group, const std::string& name, std::string_view last) {
  ProxyOptions options;
  options.group = group;
  options.type = "worker";
  options.name = name;
  options.expected_peers = {{"coordinator", 1}};
  Proxy proxy = Proxy::join(options).value();
  while (auto message = proxy.receive_once(10s).value()) {
    proxy.reply(*message).value();
    if (message->tag == last) return 0;
  }
  return 1;
}

int work_steadily(const std::string& group) { return work_until(group, "steady", "stop"); }

int leave_and_return(const std::string& group) {
  if (work_until(group, "wanderer", "leave") != 0) return 1;
  std::this_thread::sleep_for(200ms);  // a restart takes a while
  return work_until(group, "wanderer", "stop");
}

/// Looks at the peers from time to time.
template <class Condition>
void wait_until(Condition condition) {
  for (int looks = 0; !condition(); ++looks) {
    if (looks == 10'000) throw std::runtime_error("nothing happened for ten seconds");
    std::this_thread::sleep_for(1ms);
  }
}

bool is_there(const Proxy& proxy, const muster::Name& name) {
  const auto workers = proxy.peers()["worker"];
  return std::find(workers.begin(), workers.end(), name) != workers.end();
}

Message to_wanderer(std::string_view tag) {
  Message message;
  message.tag = tag;
  message.destination = "wanderer";
  return message;
}

// region coordinator
int coordinate(const std::string& group) {
  ProxyOptions options;
  options.group = group;
  options.type = "coordinator";
  options.expected_peers = {{"worker", 2}};
  options.rejoin.enabled = true;
  options.rejoin.cache_messages = true;
  Proxy proxy = Proxy::join(options).value();

  const std::uint64_t peers = proxy.peers_version();
  proxy.send(to_wanderer("leave"), 10s).value();
  wait_until([&] { return proxy.peers_version() != peers; });
  std::vector<SessionId> sessions;
  for (int i = 0; i < 3; ++i) {
    auto sent = proxy.isend(to_wanderer("work"));
    if (sent) {
      sessions.insert(sessions.end(), sent->begin(), sent->end());
    } else if (sent.error().is(Errc::pending)) {
      fmt::print("{}\n", sent.error().message());  // it goes out with the next message
    } else {
      return 1;
    }
  }

  wait_until([&] { return is_there(proxy, "wanderer"); });
  const auto sent = proxy.isend(to_wanderer("work")).value();
  sessions.insert(sessions.end(), sent.begin(), sent.end());
  const Replies replies = proxy.receive_by_id(sessions, 10s).value();
  fmt::print("{} messages went out with the last one, {} replies came\n", sent.size(),
             replies.messages.size());
  proxy.broadcast("worker", "stop", SessionType::task, {}, 10s).value();
  return replies.messages.size() == 4 ? 0 : 1;
}
// endregion

int main(int argc, char** argv) {
  return example::run_roles(
      argc, argv,
      {{"steady", work_steadily}, {"wanderer", leave_and_return}, {"coordinator", coordinate}});
}
