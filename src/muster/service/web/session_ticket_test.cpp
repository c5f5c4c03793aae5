#include "muster/service/web/session_ticket.h"

#include <gtest/gtest.h>

namespace muster::service {
namespace {

using engine::SessionId;

TEST(SessionTickets, AreReadByWhoeverHasTheKey) {
  const std::string ticket = SessionTickets("token").make(SessionId(42));
  EXPECT_EQ(SessionTickets("token").read(ticket), SessionId(42));
  EXPECT_FALSE(SessionTickets("other").read(ticket).has_value());
}

TEST(SessionTickets, CannotBeMadeUp) {
  const SessionTickets tickets("token");
  const std::string ticket = tickets.make(SessionId(42));
  for (const std::string& wrong :
       {std::string(), std::string("42"), std::string("42."), "43" + ticket.substr(2), ticket + "0",
        ticket.substr(1), std::string("99999999999.00"), "0" + ticket})
    EXPECT_FALSE(tickets.read(wrong).has_value()) << wrong;
}

TEST(SessionTickets, FingerprintsAreStableAndDiffer) {
  EXPECT_EQ(fingerprint("a"), fingerprint("a"));
  EXPECT_NE(fingerprint("a"), fingerprint("b"));
}

}  // namespace
}  // namespace muster::service
