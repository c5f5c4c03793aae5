#include "muster/cli/table.h"

#include <algorithm>

#include "muster/base/assert.h"

namespace muster::cli {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::string_view kReset = "\033[0m";

std::string_view escape(Style style) {
  switch (style) {
    case Style::plain: return "";
    case Style::good: return "\033[32m";
    case Style::warning: return "\033[33m";
    case Style::bad: return "\033[31m";
    case Style::dim: return "\033[2m";
  }
  return "";
}

/// Characters, not bytes: all but the continuation bytes of UTF-8.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// A line of the table; the last column is not padded.
std::string line(const std::vector<Cell>& cells, const std::vector<std::size_t>& widths,
                 bool colour) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    text += colour ? coloured(cell.text, cell.style) : cell.text;
    if (i + 1 == cells.size()) break;
    text.append(widths[i] - width(cell.text), ' ');
    text += kGap;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

}  // namespace

std::string coloured(std::string_view text, Style style) {
  if (style == Style::plain || text.empty()) return std::string(text);
  return std::string(escape(style)).append(text).append(kReset);
}

Table::Table(std::initializer_list<std::string_view> headings)
    : headings_(headings.begin(), headings.end()) {}

void Table::add(std::vector<Cell> row) {
  MUSTER_ASSERT(row.size() == headings_.size(), "a row has a cell per heading");
  rows_.push_back(std::move(row));
}

std::string Table::text(bool colour) const {
  std::vector<std::size_t> widths;
  std::vector<Cell> headings;
  for (const std::string& heading : headings_) {
    widths.push_back(width(heading));
    headings.emplace_back(heading, Style::dim);
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width(row[i].text));
    }
  }
  std::string text = line(headings, widths, colour);
  for (const auto& row : rows_) text += line(row, widths, colour);
  return text;
}

}  // namespace muster::cli
