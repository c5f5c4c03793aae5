#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/cluster/job/value_builder.h"
#include "muster/cluster/job/yaml.h"

namespace muster::cluster {
namespace {

/// Passes the parser's events to the builder.
class Events final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Events(ValueBuilder& builder) : builder_(builder) {}

  bool null() override {
    builder_.add({});
    return true;
  }
  bool boolean(bool value) override { return scalar(value ? "true" : "false", false); }
  bool number_integer(number_integer_t value) override {
    return scalar(std::to_string(value), false);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return scalar(std::to_string(value), false);
  }
  bool number_float(number_float_t, const string_t& text) override { return scalar(text, false); }
  bool string(string_t& text) override { return scalar(text, true); }
  bool key(string_t& text) override { return scalar(text, true); }
  bool binary(binary_t&) override { return false; }  // there is none in JSON
  bool start_object(std::size_t) override {
    builder_.open(Value::Kind::map, 0);
    return true;
  }
  bool start_array(std::size_t) override {
    builder_.open(Value::Kind::list, 0);
    return true;
  }
  bool end_object() override {
    builder_.close();
    return true;
  }
  bool end_array() override { return end_object(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    builder_.stop(0, fmt::format("not JSON at byte {}", position));
  }

 private:
  bool scalar(std::string text, bool quoted) {
    Value value;
    value.kind = Value::Kind::scalar;
    value.text = std::move(text);
    value.quoted = quoted;
    builder_.add(std::move(value));
    return true;
  }

  ValueBuilder& builder_;
};

}  // namespace

std::optional<Value> read_json(std::string_view text, Problems& problems) {
  ValueBuilder builder(problems);
  Events events(builder);
  try {
    nlohmann::json::sax_parse(text, &events);
  } catch (const ValueBuilder::Stop&) {
    return std::nullopt;
  }
  if (!problems.empty()) return std::nullopt;
  return builder.take();
}

}  // namespace muster::cluster
