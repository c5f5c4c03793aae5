#include "tests/integration/collective/forms.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "muster/comm/collective/algorithm/teams.h"
#include "muster/comm/collective/choice.h"
#include "muster/comm/collective/shared/contest.h"
#include "tests/integration/collective/seeming_hosts.h"

namespace muster::comm {
namespace {

using collective::Operation;

constexpr std::size_t kItem = 4;
constexpr std::size_t kBrief = 10;
constexpr std::size_t kStaged = (std::size_t{100} << 10) / kItem;  // in four steps
// Lent at once where nothing is combined.
constexpr std::size_t kLent = (std::size_t{256} << 10) / kItem;
// Combined, and lent after few calls.
constexpr std::size_t kLarge = (std::size_t{1} << 20) / kItem;
// Through staging in more steps than there are slots.
constexpr std::size_t kLong = (std::size_t{2} << 20) / kItem + 100'000;

// How many calls it takes until staging was tried often enough.
int until_lent(Operation operation) {
  using namespace collective::shared;
  const std::size_t kind = kind_of(operation, kLarge * kItem);
  if (usual_way(kind, true) == Way::lend) return 0;
  // The judge's wish arrives a call later, and the ranks that give may be ahead of it.
  return static_cast<int>(Contest::of(kind, true).trial()) + 4;
}

std::vector<Form> in_memory(Operation operation) {
  if (operation == Operation::barrier) return {{"brief", 0}};
  const bool combines = collective::is_reducing(operation);
  return {{"brief", kBrief},
          {"staged", kStaged, 0, false, "MUSTER_LEND=0"},
          {"lent", combines ? kLarge : kLent, combines ? until_lent(operation) : 0},
          {"arena", kStaged, 0, true},
          {"long", kLong, 0, false, "MUSTER_LEND=0"}};
}

// The items of a block when `total_bytes` is this or a little more.
std::size_t block_for(Operation operation, std::size_t bytes, int size) {
  const bool whole = operation == Operation::broadcast || operation == Operation::reduce ||
                     operation == Operation::allreduce;
  return bytes / kItem / static_cast<std::size_t>(whole ? 1 : size) + 7;
}

std::string choosing(const collective::AlgorithmRow& row) {
  return fmt::format("MUSTER_COLLECTIVES={}:*:{}", collective::name(row.operation), row.name);
}

std::vector<Form> by_messages(Operation operation, int size) {
  if (operation == Operation::barrier) return {{"dissemination", 0}};
  std::vector<Form> forms;
  const auto table = collective::ChoiceTable::builtin();
  for (const auto& row : table.rows())
    if (row.operation == operation && row.layout == collective::Layout::flat)
      forms.push_back({std::string(row.name()), block_for(operation, row.from, size)});
  // Those that run only when they are asked for.
  for (const auto& row : collective::algorithm_rows()) {
    const bool there = std::any_of(forms.begin(), forms.end(),
                                   [&](const Form& form) { return form.name == row.name; });
    if (row.operation != operation || row.needs_hosts || there) continue;
    forms.push_back(
        {std::string(row.name), block_for(operation, 20'000, size), 0, false, choosing(row)});
  }
  return forms;
}

}  // namespace

std::vector<Form> forms_of(Operation operation, Plane plane, int size) {
  return plane == Plane::shared ? in_memory(operation) : by_messages(operation, size);
}

std::vector<Form> forms_on_hosts(Operation operation, int size) {
  std::vector<Form> forms;
  for (const auto& row : collective::algorithm_rows()) {
    if (row.operation != operation || !row.needs_hosts) continue;
    Form form{.name = std::string(row.name), .environment = choosing(row), .hosts = size / 2};
    if (operation != Operation::barrier) form.count = kBrief;
    forms.push_back(form);
    if (operation == Operation::barrier) continue;
    form.name = "large " + form.name;
    form.count = block_for(operation, collective::kLargeBetweenHosts, size);
    forms.push_back(form);
  }
  return forms;
}

void take_effect(const Form& form, GroupOptions& options) {
  const std::size_t equals = form.environment.find('=');
  if (equals != std::string::npos)
    ::setenv(form.environment.substr(0, equals).c_str(),
             form.environment.substr(equals + 1).c_str(), 1);
  if (form.hosts > 1) go_to_host(*options.rank % form.hosts, options);
}

}  // namespace muster::comm
