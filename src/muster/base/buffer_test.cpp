#include "muster/base/buffer.h"

#include <string>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Buffer, KeepsSmallContentsInside) {
  const Buffer buffer = Buffer::copy_of(as_bytes("hello"));
  EXPECT_EQ(buffer.text(), "hello");
  EXPECT_EQ(buffer.owner(), nullptr);
  const Buffer copy = buffer;
  EXPECT_NE(copy.data(), buffer.data());
  EXPECT_EQ(copy, buffer);
}

TEST(Buffer, SharesLargeContentsBetweenCopies) {
  const std::string text(1000, 'x');
  const Buffer buffer = Buffer::copy_of(as_bytes(text));
  const Buffer copy = buffer;
  EXPECT_EQ(copy.data(), buffer.data());
  EXPECT_EQ(copy.text(), text);
}

TEST(Buffer, TakesAVectorOverWithoutCopying) {
  std::vector<std::byte> bytes(Buffer::kInline + 1);
  const std::byte* const data = bytes.data();
  EXPECT_EQ(Buffer::take(std::move(bytes)).data(), data);
}

TEST(Buffer, KeepsAForeignOwnerAlive) {
  auto owner = std::make_shared<std::string>("short");
  const std::weak_ptr<std::string> watch = owner;
  Buffer buffer = Buffer::share(as_bytes(*owner), owner);
  owner.reset();
  EXPECT_EQ(buffer.text(), "short");
  EXPECT_FALSE(watch.expired());
  buffer = Buffer();
  EXPECT_TRUE(watch.expired());
}

TEST(Buffer, CopiesWhatIsLentOnlyForThoseWhoKeepIt) {
  auto owner = std::make_shared<std::string>(1000, 'x');
  const Buffer lent = Buffer::lend(as_bytes(*owner), owner);
  const Buffer kept = lent.kept();
  owner->front() = 'y';
  EXPECT_EQ(lent.text(), *owner);
  EXPECT_EQ(kept.text(), std::string(1000, 'x'));
  EXPECT_FALSE(kept.lent());
  const Buffer shared = Buffer::share(as_bytes(*owner), owner);
  EXPECT_EQ(shared.kept().data(), shared.data());
}

TEST(Buffer, KnowsThatItsOwnMemoryMayBeChanged) {
  EXPECT_TRUE(Buffer::take(std::vector<std::byte>(1000)).given());
  const auto owner = std::make_shared<std::string>(1000, 'x');
  EXPECT_FALSE(Buffer::share(as_bytes(*owner), owner).given());
  EXPECT_FALSE(Buffer::copy_of(as_bytes("small")).given());
}

TEST(Buffer, IsEmptyByDefault) {
  EXPECT_TRUE(Buffer().empty());
  EXPECT_EQ(Buffer(), Buffer::copy_of({}));
}

}  // namespace
}  // namespace muster
