#include "tests/integration/collective/forms.h"

#include <algorithm>
#include <array>
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

bool has_variable_form(Operation operation) {
  return std::ranges::any_of(collective::algorithm_rows(), [&](const auto& row) {
    return row.operation == operation && row.variable;
  });
}

Form with(Trait trait, Form form) {
  constexpr std::array kNames = {"", " in place", " variable", " ordered"};
  form.name += kNames[static_cast<std::size_t>(trait)];
  form.trait = trait;
  return form;
}

std::vector<Form> in_memory(Operation operation) {
  if (operation == Operation::barrier) return {{"brief", 0}};
  const bool combines = collective::is_reducing(operation);
  const Form staged{"staged", kStaged, 0, false, "MUSTER_LEND=0"};
  const Form lent{"lent", combines ? kLarge : kLent, combines ? until_lent(operation) : 0};
  const Form always_lent{"lent", kLent, 0, false,
                         fmt::format("MUSTER_COLLECTIVES={}/host:{}-:lend",
                                     collective::name(operation), collective::shared::kLendFrom)};
  std::vector<Form> forms{{"brief", kBrief},
                          staged,
                          lent,
                          {"arena", kStaged, 0, true},
                          {"long", kLong, 0, false, "MUSTER_LEND=0"},
                          with(Trait::in_place, staged),
                          with(Trait::in_place, always_lent)};
  if (has_variable_form(operation)) forms.push_back(with(Trait::variable, always_lent));
  if (combines) forms.push_back(with(Trait::ordered, staged));
  return forms;
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

// The form, and what else its algorithm takes.
void add_by_messages(std::vector<Form>& forms, const collective::AlgorithmRow& row, Form form) {
  forms.push_back(form);
  if (row.operation == Operation::barrier) return;
  form.environment = choosing(row);  // blocks that differ are fewer bytes
  forms.push_back(with(Trait::in_place, form));
  if (row.variable) forms.push_back(with(Trait::variable, form));
  if (row.ordered && collective::is_reducing(row.operation))
    forms.push_back(with(Trait::ordered, form));
}

std::vector<Form> by_messages(Operation operation, int size) {
  if (operation == Operation::barrier) return {{"dissemination", 0}};
  std::vector<Form> forms;
  const auto is_there = [&](std::string_view name) {
    return std::ranges::find(forms, name, &Form::name) != forms.end();
  };
  const auto table = collective::ChoiceTable::builtin();
  for (const auto& row : table.rows())
    if (row.operation == operation && row.layout == collective::Layout::flat)
      add_by_messages(forms, *collective::find_algorithm(operation, row.name()),
                      {std::string(row.name()), block_for(operation, row.from, size)});
  // Those that run only when they are asked for.
  for (const auto& row : collective::algorithm_rows())
    if (row.operation == operation && !row.needs_hosts && !is_there(row.name))
      add_by_messages(
          forms, row,
          {std::string(row.name), block_for(operation, 20'000, size), 0, false, choosing(row)});
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
    add_by_messages(forms, row, form);
    if (operation == Operation::barrier) continue;
    form.name = "large " + form.name;
    form.count = block_for(operation, collective::kLargeBetweenHosts, size);
    add_by_messages(forms, row, form);
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
