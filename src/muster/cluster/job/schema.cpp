#include "muster/cluster/job/schema.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/cluster/job/fields.h"

namespace muster::cluster {
namespace {

using nlohmann::ordered_json;
using Kind = Shape::Kind;

constexpr const char* kName = "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$";
constexpr const char* kComponentName = "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$";
constexpr const char* kVariable = "^[A-Za-z_][A-Za-z0-9_]*$";
constexpr const char* kLabel = "^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$";
constexpr const char* kSize = "^\\s*[0-9]+(\\.[0-9]*)?\\s*([bB]|[kKmMgGtTpP]([iI]?[bB]?))?\\s*$";
constexpr const char* kTime = "^\\s*([0-9]+(\\.[0-9]*)?|([0-9]+(\\.[0-9]*)?(ms|s|m|h|d))+)\\s*$";
constexpr const char* kCpu = "^\\s*[0-9]+(\\.[0-9]*)?m?\\s*$";

ordered_json scalar() { return {{"type", {"string", "number", "boolean"}}}; }

ordered_json number_or(const char* pattern) {
  return {{"type", {"number", "string"}}, {"minimum", 0}, {"pattern", pattern}};
}

ordered_json text_map(const char* keys) {
  return {{"type", "object"},
          {"propertyNames", {{"pattern", keys}}},
          {"additionalProperties", {{"type", {"string", "number", "boolean", "null"}}}}};
}

ordered_json list_of(ordered_json items, int least) {
  return {{"type", "array"}, {"items", std::move(items)}, {"minItems", least}};
}

ordered_json reference(std::string_view section) {
  return {{"$ref", fmt::format("#/$defs/{}", section)}};
}

ordered_json choices(const Shape& shape) {
  return {{"enum", std::vector<std::string>(shape.choices.begin(), shape.choices.end())}};
}

ordered_json any_of(std::vector<ordered_json> forms) { return {{"anyOf", std::move(forms)}}; }

ordered_json schema_of(const Shape& shape) {
  switch (shape.kind) {
    case Kind::name: return {{"type", "string"}, {"pattern", kName}};
    case Kind::text: return {{"type", "string"}, {"minLength", 1}};
    case Kind::path: return {{"type", "string"}, {"pattern", "^/"}};
    case Kind::whole: return {{"type", "integer"}, {"minimum", shape.min}, {"maximum", shape.max}};
    case Kind::cpu: return number_or(kCpu);
    case Kind::size: return number_or(kSize);
    case Kind::time: return number_or(kTime);
    case Kind::flag: return {{"type", "boolean"}};
    case Kind::choice: return choices(shape);
    case Kind::variables: return text_map(kVariable);
    case Kind::labels: return text_map(kLabel);
    case Kind::command:
      return any_of({{{"type", "string"}, {"minLength", 1}}, list_of(scalar(), 1)});
    case Kind::names: return list_of({{"type", "string"}, {"pattern", kName}}, 1);
    case Kind::dependencies:
      return any_of({list_of({{"type", "string"}}, 0),
                     {{"type", "object"}, {"additionalProperties", choices(shape)}}});
    case Kind::section: return reference(shape.section);
    case Kind::section_list:
      return any_of({reference(shape.section), list_of(reference(shape.section), 0)});
    case Kind::sections:
      return {{"type", "object"},
              {"propertyNames", {{"pattern", kComponentName}}},
              {"additionalProperties", reference(shape.section)},
              {"minProperties", 1}};
  }
  return {};
}

std::string description(const FieldInfo& field) {
  if (field.fallback.empty()) return fmt::format("{}.", field.summary);
  return fmt::format("{}. Without it: {}.", field.summary, field.fallback);
}

ordered_json schema_of(const SectionInfo& section) {
  ordered_json result = {{"type", "object"}, {"description", section.summary}};
  for (const FieldInfo& field : section.fields) {
    ordered_json property = {{"description", description(field)}};
    property.update(schema_of(field.shape));
    result["properties"][std::string(field.key)] = std::move(property);
    if (field.required) result["required"].push_back(field.key);
  }
  result["additionalProperties"] = false;
  return result;
}

std::string table_of(const SectionInfo& section) {
  std::string text = "| key | value | what | without it |\n| --- | --- | --- | --- |\n";
  for (const FieldInfo& field : section.fields) {
    const Shape& shape = field.shape;
    std::string value = shape.allowed();
    if (!shape.section.empty()) value += fmt::format(", see [{0}](#{0})", shape.section);
    const std::string without = field.required           ? "required"
                                : field.fallback.empty() ? "–"
                                                         : std::string(field.fallback);
    text += fmt::format("| `{}` | {} | {} | {} |\n", field.key, value, field.summary, without);
  }
  return text;
}

}  // namespace

std::string job_schema() {
  const std::vector<SectionInfo> all = sections();
  ordered_json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                         {"title", "A job of Muster"}};
  schema.update(schema_of(all.front()));
  for (std::size_t i = 1; i < all.size(); ++i) {
    schema["$defs"][std::string(all[i].name)] = schema_of(all[i]);
  }
  return schema.dump(2) + '\n';
}

std::string job_reference() {
  std::string text =
      "# Job descriptions\n\n"
      "Every key that a job description may have. `muster reference job` writes this page from the "
      "table that the reader\nuses; [job.schema.json](job.schema.json) says the same to editors, "
      "and `muster job validate FILE` checks a file.\nThe guide is "
      "[From laptop to cluster](../guide/laptop-to-cluster.md).\n";
  for (const SectionInfo& section : sections()) {
    text += fmt::format("\n## {}\n{}.\n\n{}", section.name, section.summary, table_of(section));
  }
  return text;
}

}  // namespace muster::cluster
