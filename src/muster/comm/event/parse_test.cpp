#include "muster/comm/event/parse.h"

#include <string>

#include <gtest/gtest.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

std::string error_of(std::string_view text) {
  const auto event = parse_event(text);
  if (event) return "no error: " + event->str();
  EXPECT_TRUE(event.error().is(Errc::event_syntax));
  return event.error().message();
}

std::string error_of(const EventDraft& draft) {
  const auto event = build_event(draft);
  return event ? "no error" : event.error().message();
}

EventDraft text(std::string value) { return EventDraft::of(std::move(value)); }

TEST(ParseUnitEvent, ReadsSourceTagAndAmount) {
  EXPECT_EQ(parse_unit_event("worker:update:60%"),
            (UnitEvent{"worker", "update", {60, Amount::Kind::percentage}}));
  EXPECT_EQ(parse_unit_event("*:*:1"), (UnitEvent{"*", "*", {1, Amount::Kind::count}}));
  EXPECT_EQ(parse_unit_event("worker_01:update:007"),
            (UnitEvent{"worker_01", "update", {7, Amount::Kind::count}}));
}

TEST(ParseUnitEvent, AllowsSpacesInsideNames) {
  EXPECT_EQ(parse_unit_event("my worker:new weights:1")->tag, "new weights");
}

TEST(ParseUnitEvent, NamesTheEventAndThePosition) {
  EXPECT_EQ(error_of("worker"),
            "event 'worker': offset 6: the tag and the amount are missing: source:tag:amount is "
            "expected");
  EXPECT_EQ(
      error_of("worker:update"),
      "event 'worker:update': offset 13: the amount is missing: source:tag:amount is expected");
  EXPECT_EQ(error_of("a:b:c:1"),
            "event 'a:b:c:1': offset 5: one ':' too many: sources and tags cannot have any");
  EXPECT_EQ(error_of(":b:1"), "event ':b:1': offset 0: the source is empty");
  EXPECT_EQ(error_of("a::1"), "event 'a::1': offset 2: the tag is empty");
  EXPECT_EQ(error_of("a: b:1"), "event 'a: b:1': offset 2: a space before the tag");
  EXPECT_EQ(error_of("a :b:1"), "event 'a :b:1': offset 1: a space after the source");
  EXPECT_EQ(error_of("a:b:"), "event 'a:b:': offset 4: the amount is missing");
}

TEST(ParseUnitEvent, RefusesAmountsThatMakeNoSense) {
  EXPECT_EQ(error_of("a:b:0"), "event 'a:b:0': offset 4: the amount must be at least 1");
  EXPECT_EQ(error_of("a:b:0%"), "event 'a:b:0%': offset 4: the amount must be at least 1");
  EXPECT_EQ(error_of("a:b:101%"), "event 'a:b:101%': offset 4: a percentage is at most 100%");
  EXPECT_EQ(error_of("a:b:99999999999999999999"),
            "event 'a:b:99999999999999999999': offset 4: the amount is too large");
  const std::string no_number = "the amount must be a number, or a number and '%'";
  EXPECT_EQ(error_of("a:b:-1"), "event 'a:b:-1': offset 4: " + no_number);
  EXPECT_EQ(error_of("a:b:+1"), "event 'a:b:+1': offset 4: " + no_number);
  EXPECT_EQ(error_of("a:b:%"), "event 'a:b:%': offset 4: " + no_number);
  EXPECT_EQ(error_of("a:b: 1"), "event 'a:b: 1': offset 4: " + no_number);
  EXPECT_EQ(error_of("a:b:1 "), "event 'a:b:1 ': offset 5: " + no_number);
  EXPECT_EQ(error_of("a:b:1.5"), "event 'a:b:1.5': offset 5: " + no_number);
  EXPECT_EQ(error_of("a:b:60%%"), "event 'a:b:60%%': offset 6: " + no_number);
  EXPECT_EQ(error_of("a:b:60 %"), "event 'a:b:60 %': offset 6: " + no_number);
}

TEST(BuildEvent, TakesBothSpellingsOfEachOperator) {
  for (const char* spelling : {"AND", "&&"}) {
    const auto event =
        build_event(EventDraft::tuple({text("a:b:1"), text("c:d:1"), text(spelling)}));
    EXPECT_EQ(event->kind(), Event::Kind::all_of) << spelling;
  }
  for (const char* spelling : {"OR", "||"}) {
    const auto event =
        build_event(EventDraft::tuple({text("a:b:1"), text("c:d:1"), text(spelling)}));
    EXPECT_EQ(event->kind(), Event::Kind::any_of) << spelling;
  }
}

TEST(BuildEvent, NamesTheWayToTheWrongElement) {
  EXPECT_EQ(error_of(EventDraft::tuple(
                {text("a:b:1"), EventDraft::tuple({text("c:d"), text("OR")}), text("AND")})),
            "event ('a:b:1', ('c:d', 'OR'), 'AND'): element 2, element 1, offset 3: the amount is "
            "missing: "
            "source:tag:amount is expected");
}

TEST(BuildEvent, WantsAnOperatorLast) {
  const std::string wanted = "the last element of a tuple must be AND, OR, && or ||";
  EXPECT_EQ(error_of(EventDraft::tuple({text("a:b:1"), text("c:d:1")})),
            "event ('a:b:1', 'c:d:1'): element 2: " + wanted);
  EXPECT_EQ(error_of(EventDraft::tuple({text("a:b:1"), text("and")})),
            "event ('a:b:1', 'and'): element 2: " + wanted);
  EXPECT_EQ(error_of(EventDraft::tuple({text("AND"), EventDraft::tuple({text("AND")})})),
            "event ('AND', ('AND')): element 2: " + wanted);
}

TEST(BuildEvent, WantsAtLeastOneOperand) {
  EXPECT_EQ(error_of(EventDraft::tuple({})), "event (): the tuple is empty");
  EXPECT_EQ(error_of(EventDraft::tuple({text("OR")})),
            "event ('OR'): element 1: an event must stand before the operator");
}

TEST(BuildEvent, RefusesAnOperatorAmongTheOperands) {
  EXPECT_EQ(error_of(EventDraft::tuple({text("a:b:1"), text("OR"), text("AND")})),
            "event ('a:b:1', 'OR', 'AND'): element 2, offset 2: the tag and the amount are "
            "missing: source:tag:amount is expected");
}

TEST(BuildEvent, RefusesToNestTooDeep) {
  EventDraft draft = text("a:b:1");
  for (std::size_t i = 0; i <= kMaxEventDepth; ++i)
    draft = EventDraft::tuple({std::move(draft), text("AND")});
  EXPECT_NE(error_of(draft).find("nested more than 64 deep"), std::string::npos);
}

TEST(ParseEvent, ReadsNestedTuples) {
  const Event event = event::all_of("a:b:1", event::any_of("c:d:2", "e:f:1"));
  EXPECT_EQ(parse_event(R"(("a:b:1", ("c:d:2", "e:f:1", "OR"), "AND"))"), event);
  EXPECT_EQ(parse_event("('a:b:1',('c:d:2','e:f:1','||',),'&&' ) "), event);
  EXPECT_EQ(parse_event("(a:b:1, (c:d:2, e:f:1 , OR), AND)"), event);
}

TEST(ParseEvent, ReadsWhatStrWrote) {
  for (const Event& event :
       {event::all_of("a:b:1", event::any_of("c:d:2", "e:f:1")), Event("a:b:3%"),
        event::any_of(event::unit("it's (odd), \\:t\"ag:1"), "x:y:1")}) {
    EXPECT_EQ(parse_event(event.str()), event) << event.str();
  }
}

TEST(ParseEvent, NamesTheOffsetOfABrokenTuple) {
  EXPECT_EQ(error_of("(a:b:1, AND"), "event (a:b:1, AND: offset 11: ',' or ')' is expected");
  EXPECT_EQ(error_of("(a:b:1, "), "event (a:b:1, : offset 8: ')' is missing");
  EXPECT_EQ(error_of("(a:b:1 (c:d:1, OR), AND)"),
            "event (a:b:1 (c:d:1, OR), AND): offset 7: ',' or ')' is expected");
  EXPECT_EQ(error_of("(a:b:1,, AND)"),
            "event (a:b:1,, AND): offset 7: an event or an operator is expected");
  EXPECT_EQ(error_of("('a:b:1, AND)"), "event ('a:b:1, AND): offset 1: the quote is not closed");
  EXPECT_EQ(error_of("(a:b:1, AND) OR"),
            "event (a:b:1, AND) OR: offset 13: nothing may follow the closing ')'");
  EXPECT_NE(
      error_of(std::string(100'000, '(')).find("offset 64: tuples are nested more than 64 deep"),
      std::string::npos);
}

TEST(ParseEvent, ShortensALongEventInTheMessage) {
  EXPECT_LT(error_of(std::string(100'000, 'x')).size(), 400u);
}

}  // namespace
}  // namespace muster::comm
