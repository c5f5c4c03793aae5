#include "muster/comm/collective/schedule.h"

#include <fmt/format.h>

namespace muster::comm::collective {
namespace {

std::string text(const Region& region) {
  constexpr const char* kSpaces[] = {"input", "output", "scratch"};
  return fmt::format("{}[{}+{}]", kSpaces[static_cast<int>(region.space)], region.offset,
                     region.bytes);
}

std::string text(const Rows& rows) {
  if (rows.count == 1) return "";
  return fmt::format(", {} rows that lie {} and {} bytes apart", rows.count, rows.into_stride,
                     rows.left_stride);
}

std::string text(const Local& local) {
  switch (local.kind) {
    case Local::Kind::copy:
      return fmt::format("{} = {}{}", text(local.into), text(local.left), text(local.rows));
    case Local::Kind::reduce:
      return fmt::format("{} = {} ∘ {}", text(local.into), text(local.left), text(local.right));
    case Local::Kind::divide: return fmt::format("{} /= {}", text(local.into), local.divisor);
  }
  return {};
}

}  // namespace

std::string describe(const Schedule& schedule) {
  std::string result = fmt::format("scratch {} bytes\n", schedule.scratch_bytes);
  for (std::size_t i = 0; i < schedule.rounds.size(); ++i) {
    const Round& round = schedule.rounds[i];
    const auto line = [&](const std::string& what) { result += fmt::format("{}: {}\n", i, what); };
    for (const Send& send : round.sends)
      line(fmt::format("{} → rank {}", text(send.data), send.to));
    for (const Receive& receive : round.receives)
      line(fmt::format("{} ← rank {}", text(receive.into), receive.from));
    for (const Local& local : round.meanwhile) line("meanwhile " + text(local));
    for (const Local& local : round.then) line("then " + text(local));
  }
  return result;
}

}  // namespace muster::comm::collective
