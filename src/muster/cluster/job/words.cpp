#include "muster/cluster/job/words.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "muster/cluster/errc.h"

namespace muster::cluster {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kOperators = "|&;<>()`$";

bool is_in(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

tl::unexpected<Error> for_a_shell(std::string_view what) {
  return fail(Errc::invalid_spec,
              fmt::format("{} means something to a shell, and none is run: put it in single "
                          "quotes, or set 'shell: true'",
                          what));
}

/// FOO=bar, which a shell takes as a variable if it stands before the program.
bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  const std::string_view name = word.substr(0, equals);
  const auto letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
  };
  return letter(name[0]) && std::ranges::all_of(name, [&](char c) {
           return letter(c) || std::isdigit(static_cast<unsigned char>(c));
         });
}

class Splitter {
 public:
  explicit Splitter(std::string_view line) : rest_(line) {}

  Result<std::vector<std::string>> run() {
    while (!rest_.empty()) {
      const char c = take();
      std::optional<Error> error;
      if (is_in(c, kBlanks)) {
        end_word();
      } else if (c == '\'') {
        error = single_quoted();
      } else if (c == '"') {
        error = double_quoted();
      } else {
        error = plain(c);
      }
      if (error) return fail(std::move(*error));
    }
    end_word();
    return std::move(words_);
  }

 private:
  using Failure = std::optional<Error>;

  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  void put(char c) {
    if (!word_) word_.emplace();
    word_->push_back(c);
  }
  void end_word() {
    if (word_) words_.push_back(std::move(*word_));
    word_.reset();
  }

  Failure plain(char c) {
    if (is_in(c, kOperators)) return for_a_shell(fmt::format("'{}'", c)).value();
    if (c == '~' && !word_) return for_a_shell("'~'").value();
    if (c == '=' && words_.empty() && word_ && is_assignment(*word_ + "=")) {
      return fail(Errc::invalid_spec, fmt::format("'{}=…' before the program is for a shell: set "
                                                  "it under 'env'",
                                                  *word_))
          .value();
    }
    if (c != '\\') {
      put(c);
    } else if (rest_.empty()) {
      return fail(Errc::invalid_spec, "a backslash at the end has nothing to keep").value();
    } else if (const char kept = take();
               kept != '\n') {  // backslash and line end: the line goes on
      put(kept);
    }
    return std::nullopt;
  }

  Failure single_quoted() {
    const std::size_t end = rest_.find('\'');
    if (end == std::string_view::npos) return unclosed('\'');
    if (!word_) word_.emplace();
    word_->append(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return std::nullopt;
  }

  Failure double_quoted() {
    if (!word_) word_.emplace();
    while (!rest_.empty()) {
      const char c = take();
      if (c == '"') return std::nullopt;
      if (c == '$' || c == '`') return for_a_shell(fmt::format("'{}'", c)).value();
      if (c == '\\' && !rest_.empty() && is_in(rest_.front(), "$`\"\\\n")) {
        if (const char kept = take(); kept != '\n') put(kept);
      } else {
        put(c);
      }
    }
    return unclosed('"');
  }

  static Failure unclosed(char quote) {
    return fail(Errc::invalid_spec, fmt::format("a quote ({}) is not closed", quote)).value();
  }

  std::string_view rest_;
  std::optional<std::string> word_;  // the one being read; an empty one exists if it was quoted
  std::vector<std::string> words_;
};

}  // namespace

Result<std::vector<std::string>> split_command(std::string_view line) {
  return Splitter(line).run();
}

}  // namespace muster::cluster
