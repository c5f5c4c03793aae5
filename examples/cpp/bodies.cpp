// What a message can carry, and who owns the memory.

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "muster/muster.h"
#include "roles.h"

using namespace muster::comm;
using namespace std::chrono_literals;

constexpr std::size_t kNumbers = 1'000'000;

// region make
std::vector<Body> small_bodies() {
  const std::array<float, 4> weights = {1, 2, 3, 4};
  return {
      Body::bytes(muster::as_bytes("\x01\x02\x03")),
      Body::text("grüezi"),
      Body::json(R"({"round": 7})"),
      Body::array(std::span<const float>(weights)),
  };
}
// endregion

// region read
double sum_of(const Body& body) {
  switch (body.type()) {
    case BodyType::text:
    case BodyType::json: return static_cast<double>(body.text().size());
    case BodyType::array: {
      const std::span<const float> elements = body.elements<float>();  // throws for another dtype
      return std::accumulate(elements.begin(), elements.end(), 0.0);
    }
    case BodyType::bytes:
    case BodyType::python: return static_cast<double>(body.size());
  }
  return 0;
}
// endregion

// region allocate
/// A large array that is written into the memory from which it is sent: on this host the receiver
/// maps it, and nothing is copied.
Body large_body(Proxy& proxy) {
  WritableBuffer memory = proxy.allocate(kNumbers * sizeof(float)).value();
  const std::span<float> numbers(reinterpret_cast<float*>(memory.bytes.data()), kNumbers);
  std::fill(numbers.begin(), numbers.end(), 0.5f);
  return Body::array(DType::of<float>(), {1000, 1000}, std::move(memory).freeze());
}
// endregion

int receive(const std::string& group) {
  ProxyOptions options;
  options.group = group;
  options.type = "receiver";
  options.expected_peers = {{"sender", 1}};
  Proxy proxy = Proxy::join(options).value();
  while (auto message = proxy.receive_once(10s).value()) {
    if (message->tag == "stop") return 0;
    proxy.reply(*message, "sum", Body::text(fmt::format("{}", sum_of(message->body)))).value();
  }
  return 1;
}

int send(const std::string& group) {
  ProxyOptions options;
  options.group = group;
  options.type = "sender";
  options.expected_peers = {{"receiver", 1}};
  Proxy proxy = Proxy::join(options).value();
  std::vector<Body> bodies = small_bodies();
  bodies.push_back(large_body(proxy));
  bool right = true;
  for (const Body& body : bodies) {
    Message message;
    message.tag = "body";
    message.destination = proxy.peers().at("receiver").front();
    message.body = body;
    const Replies replies = proxy.send(message, 10s).value();
    if (replies.messages.empty()) return 1;
    const std::string_view sum = replies.messages.front().body.text();
    fmt::print("{:6} {:8} bytes: {}\n", to_string(body.type()), body.size(), sum);
    right = right && sum == fmt::format("{}", sum_of(body));
  }
  proxy.ibroadcast("receiver", "stop", SessionType::notification).value();
  return right ? 0 : 1;
}

int main(int argc, char** argv) {
  return example::run_roles(argc, argv, {{"receiver", receive}, {"sender", send}});
}
