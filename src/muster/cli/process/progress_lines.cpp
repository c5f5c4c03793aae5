#include "muster/cli/process/progress_lines.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "muster/cli/process/job_text.h"

namespace muster::cli {
namespace {

using cluster::InstancePhase;
using cluster::JobState;

// The instances of one component, or of several, by phase.
struct Tally {
  std::map<InstancePhase, std::size_t> counts{};
  std::size_t restarts = 0;

  void add(const Tally& other) {
    for (const auto& [phase, count] : other.counts) counts[phase] += count;
    restarts += other.restarts;
  }
  [[nodiscard]] bool only(InstancePhase phase) const {
    return counts.size() == 1 && counts.contains(phase);
  }
  // "3 running, 1 restarting (2 restarts)"
  [[nodiscard]] std::string text() const {
    std::string text;
    for (const auto& [phase, count] : counts)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name_of(phase));
    if (restarts > 0) text += fmt::format(" ({} restart{})", restarts, restarts == 1 ? "" : "s");
    return text;
  }
};

struct Row {
  std::string_view component;
  Tally tally{};
};

std::vector<Row> rows_of(const JobState& job) {
  std::vector<Row> rows;
  std::map<std::string_view, std::size_t> place;
  for (const auto& component : job.spec.components) {
    place.emplace(component.name, rows.size());
    rows.push_back({component.name});
  }
  for (const auto& instance : job.instances) {
    const auto found = place.find(instance.component);
    if (found == place.end()) continue;
    Tally& tally = rows[found->second].tally;
    ++tally.counts[instance.phase];
    tally.restarts += instance.restarts;
  }
  return rows;
}

std::string head_line(const JobState& job, bool colour) {
  const Cell phase = phase_cell(job);
  std::string head =
      fmt::format("{}: {}", job.name(), colour ? coloured(phase.text, phase.style) : phase.text);
  if (job.phase == cluster::JobPhase::pending) head += fmt::format(" ({})", remark(job));
  return head;
}

// What is left out first has the least of it.
int interest(const Row& row) {
  if (row.tally.only(InstancePhase::succeeded)) return 0;
  return row.tally.only(InstancePhase::waiting) ? 1 : 2;
}

// Takes all but `room` rows away, and gives the line that stands for them.
std::string leave_out(std::vector<Row>& rows, std::size_t room) {
  std::vector<int> interests;
  for (const auto& row : rows) interests.push_back(interest(row));
  std::vector<bool> out(rows.size());
  std::size_t left = rows.size() - room;
  for (int level = 0; level <= 2; ++level) {
    for (std::size_t i = rows.size(); i-- > 0 && left > 0;) {
      if (interests[i] != level) continue;
      out[i] = true;
      --left;
    }
  }
  Tally rest;
  std::vector<Row> kept;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (out[i])
      rest.add(rows[i].tally);
    else
      kept.push_back(std::move(rows[i]));
  }
  const std::size_t count = rows.size() - kept.size();
  rows = std::move(kept);
  return fmt::format("  … and {} more component{}: {}", count, count == 1 ? "" : "s", rest.text());
}

}  // namespace

std::vector<std::string> progress_lines(const JobState& job, bool colour, std::size_t most) {
  std::vector<std::string> lines{head_line(job, colour)};
  std::vector<Row> rows = rows_of(job);
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.component.size());
  std::string rest;
  if (most > 0 && 1 + rows.size() > most) rest = leave_out(rows, most > 2 ? most - 2 : 0);
  for (const auto& row : rows)
    lines.push_back(fmt::format("  {:<{}}  {}", row.component, width, row.tally.text()));
  if (!rest.empty() && most != 1) lines.push_back(std::move(rest));
  return lines;
}

}  // namespace muster::cli
