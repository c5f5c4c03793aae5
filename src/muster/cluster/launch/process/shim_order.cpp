#include "muster/cluster/launch/process/shim_order.h"

#include <charconv>
#include <string_view>
#include <system_error>

namespace muster::cluster {
namespace {

template <class Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool read(std::string_view text, std::chrono::milliseconds& time) {
  std::int64_t count = 0;
  const bool good = read(text, count) && count >= 0;
  time = std::chrono::milliseconds(count);
  return good;
}

bool take(ShimOrder& order, std::string_view name, std::string_view value) {
  if (name == "folder") return order.folder = value, !value.empty();
  if (name == "log_bytes") return read(value, order.log_bytes) && order.log_bytes > 0;
  if (name == "log_keep") return read(value, order.log_keep);
  if (name == "grace_ms") return read(value, order.grace);
  if (name == "working_dir") return order.working_dir = value, true;
  if (name == "cgroup") return order.cgroups.emplace_back(value), !value.empty();
  if (name == "watch_fd") return read(value, order.watch_fd);
  if (name == "report_fd") return read(value, order.report_fd);
  return false;
}

}  // namespace

std::vector<std::string> ShimOrder::arguments() const {
  std::vector<std::string> words;
  if (!folder.empty()) words.push_back("folder=" + folder);
  words.push_back("log_bytes=" + std::to_string(log_bytes));
  words.push_back("log_keep=" + std::to_string(log_keep));
  words.push_back("grace_ms=" + std::to_string(grace.count()));
  if (!working_dir.empty()) words.push_back("working_dir=" + working_dir);
  for (const auto& cgroup : cgroups) words.push_back("cgroup=" + cgroup);
  if (watch_fd >= 0) words.push_back("watch_fd=" + std::to_string(watch_fd));
  if (report_fd >= 0) words.push_back("report_fd=" + std::to_string(report_fd));
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

Result<ShimOrder> ShimOrder::parse(std::span<const char* const> arguments) {
  ShimOrder order;
  std::size_t at = 0;
  for (; at < arguments.size() && std::string_view(arguments[at]) != "--"; ++at) {
    const std::string_view word = arguments[at];
    const auto equals = word.find('=');
    if (equals == std::string_view::npos ||
        !take(order, word.substr(0, equals), word.substr(equals + 1))) {
      return fail(std::errc::invalid_argument,
                  "'" + std::string(word) + "' is no part of an order");
    }
  }
  for (++at; at < arguments.size(); ++at) order.command.emplace_back(arguments[at]);
  if (order.command.empty()) {
    return fail(std::errc::invalid_argument, "no program is named after '--'");
  }
  return order;
}

}  // namespace muster::cluster
