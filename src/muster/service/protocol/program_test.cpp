#include "muster/service/protocol/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/engine/errors.h"
#include "muster/service/protocol/reports.h"

namespace muster::service {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Program, StandsBeforeARegistration) {
  Registration registration;
  registration.name = "worker-1";
  EXPECT_EQ(sender_of(encode(registration)), this_program());
  EXPECT_EQ(read_registration(encode(registration)).program, this_program());
  registration.program = {"99.0", kWireVersion};
  EXPECT_EQ(read_registration(encode(registration)).program.version, "99.0");
}

TEST(Program, IsKnownWhateverFollows) {
  Registration registration;
  registration.program = {"99.0", kWireVersion + 1};
  const comm::Body body = encode(registration);
  EXPECT_EQ(sender_of(body), registration.program);
  EXPECT_EQ(sender_of(comm::Body::bytes(body.buffer().bytes().first(16))), registration.program);
  EXPECT_THROW((void)read_registration(body), engine::ArrayError);
}

TEST(Program, IsUnknownInRegistrationsOfOld) {
  engine::ByteWriter old;
  old.text("worker-1");
  old.text("host");
  const comm::Body body = comm::Body::bytes(Buffer::take(old.take()));
  EXPECT_EQ(sender_of(body), std::nullopt);
  EXPECT_THROW((void)read_registration(body), engine::ArrayError);
  EXPECT_EQ(sender_of(comm::Body()), std::nullopt);
}

TEST(Program, IsRefusedWhereItsWireVersionIsAnother) {
  EXPECT_EQ(refusal("w", this_program()), std::nullopt);
  EXPECT_EQ(refusal("w", Program{"99.0", kWireVersion}), std::nullopt);
  const Program self = this_program();
  EXPECT_THAT(refusal("w", Program{"99.0", 12345}).value(),
              AllOf(HasSubstr("'w'"), HasSubstr("Muster 99.0 (wire version 12345)"),
                    HasSubstr("Muster " + self.version + " (wire version "),
                    HasSubstr("Install the same version")));
  EXPECT_THAT(refusal("w", std::nullopt).value(),
              AllOf(HasSubstr("older Muster"), HasSubstr(self.version)));
}

}  // namespace
}  // namespace muster::service
