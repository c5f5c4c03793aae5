#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "muster/cli/command.h"
#include "muster/comm/collective/choice.h"

namespace muster::cli {

/// Which algorithm runs when, for people.
std::string collectives_text(const comm::collective::ChoiceTable& table, bool colour);
/// The same as a table for documentation.
std::string collectives_markdown(const comm::collective::ChoiceTable& table);
/// The same for programs, with all algorithms and ways there are.
nlohmann::ordered_json collectives_document(const comm::collective::ChoiceTable& table);

Action set_up_collectives(CLI::App& parser, Io io);

}  // namespace muster::cli
