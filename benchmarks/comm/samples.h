#pragma once

#include <string>
#include <vector>

namespace muster::bench {

/// Repeated measurements of one figure.
class Samples {
 public:
  void add(double value) { values_.push_back(value); }
  [[nodiscard]] double median() const;
  [[nodiscard]] double lowest() const;
  [[nodiscard]] double highest() const;

 private:
  std::vector<double> values_;
};

/// The value below which this part of all lies. Sorts.
[[nodiscard]] double percentile(std::vector<double>& values, double part);

enum class Better : bool { higher, lower };

/// A line of the table, as `benchmarks/report.py` reads it.
struct Row {
  std::string name;
  std::size_t size = 0;
  const Samples* ours = nullptr;  // outlives the row
  const Samples* peer = nullptr;  // outlives the row
  std::string peer_name;
  std::string unit;
  Better better = Better::higher;
  /// The ratio that DESIGN's table asks for; 0 where it asks for nothing.
  double budget = 0;
};

/// Prints the row to standard output, for the report.
void print(const Row& row);

}  // namespace muster::bench
