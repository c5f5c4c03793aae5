#include "muster/comm/collective/element.h"

#include <gtest/gtest.h>

namespace muster::comm::collective {
namespace {

TEST(Element, OfAnIntegerGoesByItsSizeAndSign) {
  EXPECT_EQ(element_of<std::int8_t>(), Element::i8);
  EXPECT_EQ(element_of<std::uint8_t>(), Element::u8);
  EXPECT_EQ(element_of<std::byte>(), Element::u8);
  EXPECT_EQ(element_of<char>(), std::is_signed_v<char> ? Element::i8 : Element::u8);
  EXPECT_EQ(element_of<short>(), Element::i16);
  EXPECT_EQ(element_of<unsigned short>(), Element::u16);
  EXPECT_EQ(element_of<int>(), Element::i32);
  EXPECT_EQ(element_of<unsigned>(), Element::u32);
  EXPECT_EQ(element_of<long>(), Element::i64);
  EXPECT_EQ(element_of<unsigned long>(), Element::u64);
  EXPECT_EQ(element_of<long long>(), Element::i64);
  EXPECT_EQ(element_of<unsigned long long>(), Element::u64);
}

TEST(Element, HasTheSizeOfItsType) {
  EXPECT_EQ(item_size(element_of<long long>()), sizeof(long long));
  EXPECT_EQ(item_size(element_of<BFloat16>()), sizeof(BFloat16));
  EXPECT_EQ(item_size(element_of<Float16>()), sizeof(Float16));
  EXPECT_EQ(item_size(element_of<float>()), sizeof(float));
  EXPECT_EQ(item_size(element_of<std::complex<float>>()), sizeof(std::complex<float>));
  EXPECT_EQ(item_size(element_of<std::complex<double>>()), sizeof(std::complex<double>));
}

}  // namespace
}  // namespace muster::comm::collective
