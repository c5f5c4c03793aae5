#include "muster/comm/event/draft_reader.h"

#include <utility>

#include <fmt/format.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<EventDraft> whole() {
    auto draft = tuple(1);
    if (!draft) return draft;
    skip_space();
    if (!at_end()) return wrong("nothing may follow the closing ')'");
    return draft;
  }

 private:
  Result<EventDraft> tuple(std::size_t depth) {
    if (depth > kMaxEventDepth)
      return wrong(fmt::format("tuples are nested more than {} deep", kMaxEventDepth));
    ++at_;  // '('
    std::vector<EventDraft> elements;
    for (skip_space(); !take(')'); skip_space()) {
      if (!elements.empty() && !comma_) return wrong("',' or ')' is expected");
      auto next = element(depth);
      if (!next) return next;
      elements.push_back(*std::move(next));
      skip_space();
      comma_ = take(',');
    }
    comma_ = false;
    return EventDraft::tuple(std::move(elements));
  }

  Result<EventDraft> element(std::size_t depth) {
    if (at_end()) return wrong("')' is missing");
    if (text_[at_] == '(') return tuple(depth + 1);
    if (text_[at_] == '\'' || text_[at_] == '"') return quoted(text_[at_]);
    return bare();
  }

  Result<EventDraft> quoted(char quote) {
    const std::size_t begin = at_++;
    std::string out;
    while (!at_end() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out += text_[at_++];
    }
    if (at_end()) {
      at_ = begin;
      return wrong("the quote is not closed");
    }
    ++at_;
    return EventDraft::of(std::move(out));
  }

  Result<EventDraft> bare() {
    const std::size_t begin = at_;
    std::size_t end = begin;
    for (; !at_end() && std::string_view(",()").find(text_[at_]) == std::string_view::npos; ++at_) {
      if (!space()) end = at_ + 1;
    }
    if (begin == end) return wrong("an event or an operator is expected");
    return EventDraft::of(std::string(text_.substr(begin, end - begin)));
  }

  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] bool space() const {
    return text_[at_] == ' ' || (text_[at_] >= '\t' && text_[at_] <= '\r');
  }
  void skip_space() {
    while (!at_end() && space()) ++at_;
  }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(Errc::event_syntax,
                fmt::format("event {}: offset {}: {}", shortened(std::string(text_)), at_, what));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool comma_ = false;  // one stood after the element that was read last
};

}  // namespace

std::string shortened(std::string text) {
  if (text.size() <= kMaxQuotedEvent) return text;
  std::size_t end = kMaxQuotedEvent;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;  // not inside a UTF-8 character
  text.resize(end);
  return text + "…";
}

Result<EventDraft> read_draft(std::string_view text) { return Reader(text).whole(); }

}  // namespace muster::comm
