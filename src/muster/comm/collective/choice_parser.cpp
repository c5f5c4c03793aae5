#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/base/suggest.h"
#include "muster/comm/collective/choice.h"
#include "muster/comm/errc.h"

namespace muster::comm::collective {

using shared::kNoEnd;

/// Reads the entries of MUSTER_COLLECTIVES into a table.
class ChoiceParser {
 public:
  ChoiceParser(std::string_view text, bool is_file, ChoiceTable& table)
      : text_(text),
        has_lines_(is_file || text.find('\n') != std::string_view::npos),
        table_(table) {}

  [[nodiscard]] Result<void> run() {
    for (skip_separators(); at_ < text_.size(); skip_separators())
      if (Result<void> read = entry(); !read) return read;
    return {};
  }

 private:
  static constexpr std::string_view kForm =
      "an entry is operation:bytes:algorithm, such as allreduce:0-8k:ring";

  struct Range {
    std::size_t from;
    std::size_t to;
    std::string_view text;
  };

  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  static bool ends_entry(char c) { return is_space(c) || c == ',' || c == '#'; }

  void skip_separators() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (is_space(text_[at_]) || text_[at_] == ',')
        ++at_;
      else
        return;
    }
  }

  /// What stands up to the next of `ends`, a separator or the end of the text.
  std::string_view word(std::string_view ends) {
    const std::size_t from = at_;
    while (at_ < text_.size() && !ends_entry(text_[at_]) &&
           ends.find(text_[at_]) == std::string_view::npos)
      ++at_;
    return text_.substr(from, at_ - from);
  }

  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  [[nodiscard]] tl::unexpected<Error> wrong(std::size_t at, const std::string& what) const {
    return fail(Errc::malformed,
                fmt::format("at {}, in '{}': {}", position(at), entry_text(), what));
  }
  [[nodiscard]] std::string position(std::size_t at) const {
    if (!has_lines_) return fmt::format("position {}", at + 1);
    const std::string_view before = text_.substr(0, at);
    const std::size_t start = before.rfind('\n') + 1;  // 0 where there is none
    return fmt::format("line {}, position {}", 1 + std::ranges::count(before, '\n'),
                       at - start + 1);
  }
  [[nodiscard]] std::string_view entry_text() const {
    std::size_t end = entry_;
    while (end < text_.size() && !ends_entry(text_[end])) ++end;
    return text_.substr(entry_, end - entry_);
  }

  static std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    return result;
  }

  [[nodiscard]] tl::unexpected<Error> unknown(std::size_t position, std::string_view what,
                                              std::string_view given,
                                              const std::vector<std::string>& allowed) const {
    const std::string meant = nearest(lower(given), allowed);
    return wrong(position,
                 fmt::format("'{}' is not {}{}; there are {}", given, what,
                             meant.empty() ? "" : fmt::format(", perhaps '{}' is meant", meant),
                             fmt::join(allowed, ", ")));
  }

  [[nodiscard]] Result<Operation> operation() {
    const std::size_t position = at_;
    const std::string_view given = word("/:");
    std::vector<std::string> allowed;
    for (const Operation candidate : kOperations) {
      if (name(candidate) == given) return candidate;
      allowed.emplace_back(name(candidate));
    }
    return unknown(position, "an operation", given, allowed);
  }

  [[nodiscard]] Result<std::vector<Layout>> layouts() {
    if (!take('/')) return std::vector{Layout::flat, Layout::mixed};
    const std::size_t position = at_;
    const std::string_view given = word(":");
    std::vector<std::string> allowed;
    for (const Layout candidate : kLayouts) {
      if (name(candidate) == given) return std::vector{candidate};
      allowed.emplace_back(name(candidate));
    }
    return unknown(position, "a layout", given, allowed);
  }

  static std::optional<std::size_t> bytes(std::string_view text) {
    std::size_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{}) return std::nullopt;
    if (rest == end) return value;
    if (rest + 1 != end) return std::nullopt;
    const int shift = *rest == 'k' || *rest == 'K'   ? 10
                      : *rest == 'm' || *rest == 'M' ? 20
                      : *rest == 'g' || *rest == 'G' ? 30
                                                     : 0;
    if (shift == 0 || value > kNoEnd >> shift) return std::nullopt;
    return value << shift;
  }

  [[nodiscard]] Result<Range> range() {
    const std::size_t position = at_;
    const std::string_view given = word(":");
    if (given == "*") return Range{0, kNoEnd, given};
    const std::size_t dash = given.find('-');
    const auto from = bytes(given.substr(0, dash));
    const std::string_view rest = dash == std::string_view::npos ? "" : given.substr(dash + 1);
    const auto to = rest.empty() ? std::optional(kNoEnd) : bytes(rest);
    if (dash == std::string_view::npos || !from || !to)
      return wrong(
          position,
          fmt::format("'{}' is not a range of bytes such as 0-8k, 64k-1M, 1M- or *", given));
    if (*from >= *to)
      return wrong(position, fmt::format("the range {} is empty: it ends before it begins", given));
    return Range{*from, *to, given};
  }

  [[nodiscard]] Result<Chosen> algorithm(Operation operation) {
    const std::size_t position = at_;
    const std::string_view given = word(":");
    if (const AlgorithmRow* const row = find_algorithm(operation, given)) return Chosen(row);
    if (const shared::WayRow* const way = shared::find_way(operation, given))
      return wrong(position,
                   fmt::format("'{0}' is for ranks on one host, as in {1}/host:{2}-{3}:{0}", given,
                               name(operation), way->from,
                               way->to == kNoEnd ? "" : std::to_string(way->to)));
    std::vector<std::string> allowed;
    for (const AlgorithmRow& row : algorithm_rows())
      if (row.operation == operation) allowed.emplace_back(row.name);
    return unknown(position, fmt::format("an algorithm for {}", name(operation)), given, allowed);
  }

  /// On one host, for blocks of these sizes.
  [[nodiscard]] Result<Chosen> way(Operation operation, const Range& range) {
    const std::size_t position = at_;
    const std::string_view given = word(":");
    const shared::WayRow* const row = shared::find_way(operation, given);
    if (row == nullptr) {
      std::vector<std::string> allowed;
      for (const shared::WayRow& way : shared::way_rows(operation)) allowed.emplace_back(way.name);
      return unknown(position, fmt::format("a way for {} on one host", name(operation)), given,
                     allowed);
    }
    if (range.from < row->from)
      return wrong(position,
                   fmt::format("'{}' takes blocks of {} bytes and more, and the range {} begins "
                               "below",
                               given, row->from, range.text));
    if (range.to > row->to)
      return wrong(position,
                   fmt::format("'{}' takes blocks of up to {} bytes, and the range {} ends above",
                               given, row->to - 1, range.text));
    return Chosen(row);
  }

  [[nodiscard]] Result<void> colon(std::string_view after) {
    if (take(':')) return {};
    return wrong(at_, fmt::format("a ':' is missing after the {}; {}", after, kForm));
  }

  [[nodiscard]] Result<void> entry() {
    entry_ = at_;
    const auto what = operation();
    if (!what) return fail(what.error());
    const auto where = layouts();
    if (!where) return fail(where.error());
    if (auto ok = colon("operation"); !ok) return ok;
    const std::size_t range_at = at_;
    const auto when = range();
    if (!when) return fail(when.error());
    if (*what == Operation::barrier && when->from > 0)
      return wrong(range_at, fmt::format("a barrier has no bytes, and the range {} begins above",
                                         when->text));
    if (auto ok = colon("bytes"); !ok) return ok;
    const auto how = where->front() == Layout::host ? way(*what, *when) : algorithm(*what);
    if (!how) return fail(how.error());
    if (at_ < text_.size() && !ends_entry(text_[at_]))
      return wrong(at_, fmt::format("nothing stands behind the algorithm; {}", kForm));
    for (const Layout layout : *where) table_.assign(*what, layout, when->from, when->to, *how);
    return {};
  }

  std::string_view text_;
  bool has_lines_;
  ChoiceTable& table_;
  std::size_t at_ = 0;
  std::size_t entry_ = 0;  // where the entry that is being read begins
};

namespace {

Result<std::string> read_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return fail(Errc::malformed, fmt::format("'{}' is a folder, not a file", path));
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) return fail(Errc::malformed, fmt::format("cannot read the file '{}'", path));
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some editors write it
  std::string text = content.str();
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

}  // namespace

Result<ChoiceTable> ChoiceTable::parse(std::string_view text) {
  std::string content(text);
  const bool is_file = text.starts_with('@');
  if (is_file) {
    Result<std::string> read = read_file(std::string(text.substr(1)));
    if (!read) return fail(read.error());
    content = std::move(*read);
  }
  ChoiceTable table = builtin();
  if (const Result<void> read = ChoiceParser(content, is_file, table).run(); !read)
    return is_file ? fail(read.error().within(text.substr(1))) : fail(read.error());
  return table;
}

Result<ChoiceTable> ChoiceTable::from_environment() {
  const char* const text = std::getenv("MUSTER_COLLECTIVES");
  if (text == nullptr || *text == '\0') return builtin();
  Result<ChoiceTable> table = parse(text);
  if (!table) return fail(table.error().within("MUSTER_COLLECTIVES"));
  return table;
}

}  // namespace muster::comm::collective
