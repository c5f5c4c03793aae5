#include "tests/collectives/cases.h"

namespace muster::comm::collective {
namespace {

constexpr std::size_t kCounts[] = {0, 1, 2, 3, 7, 16, 33, 100, 1000};
constexpr int kComposition = 8;
constexpr int kAddition = 9;

bool takes_reduction(const AlgorithmRow& row, Element element, int number) {
  if (!is_reducing(row.operation)) return number == 0;
  return exists(element, number) && (row.ordered || reduction_of(number).commutative);
}

// Around what fits into a line, a step, a share of a step, and a ring of steps.
constexpr std::size_t kAnyCounts[] = {0,    1,    2,    3,    5,     7,     9,     33,
                                      1000, 4097, 8192, 8193, 16385, 40000, 65537, 150001};

}  // namespace

Reduction reduction_of(int number) {
  if (number == kComposition) return composition();
  if (number == kAddition) return addition();
  return {static_cast<ReductionKind>(number)};
}

bool exists(Element element, int number) {
  if (number == kComposition || number == kAddition) return element == Element::u64;
  return scalar::kernel(static_cast<ReductionKind>(number), element) != nullptr &&
         (number != static_cast<int>(ReductionKind::mean) || !is_integer(element));
}

std::vector<TestCase> cases_of(const AlgorithmRow& row, int size) {
  std::vector<TestCase> cases;
  for (const Element element : kElements)
    for (int number = 0; number < kReductions; ++number) {
      if (!takes_reduction(row, element, number)) continue;
      for (const std::size_t count : kCounts)
        for (const bool in_place : {false, true}) {
          TestCase test;
          test.row = &row;
          test.element = element;
          test.reduction = reduction_of(number);
          test.size = size;
          test.count = count;
          test.in_place = in_place;
          cases.push_back(test);
        }
    }
  return cases;
}

void complete(TestCase& test, std::mt19937_64& random) {
  test.root = static_cast<int>(random() % static_cast<unsigned>(test.size));
  if (!test.row->needs_hosts && random() % 2 == 0) return;
  const unsigned hosts = 1 + static_cast<unsigned>(random() % 4);
  for (int rank = 0; rank < test.size; ++rank)
    test.hosts.push_back(static_cast<int>(random() % hosts));
}

void vary_counts(TestCase& test, std::mt19937_64& random) {
  const auto any = [&] { return random() % (test.count + 1); };
  if (test.operation() == Operation::all_to_all) {
    test.in_place = false;
    test.matrix.resize(static_cast<std::size_t>(test.size));
    for (auto& row : test.matrix)
      for (int to = 0; to < test.size; ++to) row.push_back(any());
  } else {
    for (int rank = 0; rank < test.size; ++rank) test.counts.push_back(any());
  }
}

bool has_variable_form(Operation operation) {
  return operation == Operation::scatter || operation == Operation::gather ||
         operation >= Operation::allgather;
}

const AlgorithmRow* any_row(Operation operation) {
  for (const AlgorithmRow& row : algorithm_rows())
    if (row.operation == operation && row.ordered) return &row;
  return nullptr;
}

TestCase any_case(std::mt19937_64& random, int size) {
  TestCase test;
  const Operation operation = kOperations[random() % kOperations.size()];
  test.row = any_row(operation);
  test.size = size;
  test.root = static_cast<int>(random() % static_cast<unsigned>(size));
  test.in_place = random() % 2 == 0;
  test.count = kAnyCounts[random() % std::size(kAnyCounts)];
  if (size > 4 && test.count > 20000 && random() % 4 != 0) test.count /= 8;
  test.element = kElements[random() % kElements.size()];
  if (is_reducing(operation)) {
    const int number = static_cast<int>(random() % kReductions);
    while (!exists(test.element, number)) test.element = kElements[random() % kElements.size()];
    test.reduction = reduction_of(number);
  }
  if (has_variable_form(operation) && random() % 3 == 0) vary_counts(test, random);
  return test;
}

}  // namespace muster::comm::collective
