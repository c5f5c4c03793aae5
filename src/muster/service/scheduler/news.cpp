#include "muster/service/scheduler/news.h"

#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster::service {
namespace {

constexpr std::array<std::string_view, 8> kNames{"started", "finished", "failed",  "memory",
                                                 "joined",  "silent",   "leaving", "lost"};

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void write(std::string& out, const News::Item& item) {
  using Kind = News::Kind;
  const auto name = kNames.at(static_cast<std::size_t>(item.kind));
  auto to = std::back_inserter(out);
  switch (item.kind) {
    case Kind::started:
    case Kind::finished:
    case Kind::failed:
      fmt::format_to(to,
                     R"({{"event":"task","state":"{}","worker":{},"session":{},"task":{},)"
                     R"("attempt":{},"thread":{},"bytes":{},"started":{},"ended":{})",
                     name, item.worker.value(), item.task.session.value(), item.task.index,
                     item.attempt, item.thread, item.bytes, item.started, item.ended);
      break;
    case Kind::memory:
      fmt::format_to(to, R"({{"event":"memory","worker":{},"spilled":{})", item.worker.value(),
                     item.bytes);
      break;
    default:
      fmt::format_to(to, R"({{"event":"worker","state":"{}","worker":{},"at":{})", name,
                     item.worker.value(), item.started);
      break;
  }
  if (!item.text.empty())
    fmt::format_to(to, R"(,"{}":{})", item.kind == Kind::failed ? "error" : "name",
                   quoted(item.text));
  out += "}\n";
}

}  // namespace

void News::listen(bool wanted) {
  const std::scoped_lock lock(mutex_);
  wanted_ = wanted;
  if (!wanted) {
    items_.clear();
    dropped_ = 0;
  }
}

bool News::wanted() const {
  const std::scoped_lock lock(mutex_);
  return wanted_;
}

void News::add(Item item) {
  const std::scoped_lock lock(mutex_);
  if (!wanted_) return;
  items_.push_back(std::move(item));
  if (items_.size() <= most_) return;
  items_.pop_front();
  ++dropped_;
}

std::optional<std::string> News::take() {
  std::deque<Item> items;
  std::uint64_t dropped = 0;
  {
    const std::scoped_lock lock(mutex_);
    items.swap(items_);
    dropped = std::exchange(dropped_, 0);
  }
  if (items.empty() && dropped == 0) return std::nullopt;
  std::string lines;
  if (dropped > 0) lines = fmt::format("{{\"event\":\"dropped\",\"count\":{}}}\n", dropped);
  for (const Item& item : items) write(lines, item);
  return lines;
}

}  // namespace muster::service
