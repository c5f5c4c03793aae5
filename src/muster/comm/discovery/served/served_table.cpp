#include "muster/comm/discovery/served/served_table.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace muster::comm::served {
namespace {

// A request: protocol, id, verb, group, arguments.
constexpr std::size_t kId = 1;
constexpr std::size_t kVerb = 2;
constexpr std::size_t kGroup = 3;
constexpr std::size_t kFirst = 4;

constexpr std::size_t kLongestName = 4096;
constexpr std::uint64_t kLongestLease = 366ull * 24 * 3600 * 1'000'000;  // microseconds
// Waits of a connection that broke end by themselves.
constexpr Duration kLongestWait = std::chrono::seconds(60);
// Ranks are microseconds since 1970 at first; far above, the next one would overflow some day.
constexpr std::uint64_t kHighestRank = 1ull << 62;

bool is_request(const Parts& parts) {
  return parts.size() > kGroup && parts[0] == kProtocol && parts[kId].size() <= kLongestName &&
         parts[kGroup].size() <= kLongestName;
}

Parts only(std::string_view text) { return {std::string(text)}; }

}  // namespace

std::optional<Letter> ServedTable::take(const Letter& request) {
  auto said = is_request(request.parts) ? answer(request.peer, request.parts) : std::nullopt;
  if (!said) {
    ++malformed_;
    return std::nullopt;
  }
  if (said->empty()) return std::nullopt;  // later
  said->insert(said->begin(), request.parts[kId]);
  return Letter{request.peer, *std::move(said)};
}

std::optional<Parts> ServedTable::answer(const std::string& peer, const Parts& request) {
  const std::string& asked = request[kVerb];
  const std::size_t arguments = request.size() - kFirst;
  if (asked == verb::ping && arguments == 0) return only(answer::ok);
  if (asked == verb::put && arguments == 3) return put(request);
  if (asked == verb::remove && arguments == 2) return remove(request);
  if (asked == verb::list && arguments == 0) return list(request[kGroup]);
  if (asked == verb::wait && arguments == 3) return wait(peer, request);
  return std::nullopt;
}

std::optional<Parts> ServedTable::put(const Parts& request) {
  const auto entry = Entry::from_json(request[kFirst]);
  const auto lease = number(request[kFirst + 1]);
  const auto rank = number(request[kFirst + 2]);
  if (!entry || !lease || *lease > kLongestLease || !rank || *rank > kHighestRank)
    return std::nullopt;
  const std::string& group = request[kGroup];
  if (std::string why = no_room(group, *entry, request[kFirst].size()); !why.empty()) {
    ++refused_;
    return Parts{std::string(answer::full), std::move(why)};
  }
  const auto given = board_->put(group, *entry, std::chrono::microseconds(*lease), *rank);
  if (given) return Parts{std::string(answer::ok), std::to_string(*given)};
  Parts refusal = only(answer::taken);
  for (const Entry& holder : board_->list(group).entries) {
    if (holder.name == entry->name) refusal.push_back(holder.to_json());
  }
  return refusal;
}

std::string ServedTable::no_room(const std::string& group, const Entry& entry, std::size_t bytes) {
  if (bytes > limits_.entry_bytes)
    return fmt::format("the entry of '{}' has {} bytes, but {} are the most", entry.name.view(),
                       bytes, limits_.entry_bytes);
  const MemoryBoard::Size size = board_->size_with(group, entry.name);
  if (size.groups > limits_.groups) return fmt::format("{} groups are the most", limits_.groups);
  if (size.entries > limits_.entries)
    return fmt::format("{} members are the most", limits_.entries);
  return {};
}

std::optional<Parts> ServedTable::remove(const Parts& request) {
  const std::string& name = request[kFirst];
  const auto instance = number(request[kFirst + 1], 16);
  if (name.empty() || name.size() > kLongestName || !instance) return std::nullopt;
  board_->remove(request[kGroup], Name(name), InstanceId(*instance));
  return only(answer::ok);
}

Parts ServedTable::list(const std::string& group) {
  const auto listing = board_->list(group);
  Parts parts{std::string(answer::ok), begun_, std::to_string(listing.version)};
  for (const Entry& entry : listing.entries) parts.push_back(entry.to_json());
  return parts;
}

std::optional<Parts> ServedTable::wait(const std::string& peer, const Parts& request) {
  const auto seen = number(request[kFirst + 1]);
  const auto longest = number(request[kFirst + 2]);
  if (!seen || !longest) return std::nullopt;
  if (request[kFirst] != begun_) return only(answer::changed);
  if (waits_.size() >= limits_.waits && !waits_.contains(peer)) return only(answer::same);
  const auto most = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(kLongestWait).count());
  const auto until = clock_.now() + std::chrono::microseconds(std::min(*longest, most));
  waits_.insert_or_assign(peer, Wait{request[kId], request[kGroup], *seen, until});
  return Parts{};
}

std::vector<Letter> ServedTable::look() {
  std::vector<Letter> answers;
  const TimePoint now = clock_.now();
  std::erase_if(waits_, [&](const auto& item) {
    const auto& [peer, wait] = item;
    const bool changed = board_->glance(wait.group).version != wait.seen;
    if (!changed && now < wait.until) return false;
    answers.push_back({peer, {wait.id, std::string(changed ? answer::changed : answer::same)}});
    return true;
  });
  return answers;
}

TimePoint ServedTable::next_look() {
  TimePoint next = TimePoint::max();
  for (const auto& [peer, wait] : waits_)
    next = std::min({next, wait.until, board_->glance(wait.group).next_end});
  return next;
}

}  // namespace muster::comm::served
