// A coordinator deals out an array to its workers and adds up what they return.

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "muster/muster.h"
#include "roles.h"

using namespace muster::comm;
using namespace std::chrono_literals;

constexpr int kWorkers = 3;

// region worker
int work(const std::string& group) {
  ProxyOptions options;
  options.group = group;
  options.type = "worker";
  options.expected_peers = {{"coordinator", 1}};
  Proxy proxy = Proxy::join(options).value();

  while (auto message = proxy.receive_once(10s).value()) {
    if (message->tag == "stop") return 0;
    const std::span<const double> part = message->body.elements<double>();
    const double sum = std::inner_product(part.begin(), part.end(), part.begin(), 0.0);
    proxy.reply(*message, "sum", Body::array(std::span(&sum, 1))).value();
  }
  return 1;
}
// endregion

// region deal
/// One part of `numbers` for each of `workers`. Each message refers to its part of the array and
/// shares its ownership, so nothing is copied here.
Proxy::DestinationBodies deal(std::vector<double> numbers,
                              const std::vector<muster::Name>& workers) {
  const auto shared = std::make_shared<const std::vector<double>>(std::move(numbers));
  Proxy::DestinationBodies parts;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const std::size_t begin = shared->size() * i / workers.size();
    const std::size_t end = shared->size() * (i + 1) / workers.size();
    const auto part = std::span(*shared).subspan(begin, end - begin);
    parts.emplace_back(workers[i],
                       Body::array(DType::of<double>(), {static_cast<std::int64_t>(part.size())},
                                   muster::Buffer::share(std::as_bytes(part), shared)));
  }
  return parts;
}
// endregion

// region coordinator
int coordinate(const std::string& group) {
  ProxyOptions options;
  options.group = group;
  options.type = "coordinator";
  options.expected_peers = {{"worker", kWorkers}};
  Proxy proxy = Proxy::join(options).value();

  std::vector<double> numbers(300'000);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  const double n = static_cast<double>(numbers.size());
  const double expected = n * (n + 1) * (2 * n + 1) / 6;

  const auto parts = deal(std::move(numbers), proxy.peers().at("worker"));
  const Replies replies = proxy.scatter("part", SessionType::task, parts, 10s).value();
  double total = 0;
  for (const Message& reply : replies.messages) {
    const double sum = reply.body.elements<double>().front();
    fmt::print("{} says {:.6e}\n", reply.source.view(), sum);
    total += sum;
  }
  proxy.ibroadcast("worker", "stop", SessionType::notification).value();

  fmt::print("{} of {} parts, sum of squares {:.6e}, expected {:.6e}\n", replies.messages.size(),
             parts.size(), total, expected);
  return replies.lost.empty() && std::abs(total / expected - 1) < 1e-9 ? 0 : 1;
}
// endregion

int main(int argc, char** argv) {
  return example::run_roles(argc, argv, {{"worker", work, kWorkers}, {"coordinator", coordinate}});
}
