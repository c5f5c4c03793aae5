// Parallel sample sort: numbers that are spread over the ranks end up sorted, rank 0 with the
// smallest.
//
// Every rank sorts its own numbers and gives a few of them as samples. From all samples, splitters
// are chosen that cut the numbers into one range for each rank. An all-to-all with different counts
// brings every number to its rank. The program starts its ranks itself, or leaves that to
//
//     muster run -n 4 -- build/release/bin/sample_sort

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "muster/muster.h"
#include "roles.h"

using namespace muster::comm;
using example::check;

constexpr int kRanks = 3;
constexpr std::size_t kNumbers = 100'000;  // on each rank

using Numbers = std::vector<std::int64_t>;

// region sort
/// What belongs between the same splitters comes to the same rank, sorted.
Numbers sample_sort(Group& group, Numbers own) {
  const auto n = static_cast<std::size_t>(group.size());
  std::sort(own.begin(), own.end());

  Numbers samples(n);
  for (std::size_t i = 0; i < n; ++i) samples[i] = own[i * own.size() / n];
  Numbers all(n * n);
  check(group.allgather(samples, all));
  std::sort(all.begin(), all.end());

  std::vector<std::size_t> counts(n);
  auto begin = own.begin();
  for (std::size_t i = 0; i < n; ++i) {
    const auto end = i + 1 == n ? own.end() : std::lower_bound(begin, own.end(), all[(i + 1) * n]);
    counts[i] = static_cast<std::size_t>(end - begin);
    begin = end;
  }
  std::vector<std::size_t> receive_counts(n);
  check(group.all_to_all(counts, receive_counts));

  std::size_t total = 0;
  for (const std::size_t count : receive_counts) total += count;
  Numbers sorted(total);
  check(group.all_to_allv(own, counts, sorted, receive_counts));
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}
// endregion

int sort_numbers(Group group) {
  std::mt19937_64 random(static_cast<unsigned>(group.rank()));
  Numbers numbers(kNumbers);
  for (std::int64_t& number : numbers) number = static_cast<std::int64_t>(random() % 1'000'000);
  std::int64_t sum = 0;
  for (const std::int64_t number : numbers) sum += number;

  const Numbers sorted = sample_sort(group, std::move(numbers));

  // Nothing is lost, and no rank has a number that is larger than one of the next.
  Numbers totals{sum, static_cast<std::int64_t>(sorted.size())};
  for (const std::int64_t number : sorted) totals[0] -= number;
  check(group.allreduce(totals));
  Numbers ends{sorted.front(), sorted.back()};
  const auto ranks = static_cast<std::size_t>(group.size());
  Numbers borders(2 * ranks);
  check(group.allgather(ends, borders));
  fmt::print("rank {} has {} numbers from {} to {}\n", group.rank(), sorted.size(), ends[0],
             ends[1]);
  const bool right = totals[0] == 0 && totals[1] == static_cast<std::int64_t>(ranks * kNumbers) &&
                     std::is_sorted(borders.begin(), borders.end());
  return right ? 0 : 1;
}

int join_and_sort(const std::string& name) {
  GroupOptions options;
  options.name = name;
  options.size = kRanks;
  return sort_numbers(Group::join(options).value());
}

int sort_as_launched(const std::string& /*group*/) {
  return sort_numbers(Group::from_environment().value());
}

int main(int argc, char** argv) {
  if (std::getenv("MUSTER_RANK") != nullptr)
    return example::play({.name = "rank", .run = sort_as_launched}, "");
  return example::run_roles(argc, argv,
                            {{.name = "rank", .run = join_and_sort, .processes = kRanks}});
}
