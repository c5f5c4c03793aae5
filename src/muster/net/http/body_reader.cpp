#include "muster/net/http/body_reader.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "muster/net/errc.h"

namespace muster::net {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kLongestTrailer = 16u << 10;
constexpr std::uint64_t kLongestChunk = std::uint64_t{1} << 60;

tl::unexpected<Error> ended_early() {
  return fail(Errc::unreachable, "the connection ended inside the body");
}

}  // namespace

BodyReader::BodyReader(StreamReader& reader, const BodyPlan& plan) : reader_(reader), plan_(plan) {
  switch (plan.framing) {
    case BodyPlan::Framing::none: break;
    case BodyPlan::Framing::until_end: state_ = State::until_end; break;
    case BodyPlan::Framing::chunked: state_ = State::chunk_size; break;
    case BodyPlan::Framing::length:
      left_ = plan.length;
      if (left_ > 0) state_ = State::data;
      break;
  }
}

std::optional<std::uint64_t> BodyReader::length() const {
  switch (plan_.framing) {
    case BodyPlan::Framing::none: return 0;
    case BodyPlan::Framing::length: return plan_.length;
    default: return {};
  }
}

Result<std::size_t> BodyReader::read(std::span<std::byte> into, const Patience& patience) {
  if (into.empty()) return 0;
  while (state_ != State::data && state_ != State::until_end && state_ != State::end) {
    if (auto read = read_between(patience); !read) {
      state_ = State::end;
      return fail(read.error());
    }
  }
  if (state_ == State::end) return 0;
  auto got = read_data(into, patience);
  if (!got) state_ = State::end;
  return got;
}

Result<std::size_t> BodyReader::read_data(std::span<std::byte> into, const Patience& patience) {
  const bool counted = state_ == State::data;
  if (counted)
    into = into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left_)));
  const auto got = reader_.read_some(into, patience.next());
  if (!got) return got;
  if (*got == 0) {
    if (counted) return ended_early();
    state_ = State::end;
    return 0;
  }
  if (counted) {
    left_ -= *got;
    if (left_ == 0)
      state_ = plan_.framing == BodyPlan::Framing::chunked ? State::chunk_end : State::end;
  }
  return got;
}

Result<void> BodyReader::read_between(const Patience& patience) {
  const auto text = line(patience);
  if (!text) return fail(text.error());
  const std::size_t size = text->size();
  Result<void> taken;
  switch (state_) {
    case State::chunk_size: taken = begin_chunk(*text); break;
    case State::chunk_end:
      if (size != 0) return fail(Errc::protocol, "a chunk of the body is longer than it says");
      state_ = State::chunk_size;
      break;
    default:  // trailer
      trailer_ += size + 2;
      if (trailer_ > kLongestTrailer)
        return fail(Errc::protocol, "too many headers behind the body");
      if (size == 0) state_ = State::end;
  }
  reader_.consume(size + 2);
  return taken;
}

Result<void> BodyReader::begin_chunk(std::string_view line) {
  const std::string_view digits = line.substr(0, line.find_first_of("; \t"));
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), left_, 16);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() ||
      left_ > kLongestChunk) {
    return fail(Errc::protocol, fmt::format("'{:.20}' is no size of a chunk", digits));
  }
  state_ = left_ == 0 ? State::trailer : State::data;
  return {};
}

Result<std::string_view> BodyReader::line(const Patience& patience) {
  for (std::size_t looked = 0;;) {
    const std::string_view text = reader_.buffered();
    const auto end = text.find('\n', looked);
    if (end != std::string_view::npos) {
      if (end == 0 || text[end - 1] != '\r' || text.find('\r') != end - 1)
        return fail(Errc::protocol, "a line between the chunks of the body ends wrongly");
      return text.substr(0, end - 1);
    }
    looked = text.size();
    if (looked > kLongestLine)
      return fail(Errc::protocol, "a line between the chunks of the body is too long");
    const auto more = reader_.fill(patience.next());
    if (!more) return fail(more.error());
    if (!*more) return ended_early();
  }
}

}  // namespace muster::net
