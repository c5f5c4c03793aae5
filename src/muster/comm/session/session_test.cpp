#include "muster/comm/session/session.h"

#include <gtest/gtest.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

using enum SessionStage;

TEST(Session, ATaskGoesFromRequestThroughReceiptToCompletion) {
  EXPECT_TRUE(check_move(SessionType::task, request, receive).has_value());
  EXPECT_TRUE(check_move(SessionType::task, receive, complete).has_value());
  EXPECT_TRUE(check_move(SessionType::task, request, complete).has_value());
}

TEST(Session, ANotificationEndsWithItsReceipt) {
  EXPECT_TRUE(check_move(SessionType::notification, request, receive).has_value());
  EXPECT_TRUE(
      check_move(SessionType::notification, receive, receive).error().is(Errc::session_closed));
}

TEST(Session, RefusesMovesThatItsTypeDoesNotHave) {
  EXPECT_TRUE(
      check_move(SessionType::notification, request, complete).error().is(Errc::session_type));
  EXPECT_TRUE(check_move(SessionType::task, receive, receive).error().is(Errc::session_type));
  EXPECT_TRUE(check_move(SessionType::task, request, request).error().is(Errc::session_type));
}

TEST(Session, RefusesAReplyAfterTheEnd) {
  const auto result = check_move(SessionType::task, complete, complete);
  EXPECT_TRUE(result.error().is(Errc::session_closed));
  EXPECT_EQ(result.error().message(),
            "the task session has ended; 'complete' cannot follow 'complete'");
}

}  // namespace
}  // namespace muster::comm
