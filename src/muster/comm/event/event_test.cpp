#include "muster/comm/event/event.h"

#include <string>

#include <gtest/gtest.h>

namespace muster::comm {
namespace {

TEST(Amount, OfACountDoesNotDependOnThePeers) {
  const Amount ten{10, Amount::Kind::count};
  EXPECT_EQ(ten.needed(0), 10u);
  EXPECT_EQ(ten.needed(3), 10u);
}

TEST(Amount, OfAPercentageIsRoundedUpAndAtLeastOne) {
  const Amount sixty{60, Amount::Kind::percentage};
  EXPECT_EQ(sixty.needed(5), 3u);
  EXPECT_EQ(sixty.needed(4), 3u);
  EXPECT_EQ(sixty.needed(1), 1u);
  EXPECT_EQ((Amount{1, Amount::Kind::percentage}.needed(3)), 1u);
  EXPECT_EQ((Amount{100, Amount::Kind::percentage}.needed(7)), 7u);
}

TEST(Amount, OfAPercentageOfNobodyIsNeverReached) {
  EXPECT_EQ((Amount{1, Amount::Kind::percentage}.needed(0)), std::nullopt);
}

TEST(Event, IsMadeFromAnyKindOfText) {
  const Event from_literal = "worker:update:10";
  const Event from_string = std::string("worker:update:10");
  const Event from_view = std::string_view("worker:update:10");
  EXPECT_EQ(from_literal, from_string);
  EXPECT_EQ(from_literal, from_view);
  EXPECT_EQ(from_literal, event::unit("worker:update:10"));
  EXPECT_EQ(from_literal.unit(), (UnitEvent{"worker", "update", {10, Amount::Kind::count}}));
}

TEST(Event, IsComposedByAllOfAndAnyOf) {
  const Event event =
      event::all_of("a:b:1", event::any_of("c:d:2", std::string("e:f:60%")), "*:*:1");
  EXPECT_EQ(event.kind(), Event::Kind::all_of);
  EXPECT_EQ(event.depth(), 2u);
  EXPECT_EQ(event.str(), "('a:b:1', ('c:d:2', 'e:f:60%', 'OR'), '*:*:1', 'AND')");
}

TEST(Event, OfOneOperandStaysATuple) { EXPECT_EQ(event::any_of("a:b:1").str(), "('a:b:1', 'OR')"); }

TEST(Event, ThrowsWhereTheProgramSpellsItWrong) {
  EXPECT_THROW(Event("worker:update"), EventSyntaxError);
  EXPECT_THROW(static_cast<void>(event::all_of("a:b:1", "worker:update")), EventSyntaxError);
  EXPECT_THROW(static_cast<void>(event::unit("('a:b:1', 'AND')")), EventSyntaxError);
  EXPECT_THROW(Event(Event::Kind::all_of, {}), std::invalid_argument);
}

TEST(Event, RefusesToNestTooDeep) {
  Event event = "a:b:1";
  for (std::size_t i = 0; i < kMaxEventDepth; ++i) event = event::all_of(event);
  EXPECT_EQ(event.depth(), kMaxEventDepth);
  EXPECT_THROW(static_cast<void>(event::all_of(event)), std::invalid_argument);
}

}  // namespace
}  // namespace muster::comm
