#include "muster/comm/event/parse.h"

#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <tl/expected.hpp>

#include "muster/comm/errc.h"
#include "muster/comm/event/draft_reader.h"

namespace muster::comm {
namespace {

struct Fault {
  std::size_t offset;
  std::string what;
};

template <class T>
using Checked = tl::expected<T, Fault>;

tl::unexpected<Fault> fault(std::size_t offset, std::string what) {
  return tl::unexpected<Fault>({offset, std::move(what)});
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// The part of `text` from `begin` to `end`, which is the source or the tag.
Checked<Name> part(std::string_view text, std::size_t begin, std::size_t end,
                   std::string_view which) {
  if (begin == end) return fault(begin, fmt::format("the {} is empty", which));
  if (is_space(text[begin])) return fault(begin, fmt::format("a space before the {}", which));
  if (is_space(text[end - 1])) return fault(end - 1, fmt::format("a space after the {}", which));
  return Name(text.substr(begin, end - begin));
}

Checked<Amount> amount(std::string_view text, std::size_t begin) {
  Amount out;
  const char* const first = text.data() + begin;
  const char* last = text.data() + text.size();
  if (first == last) return fault(begin, "the amount is missing");
  if (*(last - 1) == '%') {
    out.kind = Amount::Kind::percentage;
    --last;
  }
  const auto [end, error] = std::from_chars(first, last, out.value);
  if (error == std::errc::result_out_of_range) return fault(begin, "the amount is too large");
  if (error != std::errc() || end != last) {
    return fault(static_cast<std::size_t>(end - text.data()),
                 "the amount must be a number, or a number and '%'");
  }
  if (out.value == 0) return fault(begin, "the amount must be at least 1");
  if (out.kind == Amount::Kind::percentage && out.value > 100)
    return fault(begin, "a percentage is at most 100%");
  return out;
}

Checked<UnitEvent> read_unit(std::string_view text) {
  const std::size_t first = text.find(':');
  if (first == text.npos)
    return fault(text.size(), "the tag and the amount are missing: source:tag:amount is expected");
  const std::size_t second = text.find(':', first + 1);
  if (second == text.npos)
    return fault(text.size(), "the amount is missing: source:tag:amount is expected");
  const std::size_t third = text.find(':', second + 1);
  if (third != text.npos) return fault(third, "one ':' too many: sources and tags cannot have any");

  auto source = part(text, 0, first, "source");
  if (!source) return tl::unexpected(std::move(source).error());
  auto tag = part(text, first + 1, second, "tag");
  if (!tag) return tl::unexpected(std::move(tag).error());
  auto number = amount(text, second + 1);
  if (!number) return tl::unexpected(std::move(number).error());
  return UnitEvent{*std::move(source), *std::move(tag), *number};
}

std::optional<Event::Kind> operator_of(const EventDraft& draft) {
  if (draft.is_tuple) return std::nullopt;
  if (draft.text == "AND" || draft.text == "&&") return Event::Kind::all_of;
  if (draft.text == "OR" || draft.text == "||") return Event::Kind::any_of;
  return std::nullopt;
}

void append_draft(std::string& out, const EventDraft& draft) {
  if (!draft.is_tuple) {
    out += '\'' + draft.text + '\'';
    return;
  }
  out += '(';
  for (std::size_t i = 0; i < draft.elements.size() && out.size() < kMaxQuotedEvent; ++i) {
    if (i > 0) out += ", ";
    append_draft(out, draft.elements[i]);
  }
  out += ')';
}

/// Checks one draft; `path_` is the way to the element that is being looked at.
class Builder {
 public:
  explicit Builder(const EventDraft& whole) : whole_(whole) {}

  Result<Event> build(const EventDraft& draft) {
    if (!draft.is_tuple) return unit(draft.text);
    if (path_.size() >= kMaxEventDepth)
      return wrong(fmt::format("tuples are nested more than {} deep", kMaxEventDepth));
    if (draft.elements.empty()) return wrong("the tuple is empty");
    path_.push_back(draft.elements.size());
    const auto kind = operator_of(draft.elements.back());
    if (!kind) return wrong("the last element of a tuple must be AND, OR, && or ||");
    if (draft.elements.size() == 1) return wrong("an event must stand before the operator");
    std::vector<Event> operands;
    operands.reserve(draft.elements.size() - 1);
    for (std::size_t i = 0; i + 1 < draft.elements.size(); ++i) {
      path_.back() = i + 1;
      auto operand = build(draft.elements[i]);
      if (!operand) return operand;
      operands.push_back(*std::move(operand));
    }
    path_.pop_back();
    return Event(*kind, std::move(operands));
  }

 private:
  Result<Event> unit(std::string_view text) const {
    auto unit = read_unit(text);
    if (unit) return Event(*std::move(unit));
    return wrong(unit.error().what, unit.error().offset);
  }

  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view what,
                                            std::optional<std::size_t> offset = {}) const {
    std::string where;
    for (const std::size_t element : path_) where += fmt::format("element {}, ", element);
    if (offset) where += fmt::format("offset {}, ", *offset);
    where.resize(where.empty() ? 0 : where.size() - 2);
    std::string event;
    append_draft(event, whole_);
    if (where.empty())
      return fail(Errc::event_syntax, fmt::format("event {}: {}", shortened(event), what));
    return fail(Errc::event_syntax, fmt::format("event {}: {}: {}", shortened(event), where, what));
  }

  const EventDraft& whole_;
  std::vector<std::size_t> path_;
};

}  // namespace

Result<UnitEvent> parse_unit_event(std::string_view text) {
  auto event = build_event(EventDraft::of(std::string(text)));
  if (!event) return fail(std::move(event).error());
  return event->unit();
}

Result<Event> build_event(const EventDraft& draft) { return Builder(draft).build(draft); }

Result<Event> parse_event(std::string_view text) {
  if (!text.starts_with('(')) return build_event(EventDraft::of(std::string(text)));
  auto draft = read_draft(text);
  if (!draft) return fail(std::move(draft).error());
  return build_event(*draft);
}

}  // namespace muster::comm
