#include "muster/comm/proxy/driver_endpoint.h"

#include <string>

#include <gtest/gtest.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

using std::chrono::seconds;

DriverEndpoint open_endpoint(const std::string& type) {
  EndpointOptions options;
  options.type = type;
  options.driver = "inproc";
  return DriverEndpoint::open(std::move(options)).value();
}

Message message_for(const char* destination, std::string_view text) {
  Message message;
  message.tag = "test";
  message.destination = destination;
  message.body = Body::text(text);
  message.session_type = SessionType::notification;
  return message;
}

TEST(DriverEndpoint, SendsToAPeerByTheNameItWasConnectedUnder) {
  DriverEndpoint sender = open_endpoint("sender");
  DriverEndpoint receiver = open_endpoint("receiver");
  ASSERT_TRUE(sender.connect("you", receiver.address()));
  ASSERT_TRUE(sender.send(message_for("you", "hello")));
  const auto received = receiver.receive_once(seconds(10)).value();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->body.text(), "hello");
  EXPECT_EQ(received->source, sender.name());
}

TEST(DriverEndpoint, NamesTheSenderAsItWasConnected) {
  DriverEndpoint a = open_endpoint("a");
  DriverEndpoint b = open_endpoint("b");
  ASSERT_TRUE(a.connect("bob", b.address()));
  ASSERT_TRUE(b.connect("ann", a.address()));
  ASSERT_TRUE(a.send(message_for("bob", "hello")));
  EXPECT_EQ(b.receive_once(seconds(10)).value()->source, "ann");
}

TEST(DriverEndpoint, BroadcastsToOneTypeOnly) {
  DriverEndpoint sender = open_endpoint("sender");
  DriverEndpoint worker = open_endpoint("worker");
  DriverEndpoint worker_b = open_endpoint("worker_b");
  ASSERT_TRUE(sender.connect("w", worker.address()));
  ASSERT_TRUE(sender.connect("wb", worker_b.address()));
  ASSERT_TRUE(sender.broadcast("worker", message_for("", "all")));
  ASSERT_TRUE(sender.send(message_for("wb", "you")));
  EXPECT_EQ(worker.receive_once(seconds(10)).value()->body.text(), "all");
  EXPECT_EQ(worker_b.receive_once(seconds(10)).value()->body.text(), "you");
}

TEST(DriverEndpoint, SaysWhoIsDisconnectedAndWhoIsUnknown) {
  DriverEndpoint sender = open_endpoint("sender");
  DriverEndpoint receiver = open_endpoint("receiver");
  ASSERT_TRUE(sender.connect("you", receiver.address()));
  ASSERT_TRUE(sender.disconnect("you"));
  EXPECT_TRUE(sender.send(message_for("you", "x")).error().is(Errc::pending));
  EXPECT_TRUE(sender.send(message_for("him", "x")).error().is(Errc::peers_missing));
  EXPECT_TRUE(sender.disconnect("him").error().is(Errc::peer_disconnection));
  EXPECT_TRUE(sender.connect("you", "no address").error().is(Errc::socket_type));
}

TEST(DriverEndpoint, CanBeConnectedAgain) {
  DriverEndpoint sender = open_endpoint("sender");
  DriverEndpoint receiver = open_endpoint("receiver");
  ASSERT_TRUE(sender.connect("you", receiver.address()));
  ASSERT_TRUE(sender.disconnect("you"));
  ASSERT_TRUE(sender.connect("you", receiver.address()));
  ASSERT_TRUE(sender.send(message_for("you", "again")));
  EXPECT_EQ(receiver.receive_once(seconds(10)).value()->body.text(), "again");
}

}  // namespace
}  // namespace muster::comm
