#pragma once

#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "muster/cli/command.h"
#include "muster/cli/table.h"

namespace muster::cli {

enum class Format { table, json, yaml };

/// What a command has to say, for people or for programs. Copies share the chosen format.
class Output {
 public:
  /// Adds `-o, --output` to a command; the format is known once the command line is parsed.
  Output(CLI::App& parser, Io io);

  [[nodiscard]] Format format() const;
  [[nodiscard]] const Io& io() const { return io_; }

  /// The same facts twice: `table` or `text` for people, `document` for programs.
  void print(const nlohmann::ordered_json& document, const Table& table) const;
  void print(const nlohmann::ordered_json& document, const std::string& text) const;

 private:
  Io io_;
  std::shared_ptr<std::string> format_;
};

/// The document as YAML that reads back as the same document.
std::string yaml_text(const nlohmann::ordered_json& document);

}  // namespace muster::cli
