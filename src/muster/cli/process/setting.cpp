#include <memory>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cli/output.h"
#include "muster/cli/process/commands.h"
#include "muster/cli/process/mode.h"

namespace muster::cli {

Action set_up_setting_show(CLI::App& parser, Io io) {
  return [output = Output(parser, io), io] {
    return with_process_mode(io, [&](cluster::ProcessMode& mode) {
      nlohmann::ordered_json document;
      Table table{"SETTING", "VALUE"};
      for (const auto& [key, value] : mode.settings().shown()) {
        document[key] = value;
        table.add({key, value});
      }
      output.print(document, table);
      return kDone;
    });
  };
}

Action set_up_setting_set(CLI::App& parser, Io io) {
  auto key = std::make_shared<std::string>();
  auto value = std::make_shared<std::string>();
  parser.add_option("KEY", *key, "Such as parallel_level")->required()->type_name("");
  parser.add_option("VALUE", *value, "Such as 4")->required()->type_name("");
  return [key, value, io] {
    return with_process_mode(io, [&](cluster::ProcessMode& mode) {
      const auto changed = mode.change_setting(*key, *value);
      return changed ? kDone : report(io, changed.error());
    });
  };
}

}  // namespace muster::cli
