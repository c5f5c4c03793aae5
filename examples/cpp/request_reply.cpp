// A client sends numbers to a server, which replies with their squares.

#include <string>

#include "muster/muster.h"
#include "roles.h"

using namespace muster::comm;
using namespace std::chrono_literals;

// region server
int serve(const std::string& group) {
  ProxyOptions options;
  options.group = group;
  options.type = "server";
  options.expected_peers = {{"client", 1}};
  Proxy proxy = Proxy::join(options).value();

  while (auto request = proxy.receive_once(10s).value()) {
    if (request->tag == "stop") return 0;
    const int number = std::stoi(std::string(request->body.text()));
    proxy.reply(*request, "square", Body::text(std::to_string(number * number))).value();
  }
  return 1;  // no request came for ten seconds
}
// endregion

// region client
int ask(const std::string& group) {
  ProxyOptions options;
  options.group = group;
  options.type = "client";
  options.expected_peers = {{"server", 1}};
  Proxy proxy = Proxy::join(options).value();
  const muster::Name server = proxy.peers().at("server").front();

  for (int number = 1; number <= 5; ++number) {
    Message request;
    request.tag = "number";
    request.destination = server;
    request.body = Body::text(std::to_string(number));
    const Replies replies = proxy.send(request, 10s).value();
    if (replies.messages.empty()) return 1;  // late, or the server is gone: see replies.lost
    fmt::print("{} squared is {}\n", number, replies.messages.front().body.text());
  }
  proxy.ibroadcast("server", "stop", SessionType::notification).value();
  return 0;
}
// endregion

int main(int argc, char** argv) {
  return example::run_roles(argc, argv, {{"server", serve}, {"client", ask}});
}
