#include "muster/cli/suggest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace muster::cli {
namespace {

// Levenshtein distance, one row at a time.
std::size_t distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string_view> suggest(std::string_view typed,
                                        std::span<const std::string_view> known) {
  // More than a third of the letters wrong is another word, not a typing error.
  std::size_t limit = typed.size() / 3 + 1;
  std::optional<std::string_view> best;
  for (const std::string_view name : known) {
    const std::size_t wrong = distance(typed, name);
    if (wrong > limit || (best && wrong == limit)) continue;
    best = name;
    limit = wrong;
  }
  return best;
}

}  // namespace muster::cli
