#include "muster/service/python/function_call.h"

#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::service {
namespace {

using engine::Array;
using engine::Type;
using nlohmann::json;
using testing::HasSubstr;

const SharedFunction kFunction{.id = 7, .name = "f", .pickled = Buffer::copy_of(as_bytes("code"))};

json request(std::vector<Array> inputs, const CallOptions& options) {
  const auto memory = engine::Memory::make(1 << 20);
  const engine::Attributes attributes;
  engine::KernelContext context(attributes, std::move(inputs), 1, *memory);
  auto packed = pack_call(kFunction, context, options);
  EXPECT_TRUE(packed) << packed.error().message();
  Packet packet;
  packet.bytes = std::move(packed->packet);
  auto frame = read_frame(std::move(packet));
  EXPECT_TRUE(frame) << frame.error().message();
  return frame->head;
}

TEST(FunctionCall, NamesThePlacesOfInputsInTheArena) {
  const std::vector<double> arena(100, 1.0);
  const ByteSpan memory = std::as_bytes(std::span(arena));
  const Array inside = Array::share(Type::f64, {2, 3}, {24, -8}, memory.data() + 16, nullptr);
  const json head = request({inside}, {.arena = memory});
  EXPECT_EQ(head["inputs"][0]["inline"], false);
  EXPECT_EQ(head["inputs"][0]["at"], 16);
  EXPECT_EQ(head["inputs"][0]["strides"], json({24, -8}));
  EXPECT_EQ(head["pickled"], 0);
}

TEST(FunctionCall, SendsInputsThatReachOutOfTheArena) {
  const std::vector<double> items(100, 1.0);
  const ByteSpan memory = std::as_bytes(std::span(items));
  const Array across = Array::share(Type::f64, {10}, {8}, memory.data() + 400, nullptr);
  const Array before = Array::share(Type::f64, {10}, {-8}, memory.data() + 472, nullptr);
  const Array none = Array::share(Type::f64, {0}, {8}, memory.data(), nullptr);
  const json head =
      request({across, before, none}, {.with_function = true, .arena = memory.subspan(408, 70)});
  for (const json& input : head["inputs"]) EXPECT_EQ(input["inline"], true);
  EXPECT_EQ(head["pickled"], 4);
  EXPECT_EQ(head["inputs"][0]["at"], 64);  // after the function
  EXPECT_EQ(head["inputs"][1]["at"], 192);
}

Result<CallReply> reply(const json& head, std::size_t extra = 64) {
  alignas(kFrameAlignment) static const std::array<std::byte, 1024> bytes{};
  return read_reply({.head = head, .extra = ByteSpan(bytes).first(extra), .owner = nullptr}, "f",
                    1);
}
json output(const json& shape, const json& at = 0U, const char* dtype = "float64") {
  const json each = {{"dtype", dtype}, {"shape", shape}, {"at", at}};
  return {{"ok", true}, {"outputs", json::array({each})}};
}
json shape(std::vector<std::int64_t> extents) { return json(std::move(extents)); }

TEST(FunctionCall, TakesResultsThatFit) {
  for (const engine::Shape& extents : {engine::Shape{2, 4}, {}, {0, 1000}, {8}}) {
    // As it comes over the wire, where numbers that are not negative have no sign.
    const auto taken = reply(json::parse(output(shape(extents)).dump()));
    ASSERT_TRUE(taken) << taken.error().message();
    EXPECT_EQ(taken->outputs.front().shape(), extents);
  }
}

TEST(FunctionCall, RefusesResultsThatDoNotFit) {
  const std::int64_t huge = std::int64_t{1} << 61;
  for (const json& head :
       {json::object(), json({{"ok", 1}}), json({{"ok", true}}), output(shape({9})),
        output(shape({2}), 56), output(shape({2}), 1 << 20), output(shape({2}), -1),
        output(shape({2}), "x"), output(shape({-1})), output(json::array({1.5})), output("x"),
        output(shape({huge, huge})), output(shape({0, huge, huge})),
        output(shape({1}), 0, "object"), json({{"ok", true}, {"outputs", json::array({1})}}),
        json({{"ok", true}, {"outputs", json::array()}})}) {
    EXPECT_FALSE(reply(json::parse(head.dump()))) << head;
  }
}

TEST(FunctionCall, TellsWhatTheFunctionRaised) {
  const auto raised = reply({{"ok", false},
                             {"kind", "IndexError"},
                             {"type", "OddError"},
                             {"message", "odd"},
                             {"traceback", "  File \"x\"\n"}});
  ASSERT_TRUE(raised);
  ASSERT_TRUE(raised->raised);
  EXPECT_EQ(raised->raised->wrong(), engine::Wrong::index);
  EXPECT_THAT(raised->raised->what(), HasSubstr("OddError: odd\nin 'f'"));
}

}  // namespace
}  // namespace muster::service
