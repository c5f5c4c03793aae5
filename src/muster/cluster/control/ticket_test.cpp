#include "muster/cluster/control/ticket.h"

#include <gtest/gtest.h>

namespace muster::cluster {
namespace {

TEST(Ticket, ComesOutAsItWentIn) {
  for (const auto kind : {Ticket::Kind::start, Ticket::Kind::stop, Ticket::Kind::remove}) {
    const Ticket ticket = Ticket::make(kind, "train");
    EXPECT_EQ(Ticket::parse(ticket.text()).value(), ticket);
  }
  const Ticket settings = Ticket::make(Ticket::Kind::settings, "");
  EXPECT_EQ(Ticket::parse(settings.text()).value(), settings);
}

TEST(Ticket, IsUnlikeAnyOther) {
  EXPECT_NE(Ticket::make(Ticket::Kind::stop, "a"), Ticket::make(Ticket::Kind::stop, "a"));
}

TEST(Ticket, IsNotReadFromRubbish) {
  for (const char* const text : {"", "start", "start x", "fly x y"}) {
    EXPECT_FALSE(Ticket::parse(text)) << text;
  }
}

}  // namespace
}  // namespace muster::cluster
