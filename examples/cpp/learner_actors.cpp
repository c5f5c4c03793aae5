// A learner and five actors. In each round the learner sends its weights to all actors and goes on
// as soon as 60 % of them have sent a rollout; what stragglers send later is cut off.
//
// The task is as small as it can be: find the point that the actors know and see only through
// noise.

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "muster/muster.h"
#include "roles.h"

using namespace muster::comm;
using namespace std::chrono_literals;

constexpr int kActors = 5;
constexpr int kRounds = 40;
constexpr std::size_t kEnough = 3;  // 60 % of five

using Weights = std::array<double, 3>;
constexpr Weights kGoal = {1.0, -2.0, 0.5};

Body to_body(const Weights& weights) { return Body::array(std::span<const double>(weights)); }

// region actor
struct Actor {
  std::mt19937 random;
  int rollouts = 0;

  /// The way to the goal, as this actor sees it.
  Weights roll_out(std::span<const double> weights) {
    if (++rollouts % 7 == 0) std::this_thread::sleep_for(20ms);  // now and then, one is slow
    std::normal_distribution noise(0.0, 0.1);
    Weights way;
    for (std::size_t i = 0; i < way.size(); ++i) way[i] = kGoal[i] - weights[i] + noise(random);
    return way;
  }
};

int act(const std::string& group) {
  ProxyOptions options;
  options.group = group;
  options.type = "actor";
  options.expected_peers = {{"learner", 1}};
  Proxy proxy = Proxy::join(options).value();

  // region dist
  auto actor = dist(proxy, Actor{.random = std::mt19937(std::random_device()())});
  actor.on("learner:weights:1", [](Actor& self, Proxy& to, std::span<const Message> messages) {
    const Weights way = self.roll_out(messages[0].body.elements<double>());
    to.reply(messages[0], "rollout", to_body(way)).value();
  });
  actor.on("learner:stop:1", [&actor](Actor&, Proxy& to, std::span<const Message> messages) {
    to.reply(messages[0], "stopped").value();
    actor.stop();
  });
  return actor.launch({.idle_timeout = 10s}).value() == LaunchEnd::stopped ? 0 : 1;
  // endregion
}
// endregion

// region learner
struct Learner {
  Weights weights{};
  int late = 0;

  void train(const std::vector<Message>& rollouts) {
    for (const Message& rollout : rollouts) {
      const auto way = rollout.body.elements<double>();
      const double step = 0.3 / static_cast<double>(rollouts.size());
      for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += step * way[i];
    }
  }

  [[nodiscard]] double distance() const {
    double square = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) square += std::pow(kGoal[i] - weights[i], 2);
    return std::sqrt(square);
  }
};

// region round
/// Sends the weights to all actors and takes rollouts until the table has called its handler.
void play_round(Proxy& proxy, RegisterTable& table, Learner& learner) {
  table.clear();
  const SessionId round =
      proxy.ibroadcast("actor", "weights", SessionType::task, to_body(learner.weights))
          .value()
          .front();
  do {
    auto message = proxy.receive_once(10s).value();
    if (!message) throw std::runtime_error("no rollout came for ten seconds");
    if (message->session_id == round) {
      table.push(*std::move(message)).value();
    } else {
      ++learner.late;  // the straggler cut-off: it answers an earlier round
    }
  } while (table.trigger() == 0);
}
// endregion

int learn(const std::string& group) {
  ProxyOptions options;
  options.group = group;
  options.type = "learner";
  options.expected_peers = {{"actor", kActors}};
  Proxy proxy = Proxy::join(options).value();

  // region table
  Learner learner;
  RegisterTable table(
      {.peers = [&] { return proxy.peers(); }, .version = [&] { return proxy.peers_version(); }});
  table.on("actor:rollout:60%",
           [&](const std::vector<Message>& rollouts) { learner.train(rollouts); });
  // endregion
  for (int round = 1; round <= kRounds; ++round) {
    play_round(proxy, table, learner);
    if (round % 10 == 0)
      fmt::print("round {:2}: {:.3f} from the goal\n", round, learner.distance());
  }

  const Replies goodbyes = proxy.broadcast("actor", "stop", SessionType::task, {}, 10s).value();
  while (proxy.receive_once(0s).value()) ++learner.late;
  const int missing = kRounds * (kActors - static_cast<int>(kEnough)) - learner.late;
  fmt::print("{} late rollouts were cut off, {} are missing\n", learner.late, missing);
  return goodbyes.messages.size() == kActors && missing == 0 && learner.distance() < 0.2 ? 0 : 1;
}
// endregion

int main(int argc, char** argv) {
  return example::run_roles(argc, argv, {{"actor", act, kActors}, {"learner", learn}});
}
