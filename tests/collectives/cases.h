#pragma once

#include "tests/collectives/test_case.h"

namespace muster::comm::collective {

inline constexpr int kMostTestedRanks = 9;

/// Every call that an algorithm takes from a group of this size, with equal counts: elements ×
/// reductions × counts × in and out of place. Roots and hosts are left open.
[[nodiscard]] std::vector<TestCase> cases_of(const AlgorithmRow& row, int size);

/// A root, and hosts, for an algorithm that needs none only sometimes.
void complete(TestCase& test, std::mt19937_64& random);

/// Gives every block a count of its own, up to the one that all have so far.
void vary_counts(TestCase& test, std::mt19937_64& random);

[[nodiscard]] bool has_variable_form(Operation operation);

/// Some algorithm of the operation that takes every call.
[[nodiscard]] const AlgorithmRow* any_row(Operation operation);
/// Any call of a group of this size, of up to 150,001 items, with equal counts or different ones.
[[nodiscard]] TestCase any_case(std::mt19937_64& random, int size);

/// The reductions by name, and after them the functions of test_case.h.
inline constexpr int kReductions = 10;
[[nodiscard]] Reduction reduction_of(int number);
/// Whether items of this type can be combined by that reduction.
[[nodiscard]] bool exists(Element element, int number);

}  // namespace muster::comm::collective
