#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/cluster/job/value.h"

namespace muster::cluster {

/// What may stand in a field. The reader, its complaints and the JSON Schema all come from it.
struct Shape {
  enum class Kind {
    name,          ///< of a job or schedule
    text,          ///< not empty
    path,          ///< absolute
    whole,         ///< from `min` to `max`
    cpu,           ///< cores
    size,          ///< bytes
    time,          ///< milliseconds, at least `min`
    flag,          ///< true or false
    choice,        ///< one of `choices`
    variables,     ///< a map from names of environment variables to texts
    labels,        ///< a map from names to texts
    command,       ///< a text or a list of texts
    names,         ///< a list of names
    dependencies,  ///< a list of components, or a map from them to one of `choices`
    section,       ///< a map with the fields of `section`
    section_list,  ///< such a map, or a list of them
    sections,      ///< a map from names to such maps
  };

  Kind kind = Kind::text;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::span<const std::string_view> choices{};
  std::string_view section{};

  /// "a whole number from 1 to 10"
  [[nodiscard]] std::string allowed() const;
};

/// One key of a section.
struct FieldInfo {
  std::string_view key;
  Shape shape;
  std::string_view summary;
  std::string_view fallback{};  ///< what holds without it, as text; empty if nothing does
  bool required = false;
};

/// A value where a field is expected. The reading functions complain and return nothing if it is
/// not what the shape allows.
class Field {
 public:
  Field(const Value& value, const Shape& shape, std::string path, Problems& problems)
      : value_(value), shape_(shape), path_(std::move(path)), problems_(problems) {}

  [[nodiscard]] const Value& value() const { return value_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// A member or item of this value.
  [[nodiscard]] Field inner(std::string_view key, const Value& value, const Shape& shape) const;

  void complain(std::string_view message) const { complain(value_.line, message); }
  void complain(std::size_t line, std::string_view message) const;
  /// "'five' is not a whole number from 1 to 10"
  void refuse() const;

  [[nodiscard]] std::optional<std::string> text() const;
  [[nodiscard]] std::optional<std::string> name() const;
  [[nodiscard]] std::optional<std::string> path_text() const;
  [[nodiscard]] std::optional<std::int64_t> whole() const;
  [[nodiscard]] std::optional<std::uint64_t> cpu() const;
  [[nodiscard]] std::optional<std::uint64_t> size() const;
  [[nodiscard]] std::optional<std::chrono::milliseconds> time() const;
  [[nodiscard]] std::optional<bool> flag() const;
  /// The position in `choices`.
  [[nodiscard]] std::optional<std::size_t> choice() const;
  [[nodiscard]] std::map<std::string, std::string> variables() const;
  [[nodiscard]] std::map<std::string, std::string> labels() const;
  [[nodiscard]] std::vector<std::string> names() const;
  /// The value as a map; nothing stands for an empty one.
  [[nodiscard]] const Value* map() const;

  void complain_about_missing(const FieldInfo& info) const;
  void complain_about_unknown(const Member& member, const std::vector<std::string>& known) const;

 private:
  /// A scalar without quotes, such as numbers are.
  [[nodiscard]] const std::string* plain() const;
  [[nodiscard]] std::map<std::string, std::string> text_map(bool (*is_key)(std::string_view),
                                                            std::string_view key_rule) const;

  const Value& value_;
  Shape shape_;
  std::string path_;
  Problems& problems_;
};

/// A row of a section's table: what may stand there, and where it goes.
template <class T>
struct FieldRow {
  FieldInfo info;
  void (*read)(const Field&, T&);
};

/// Reads a map into `target`, in the order of the rows; complains about keys that no row has and
/// about required ones that are missing.
template <class T>
void read_section(const Field& field, std::span<const FieldRow<T>> rows, T& target) {
  const Value* map = field.map();
  if (map == nullptr) return;
  std::vector<std::string> known;
  for (const FieldRow<T>& row : rows) {
    known.emplace_back(row.info.key);
    const Member* member = map->find(row.info.key);
    if (member != nullptr && member->value.kind != Value::Kind::null) {
      row.read(field.inner(row.info.key, member->value, row.info.shape), target);
    } else if (row.info.required) {
      field.complain_about_missing(row.info);
    }
  }
  for (const Member& member : map->members) field.complain_about_unknown(member, known);
}

/// Letters, digits, '-', '_' and '.', a letter or digit first, at most 63 characters.
bool is_name(std::string_view text);
/// The same without '.': what peers are named after.
bool is_component_name(std::string_view text);

}  // namespace muster::cluster
