#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::cli {

/// How a cell looks on a terminal.
enum class Style { plain, good, warning, bad, dim };

struct Cell {
  std::string text;
  Style style = Style::plain;

  Cell(std::string content, Style look = Style::plain)  // NOLINT(google-explicit-constructor)
      : text(std::move(content)), style(look) {}
  Cell(const char* content) : text(content) {}  // NOLINT(google-explicit-constructor)
};

/// Rows under headings, in columns as wide as they need to be.
class Table {
 public:
  Table(std::initializer_list<std::string_view> headings);

  void add(std::vector<Cell> row);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::string text(bool colour) const;

 private:
  std::vector<std::string> headings_;
  std::vector<std::vector<Cell>> rows_;
};

/// `text` in the colour of `style`, for a terminal.
std::string coloured(std::string_view text, Style style);

}  // namespace muster::cli
