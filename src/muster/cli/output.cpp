#include "muster/cli/output.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

namespace muster::cli {
namespace {

using nlohmann::ordered_json;

void emit(YAML::Emitter& emitter, const ordered_json& value);

// Words that some readers of YAML take for a truth value or nothing ("no" is a country, too).
constexpr std::array<std::string_view, 9> kNoTexts{"true", "false", "yes", "no", "on",
                                                   "off",  "null",  "y",   "n"};

// Whether it is a text to every reader without quotes.
bool plain(std::string_view key) {
  const auto plain_letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return !key.empty() && std::ranges::all_of(key, plain_letter) &&
         std::ranges::find(kNoTexts, key) == kNoTexts.end();
}

void emit_object(YAML::Emitter& emitter, const ordered_json& value) {
  emitter << YAML::BeginMap;
  for (const auto& [key, inner] : value.items()) {
    emitter << YAML::Key;
    if (!plain(key)) emitter << YAML::DoubleQuoted;
    emitter << key << YAML::Value;
    emit(emitter, inner);
  }
  emitter << YAML::EndMap;
}

void emit_array(YAML::Emitter& emitter, const ordered_json& value) {
  emitter << YAML::BeginSeq;
  for (const auto& inner : value) emit(emitter, inner);
  emitter << YAML::EndSeq;
}

void emit(YAML::Emitter& emitter, const ordered_json& value) {
  if (value.is_object()) return emit_object(emitter, value);
  if (value.is_array()) return emit_array(emitter, value);
  if (value.is_string()) {
    emitter << YAML::DoubleQuoted << value.get<std::string>();
  } else if (value.is_null()) {
    emitter << YAML::Null;
  } else if (value.is_boolean()) {
    emitter << value.get<bool>();
  } else {
    emitter << value.dump();  // a number looks the same in YAML
  }
}

}  // namespace

std::string yaml_text(const ordered_json& document) {
  YAML::Emitter emitter;
  emit(emitter, document);
  return std::string(emitter.c_str(), emitter.size()) + '\n';
}

Output::Output(CLI::App& parser, Io io) : io_(io), format_(std::make_shared<std::string>("table")) {
  parser.add_option("-o,--output", *format_, "How to write the result")
      ->check(CLI::IsMember({"table", "json", "yaml"}).description(""))
      ->type_name("table|json|yaml")
      ->capture_default_str();
}

Format Output::format() const {
  if (*format_ == "json") return Format::json;
  return *format_ == "yaml" ? Format::yaml : Format::table;
}

void Output::print(const ordered_json& document, const Table& table) const {
  print(document, format() == Format::table ? table.text(io_.colour) : std::string());
}

void Output::print(const ordered_json& document, const std::string& text) const {
  switch (format()) {
    case Format::table: io_.out << text; break;
    case Format::json: io_.out << document.dump(2) << '\n'; break;
    case Format::yaml: io_.out << yaml_text(document); break;
  }
}

}  // namespace muster::cli
