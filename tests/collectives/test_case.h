#pragma once

#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/comm/collective/algorithm/registry.h"
#include "muster/comm/collective/scalar.h"

namespace muster::comm::collective {

using Bytes = std::vector<std::byte>;

/// One collective of a group of ranks, with its inputs and what must come out.
struct TestCase {
  const AlgorithmRow* row = nullptr;
  int size = 1;
  Element element = Element::i32;
  Reduction reduction = {};
  int root = 0;
  bool in_place = false;
  std::size_t count = 0;
  std::vector<std::size_t> counts = {};               // per rank, for forms with different counts
  std::vector<std::vector<std::size_t>> matrix = {};  // all_to_all: from, to
  std::vector<int> hosts = {};

  [[nodiscard]] bool variable() const { return !counts.empty() || !matrix.empty(); }
  [[nodiscard]] Operation operation() const { return row->operation; }

  [[nodiscard]] std::string text() const {
    return fmt::format("{} {} of {} {} {}{} over {} ranks, root {}, {}{}{}{}", name(operation()),
                       row->name, count, name(element), name(reduction.kind),
                       reduction.commutative ? "" : " in order", size, root,
                       in_place ? "in place" : "out of place",
                       counts.empty() ? "" : fmt::format(", counts {}", fmt::join(counts, " ")),
                       matrix.empty() ? "" : ", different counts",
                       hosts.empty() ? "" : fmt::format(", hosts {}", fmt::join(hosts, " ")));
  }

  [[nodiscard]] std::size_t block_count(int rank) const {
    return counts.empty() ? count : counts[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::size_t all_counts() const {
    std::size_t total = 0;
    for (int rank = 0; rank < size; ++rank) total += block_count(rank);
    return total;
  }
  [[nodiscard]] std::size_t start_of(int block) const {
    std::size_t start = 0;
    for (int rank = 0; rank < block; ++rank) start += block_count(rank);
    return start;
  }
  [[nodiscard]] std::size_t sent(int from, int to) const {
    return matrix.empty() ? count
                          : matrix[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }

  [[nodiscard]] std::size_t input_count(int rank) const {
    switch (operation()) {
      case Operation::barrier: return 0;
      case Operation::broadcast: return rank == root ? count : 0;
      case Operation::scatter: return rank == root ? all_counts() : 0;
      case Operation::gather:
      case Operation::allgather: return block_count(rank);
      case Operation::reduce:
      case Operation::allreduce: return count;
      case Operation::reduce_scatter: return all_counts();
      case Operation::all_to_all: {
        std::size_t total = 0;
        for (int to = 0; to < size; ++to) total += sent(rank, to);
        return total;
      }
    }
    return 0;
  }
  [[nodiscard]] std::size_t output_count(int rank) const {
    switch (operation()) {
      case Operation::barrier: return 0;
      case Operation::scatter:
      case Operation::reduce_scatter: return block_count(rank);
      case Operation::gather: return rank == root ? all_counts() : 0;
      case Operation::reduce: return rank == root ? count : 0;
      case Operation::broadcast:
      case Operation::allreduce: return count;
      case Operation::allgather: return all_counts();
      case Operation::all_to_all: {
        std::size_t total = 0;
        for (int from = 0; from < size; ++from) total += sent(from, rank);
        return total;
      }
    }
    return 0;
  }

  [[nodiscard]] Call call(int rank, const std::byte* input, std::byte* output) const {
    Call result;
    result.operation = operation();
    result.element = element;
    result.reduction = reduction;
    result.root = root;
    result.count = count;
    result.variable = variable();
    result.input = input;
    result.output = output;
    if (!counts.empty()) {
      const bool knows_all = !is_rooted(operation()) || rank == root;
      if (knows_all) result.counts = counts;
      result.count = knows_all ? 0 : block_count(rank);
    }
    if (!matrix.empty()) {
      result.counts = matrix[static_cast<std::size_t>(rank)];
      for (const auto& row_of : matrix)
        result.receive_counts.push_back(row_of[static_cast<std::size_t>(rank)]);
    }
    return result;
  }
};

/// A number that sums, products and comparisons of nine of them give exactly in every element.
void fill(std::mt19937_64& random, Element element, ReductionKind kind, Bytes& bytes);

/// What every rank must have in its output. `inputs` are those of all ranks.
[[nodiscard]] std::vector<Bytes> expected(const TestCase& test, const std::vector<Bytes>& inputs);

/// Carries out the calls, one for each rank that is here; returns what went wrong, or nothing.
using Execute = std::function<std::string(const std::vector<Call>& calls)>;

/// Whether a rank's result is compared.
using Counts = std::function<bool(int rank)>;

/// Runs the case with inputs from the seed and compares what comes out, at the ranks that count;
/// returns what went wrong, or nothing.
[[nodiscard]] std::string run(const TestCase& test, std::uint64_t seed, const Execute& execute,
                              const Counts& counts);
/// The same, at all ranks, or `only` at the one that is here.
[[nodiscard]] std::string run(const TestCase& test, std::uint64_t seed, const Execute& execute,
                              int only = -1);

/// Runs the case on a network whose order the seed decides; returns what went wrong, or nothing.
[[nodiscard]] std::string run(const TestCase& test, std::uint64_t seed);

/// x → a·x + b over 32 bits, packed into 64: composing such functions is associative and not
/// commutative.
[[nodiscard]] Reduction composition();
/// The sum of two numbers of 32 bits, packed into 64, as a function: the order does not matter.
[[nodiscard]] Reduction addition();

}  // namespace muster::comm::collective
