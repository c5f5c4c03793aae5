#include "muster/cluster/job/yaml.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "muster/base/utf8.h"
#include "muster/cluster/job/value_builder.h"

namespace muster::cluster {
namespace {

std::size_t line_of(const YAML::Mark& mark) { return static_cast<std::size_t>(mark.line) + 1; }

/// Passes the parser's events to the builder.
class Events final : public YAML::EventHandler {
 public:
  explicit Events(ValueBuilder& builder) : builder_(builder) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Value value;
    value.line = line_of(mark);
    builder_.add(std::move(value), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    check_tag(mark, tag);
    Value value;
    value.kind = Value::Kind::scalar;
    value.line = line_of(mark);
    value.text = text;
    value.quoted = tag == "!" || tag.ends_with(":str");
    builder_.add(std::move(value), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_.add_alias(line_of(mark), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    builder_.open(Value::Kind::list, line_of(mark), anchor);
  }
  void OnSequenceEnd() override { builder_.close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    builder_.open(Value::Kind::map, line_of(mark), anchor);
  }
  void OnMapEnd() override { builder_.close(); }

 private:
  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!" || tag.starts_with("tag:yaml.org,2002:")) return;
    builder_.stop(line_of(mark),
                  fmt::format("tags such as {} are not supported", quoted_text(tag)));
  }

  ValueBuilder& builder_;
};

/// The parser finds fault with what comes behind a tab, not with the tab. The first line up to
/// `last` that begins with one, from 1; 0 if there is none.
std::size_t line_with_tab(std::string_view text, std::size_t last) {
  for (std::size_t line = 1; line <= last && !text.empty(); ++line) {
    const std::size_t indent = text.find_first_not_of(' ');
    if (indent != std::string_view::npos && text[indent] == '\t') return line;
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return 0;
}

// Whether there was one document.
bool parse(std::string_view text, ValueBuilder& builder, Problems& problems) {
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  Events events(builder);
  if (!parser.HandleNextDocument(events)) {
    problems.add(0, "", "the file is empty");
    return false;
  }
  ValueBuilder another(problems);
  Events more(another);
  if (!parser.HandleNextDocument(more)) return true;
  problems.add(0, "", "the file has more than one document ('---')");
  return false;
}

}  // namespace

std::optional<Value> read_yaml(std::string_view text, Problems& problems) {
  if (text.size() > kMaxSpecBytes) {
    problems.add(0, "", fmt::format("the file is larger than {} bytes", kMaxSpecBytes));
    return std::nullopt;
  }
  if (const std::size_t good = utf8_prefix(text); good < text.size()) {
    const auto lines = std::ranges::count(text.substr(0, good), '\n');
    problems.add(static_cast<std::size_t>(lines) + 1, "", "the text is not UTF-8");
    return std::nullopt;
  }
  ValueBuilder builder(problems);
  try {
    if (parse(text, builder, problems)) return builder.take();
  } catch (const ValueBuilder::Stop&) {
    // It said why.
  } catch (const YAML::Exception& error) {
    const std::size_t line = line_of(error.mark);
    if (const std::size_t tab = line_with_tab(text, line); tab > 0) {
      problems.add(tab, "", "a tab cannot indent in YAML: use spaces");
    } else {
      problems.add(line, "", fmt::format("not YAML: {}", error.msg));
    }
  }
  return std::nullopt;
}

}  // namespace muster::cluster
