#include "muster/cli/collectives.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cli/output.h"

namespace muster::cli {
namespace {

using namespace comm::collective;

using shared::kNoEnd;

std::string bytes_text(std::size_t bytes) {
  if (bytes == kNoEnd) return "";
  constexpr std::string_view kUnits[] = {"", "k", "M", "G"};
  std::size_t unit = 0;
  for (; unit < 3 && bytes != 0 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

std::string range_text(const ChoiceTable& table, std::size_t row) {
  return bytes_text(table.rows()[row].from) + "-" + bytes_text(table.end_of(row));
}

/// Calls `line(operation, layout, range, row)` for every line of the table.
template <class Line>
void for_each_line(const ChoiceTable& table, Line&& line) {
  for (std::size_t i = 0; i < table.rows().size(); ++i) {
    const ChoiceRow& row = table.rows()[i];
    line(name(row.operation), name(row.layout), range_text(table, i), row);
  }
}

nlohmann::ordered_json ways_document() {
  nlohmann::ordered_json ways = nlohmann::ordered_json::array();
  for (const Operation operation : kOperations)
    for (const shared::WayRow& row : shared::way_rows(operation)) {
      nlohmann::ordered_json way = {{"operation", name(operation)},
                                    {"name", row.name},
                                    {"summary", row.summary},
                                    {"from", row.from},
                                    {"to", nullptr}};
      if (row.to != kNoEnd) way["to"] = row.to;
      ways.push_back(way);
    }
  return ways;
}

}  // namespace

std::string collectives_text(const ChoiceTable& table, bool colour) {
  Table lines({"OPERATION", "RANKS", "BYTES", "ALGORITHM", "STEPS"});
  for_each_line(table, [&](auto operation, auto layout, const auto& range, const ChoiceRow& row) {
    lines.add({std::string(operation), std::string(layout), range, std::string(row.name()),
               std::string(row.summary())});
  });
  return lines.text(colour) +
         "\nflat: one rank on each host, or all on one in calls that go by messages "
         "(plane \"network\", and tags "
         "beyond\n"
         "the 15 that have a channel in shared memory); mixed: several hosts, at least one with "
         "several ranks; host:\n"
         "all ranks on one, in shared memory. There bytes are those of a block: what a rank gives "
         "another; else those\n"
         "of the larger buffer of a rank. Change it with "
         "MUSTER_COLLECTIVES=operation:bytes:algorithm,…, with "
         "operation/host\n"
         "for one host, or MUSTER_COLLECTIVES=@FILE, which holds such entries.\n";
}

std::string collectives_markdown(const ChoiceTable& table) {
  std::string text =
      "| operation | ranks | bytes | algorithm | steps, for n ranks and m bytes |\n"
      "| --- | --- | --- | --- | --- |\n";
  for_each_line(table, [&](auto operation, auto layout, const auto& range, const ChoiceRow& row) {
    text += fmt::format("| `{}` | {} | {} | `{}` | {} |\n", operation, layout, range, row.name(),
                        row.summary());
  });
  return text;
}

nlohmann::ordered_json collectives_document(const ChoiceTable& table) {
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < table.rows().size(); ++i) {
    const ChoiceRow& row = table.rows()[i];
    nlohmann::ordered_json line = {{"operation", name(row.operation)},
                                   {"layout", name(row.layout)},
                                   {"from", row.from},
                                   {"to", nullptr},
                                   {"algorithm", row.name()}};
    if (table.end_of(i) != kNoEnd) line["to"] = table.end_of(i);
    lines.push_back(line);
  }
  nlohmann::ordered_json algorithms = nlohmann::ordered_json::array();
  for (const AlgorithmRow& row : algorithm_rows())
    algorithms.push_back({{"operation", name(row.operation)},
                          {"name", row.name},
                          {"summary", row.summary},
                          {"keeps_order", row.ordered},
                          {"different_counts", row.variable}});
  return {{"table", lines}, {"algorithms", algorithms}, {"ways", ways_document()}};
}

Action set_up_collectives(CLI::App& parser, Io io) {
  return [output = Output(parser, io)] {
    const Result<ChoiceTable> table = ChoiceTable::from_environment();
    if (!table) return report(output.io(), table.error());
    output.print(collectives_document(*table), collectives_text(*table, output.io().colour));
    return kDone;
  };
}

}  // namespace muster::cli
