#include "muster/comm/session/session.h"

#include <gtest/gtest.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

constexpr auto kRequest = SessionStage::request;
constexpr auto kReceive = SessionStage::receive;
constexpr auto kComplete = SessionStage::complete;

TEST(Session, ATaskGoesFromRequestThroughReceiptToCompletion) {
  EXPECT_TRUE(check_move(SessionType::task, kRequest, kReceive).has_value());
  EXPECT_TRUE(check_move(SessionType::task, kReceive, kComplete).has_value());
  EXPECT_TRUE(check_move(SessionType::task, kRequest, kComplete).has_value());
}

TEST(Session, ANotificationEndsWithItsReceipt) {
  EXPECT_TRUE(check_move(SessionType::notification, kRequest, kReceive).has_value());
  EXPECT_TRUE(
      check_move(SessionType::notification, kReceive, kReceive).error().is(Errc::session_closed));
}

TEST(Session, RefusesMovesThatItsTypeDoesNotHave) {
  EXPECT_TRUE(
      check_move(SessionType::notification, kRequest, kComplete).error().is(Errc::session_type));
  EXPECT_TRUE(check_move(SessionType::task, kReceive, kReceive).error().is(Errc::session_type));
  EXPECT_TRUE(check_move(SessionType::task, kRequest, kRequest).error().is(Errc::session_type));
}

TEST(Session, RefusesAReplyAfterTheEnd) {
  const auto result = check_move(SessionType::task, kComplete, kComplete);
  EXPECT_TRUE(result.error().is(Errc::session_closed));
  EXPECT_EQ(result.error().message(),
            "the task session has ended; 'complete' cannot follow 'complete'");
}

}  // namespace
}  // namespace muster::comm
