// Usage: bench_tensor_bounds read BYTES | gemm N | syrk N
//
// What the machine can do with all its cores and nothing of ours: reading so many bytes of memory,
// or OpenBLAS on matrices of N rows and columns. Prints {"seconds": [...]}, one number per
// repetition after the first, which does not count. Memory is read in two ways, of which the faster
// one is printed: each core from beginning to end, or from four places at the same time.

#include <algorithm>
#include <barrier>
#include <cblas.h>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace {

using Clock = std::chrono::steady_clock;
using Word = std::uint64_t;

#if defined(__x86_64__)
#define MUSTER_ALL_VECTORS __attribute__((target_clones("arch=skylake-avx512", "avx2", "default")))
#else
#define MUSTER_ALL_VECTORS
#endif

MUSTER_ALL_VECTORS Word read_once(const Word* words, std::size_t count) {
  Word all = 0;
  for (std::size_t i = 0; i < count; ++i) all ^= words[i];
  return all;
}

MUSTER_ALL_VECTORS Word read_four(const Word* words, std::size_t count) {
  const std::size_t quarter = count / 4;
  Word a = 0;
  Word b = 0;
  Word c = 0;
  Word d = 0;
  for (std::size_t i = 0; i < quarter; ++i) {
    a ^= words[i];
    b ^= words[i + quarter];
    c ^= words[i + 2 * quarter];
    d ^= words[i + 3 * quarter];
  }
  return a ^ b ^ c ^ d;
}

template <class F>
std::vector<double> timed(int repetitions, F&& run) {
  std::vector<double> seconds;
  for (int i = 0; i <= repetitions; ++i) {
    const auto start = Clock::now();
    run();
    if (i > 0) seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  return seconds;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// All cores read their part when `start` lets them, and meet again at `end`.
std::vector<double> timed_reads(const Word* words, std::size_t count,
                                Word (*read)(const Word*, std::size_t)) {
  constexpr int kRepetitions = 9;
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::barrier start(static_cast<std::ptrdiff_t>(cores) + 1);
  std::barrier end(static_cast<std::ptrdiff_t>(cores) + 1);
  std::vector<Word> seen(cores);
  std::vector<std::jthread> threads;
  for (std::size_t core = 0; core < cores; ++core)
    threads.emplace_back([&, core] {
      const std::size_t part = count / cores;
      for (int i = 0; i <= kRepetitions; ++i) {
        start.arrive_and_wait();
        seen[core] ^= read(words + core * part, part);
        end.arrive_and_wait();
      }
    });
  return timed(kRepetitions, [&] {
    start.arrive_and_wait();
    end.arrive_and_wait();
  });
}

std::vector<double> reading(std::size_t bytes) {
  constexpr std::size_t kHugePage = 2u << 20;
  const std::size_t size = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  const std::unique_ptr<Word[], decltype(&std::free)> words(
      static_cast<Word*>(std::aligned_alloc(kHugePage, size)), &std::free);
  if (!words) return {};
  (void)::madvise(words.get(), size, MADV_HUGEPAGE);
  std::fill_n(words.get(), size / sizeof(Word), Word{7});
  const auto once = timed_reads(words.get(), bytes / sizeof(Word), read_once);
  const auto four = timed_reads(words.get(), bytes / sizeof(Word), read_four);
  return median(once) < median(four) ? once : four;
}

std::vector<double> multiplying(int n, bool by_itself) {
  const std::size_t items = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<double> a(items);
  std::vector<double> b(items);
  std::vector<double> c(items);
  for (std::size_t i = 0; i < items; ++i) {
    a[i] = static_cast<double>(i % 1009) / 1009;
    b[i] = static_cast<double>(i % 997) / 997;
  }
  return timed(5, [&] {
    if (by_itself)
      cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, n, n, 1, a.data(), n, 0, c.data(), n);
    else
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n,
                  0, c.data(), n);
  });
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view kind = count == 3 ? arguments[1] : "";
  const long long size = count == 3 ? std::atoll(arguments[2]) : 0;
  const bool is_read = kind == "read";
  if ((!is_read && kind != "gemm" && kind != "syrk") || size <= 0 || (!is_read && size > 40'000)) {
    fmt::print(stderr, "usage: bench_tensor_bounds read BYTES | gemm N | syrk N (N up to 40000)\n");
    return 2;
  }
  const auto seconds = is_read ? reading(static_cast<std::size_t>(size))
                               : multiplying(static_cast<int>(size), kind == "syrk");
  if (seconds.empty()) {
    fmt::print(stderr, "no memory for {} bytes\n", size);
    return 1;
  }
  fmt::print("{{\"seconds\": [{:.6f}]}}\n", fmt::join(seconds, ", "));
}
