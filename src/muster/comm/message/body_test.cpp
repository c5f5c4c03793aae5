#include "muster/comm/message/body.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace muster::comm {
namespace {

Buffer large() { return Buffer::take(std::vector<std::byte>(1000)); }

TEST(Body, MayBeChangedWhereNobodyElseHoldsIt) {
  const Body body = Body::bytes(large());
  EXPECT_TRUE(body.exclusive(0));
  const Body copy = body;
  EXPECT_FALSE(body.exclusive(0));
}

TEST(Body, MayBeChangedWhenItsBuffersShareOneOwner) {
  auto owner = std::make_shared<std::vector<std::byte>>(2000);
  const std::span<std::byte> bytes(*owner);
  std::vector<Buffer> more;
  more.push_back(Buffer::give(bytes.subspan(1000), owner));
  Body body = Body::python(Buffer::give(bytes.first(1000), std::move(owner)), std::move(more));
  EXPECT_TRUE(body.exclusive(0));
  EXPECT_TRUE(body.exclusive(1));
  const Body copy = body;
  EXPECT_FALSE(body.exclusive(1));
}

TEST(Body, MayNotBeChangedWhenItsMemoryIsSharedByItsMaker) {
  const auto owner = std::make_shared<std::string>(1000, 'x');
  EXPECT_FALSE(Body::bytes(Buffer::share(as_bytes(*owner), owner)).exclusive(0));
}

TEST(Body, KeepsCopiesOfWhatIsLent) {
  const auto owner = std::make_shared<std::string>(1000, 'x');
  std::vector<Buffer> more;
  more.push_back(Buffer::lend(as_bytes(*owner), owner));
  const Body lent = Body::python(Buffer::copy_of(as_bytes("pickle")), std::move(more));
  const Body kept = lent.kept();
  owner->front() = 'y';
  EXPECT_EQ(kept.buffer(1).text(), std::string(1000, 'x'));
  EXPECT_EQ(kept.buffer(0).text(), "pickle");
}

}  // namespace
}  // namespace muster::comm
