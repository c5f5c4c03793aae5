#include "tests/collectives/test_case.h"

#include <complex>

#include "muster/comm/collective/schedule_runner.h"
#include "tests/support/collective_network.h"

namespace muster::comm::collective {
namespace {

constexpr std::byte kGuard{0x5c};
constexpr std::size_t kGuardBytes = 32;
// More steps than any of the cases takes: a group that goes on for longer does not end.
constexpr int kMostSteps = 200'000;

template <class T>
void put(Bytes& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Of elements that are not complex, the real part.
void put_number(Bytes& bytes, std::size_t at, Element element, std::complex<float> value) {
  switch (element) {
    case Element::bf16: return put(bytes, at, to_bfloat16(value.real()));
    case Element::f16: return put(bytes, at, to_float16(value.real()));
    case Element::f32: return put(bytes, at, value.real());
    case Element::f64: return put(bytes, at, static_cast<double>(value.real()));
    case Element::c64: return put(bytes, at, value);
    default: return put(bytes, at, std::complex<double>(value));
  }
}

std::complex<float> any_term(std::mt19937_64& random) {
  const auto any = [&] { return static_cast<float>(random() % 17) - 8; };
  const float real = any();
  return {real, any()};
}

std::complex<float> any_factor(std::mt19937_64& random, Element element) {
  constexpr float kLengths[] = {1, -1, 2, 0.5F};
  constexpr std::complex<float> kDirections[] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
  const float length = kLengths[random() % 4];
  return is_complex(element) ? length * kDirections[random() % 4] : length;
}

/// A rank's buffers with guards before and after the output.
struct Memory {
  Bytes input;
  Bytes guarded;
  std::byte* output;
  const std::byte* given;  // the input that the call gets

  Memory(const TestCase& test, int rank, const Bytes& items) : input(items) {
    const std::size_t item = item_size(test.element);
    std::size_t room = test.output_count(rank) * item;
    const bool same = test.in_place;
    if (same) room = std::max(room, items.size());
    guarded.assign(room + 2 * kGuardBytes, kGuard);
    output = guarded.data() + kGuardBytes;
    given = input.data();
    if (same) {
      std::ranges::copy(items, output + own_offset(test, rank));
      given = output;
    }
  }

  /// Where the input lies in place.
  static std::size_t own_offset(const TestCase& test, int rank) {
    const bool among_blocks = test.operation() == Operation::allgather ||
                              (test.operation() == Operation::gather && rank == test.root);
    return among_blocks ? test.start_of(rank) * item_size(test.element) : 0;
  }

  [[nodiscard]] bool guards_hold() const {
    for (std::size_t i = 0; i < kGuardBytes; ++i)
      if (guarded[i] != kGuard || guarded[guarded.size() - 1 - i] != kGuard) return false;
    return true;
  }
};

Bytes fold(const TestCase& test, const std::vector<Bytes>& inputs) {
  Bytes result = inputs[0];
  const std::size_t count = result.size() / item_size(test.element);
  for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
    if (test.reduction.kind == ReductionKind::user)
      test.reduction.function(result.data(), inputs[rank].data(), count);
    else
      scalar::kernel(test.reduction.kind, test.element)(result.data(), result.data(),
                                                        inputs[rank].data(), count);
  }
  if (test.reduction.kind == ReductionKind::mean)
    divide(test.element, result.data(), count, inputs.size());
  return result;
}

void append(Bytes& bytes, const Bytes& more, std::size_t from, std::size_t size) {
  bytes.insert(bytes.end(), more.begin() + static_cast<std::ptrdiff_t>(from),
               more.begin() + static_cast<std::ptrdiff_t>(from + size));
}

Bytes expected_of(const TestCase& test, const std::vector<Bytes>& inputs, int rank) {
  const std::size_t item = item_size(test.element);
  const auto at = static_cast<std::size_t>(rank);
  const bool root = rank == test.root;
  Bytes result;
  switch (test.operation()) {
    case Operation::barrier: break;
    case Operation::broadcast: return inputs[static_cast<std::size_t>(test.root)];
    case Operation::scatter:
      append(result, inputs[static_cast<std::size_t>(test.root)], test.start_of(rank) * item,
             test.block_count(rank) * item);
      break;
    case Operation::gather:
    case Operation::allgather:
      if (test.operation() == Operation::gather && !root) break;
      for (const Bytes& input : inputs) append(result, input, 0, input.size());
      break;
    case Operation::reduce: return root ? fold(test, inputs) : Bytes{};
    case Operation::allreduce: return fold(test, inputs);
    case Operation::reduce_scatter:
      append(result, fold(test, inputs), test.start_of(rank) * item, test.block_count(rank) * item);
      break;
    case Operation::all_to_all:
      for (std::size_t from = 0; from < inputs.size(); ++from) {
        std::size_t start = 0;
        for (std::size_t to = 0; to < at; ++to)
          start += test.sent(static_cast<int>(from), static_cast<int>(to));
        append(result, inputs[from], start * item, test.sent(static_cast<int>(from), rank) * item);
      }
      break;
  }
  return result;
}

/// What in place at the root of a scatter is not moved: its own block lies where it lay.
std::size_t result_offset(const TestCase& test, int rank) {
  const bool stays = test.in_place && test.operation() == Operation::scatter && rank == test.root;
  return stays ? test.start_of(rank) * item_size(test.element) : 0;
}

/// Bit by bit, but a product of complex numbers may have a zero of either sign, by the order of its
/// factors.
bool equal(const TestCase& test, const std::byte* got, const Bytes& want) {
  if (std::memcmp(got, want.data(), want.size()) == 0) return true;
  if (test.element != Element::c64 && test.element != Element::c128) return false;
  for (std::size_t at = 0; at < want.size(); ++at) {
    const bool has_sign = at % (item_size(test.element) / 2) == item_size(test.element) / 2 - 1;
    const auto difference = got[at] ^ want[at];
    const bool only_sign =
        has_sign && difference == std::byte{0x80} && (got[at] & std::byte{0x7f}) == std::byte{0};
    if (difference != std::byte{0} && !only_sign) return false;
  }
  return true;
}

std::string drive(TestNetwork& network, std::vector<std::unique_ptr<ScheduleRunner>>& runners) {
  for (int step = 0; step < kMostSteps; ++step) {
    bool all = true;
    for (std::size_t rank = 0; rank < runners.size(); ++rank) {
      const Result<bool> done = runners[rank]->advance();
      if (!done) return fmt::format("rank {}: {}", rank, done.error().message());
      all = all && *done;
    }
    if (all) return network.open_transfers() == 0 ? "" : "messages are left over";
    if (!network.move_some()) return "all ranks wait, and no message is under way";
  }
  return "does not end";
}

}  // namespace

void fill(std::mt19937_64& random, Element element, ReductionKind kind, Bytes& bytes) {
  const std::size_t item = item_size(element);
  if (is_integer(element) || kind == ReductionKind::user) {
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      const std::uint64_t word = random();
      std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
    }
    return;
  }
  for (std::size_t at = 0; at < bytes.size(); at += item)
    put_number(bytes, at, element,
               kind == ReductionKind::prod ? any_factor(random, element) : any_term(random));
}

std::vector<Bytes> expected(const TestCase& test, const std::vector<Bytes>& inputs) {
  std::vector<Bytes> result;
  for (int rank = 0; rank < test.size; ++rank) result.push_back(expected_of(test, inputs, rank));
  return result;
}

namespace {

/// With the ranks that are here, of which those that count are compared.
std::string run_and_compare(const TestCase& test, std::uint64_t seed, const Execute& execute,
                            const Counts& here, const Counts& counts) {
  std::mt19937_64 random(seed);
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < test.size; ++rank) {
    inputs.emplace_back(test.input_count(rank) * item_size(test.element));
    fill(random, test.element, test.reduction.kind, inputs.back());
  }
  std::vector<std::unique_ptr<Memory>> memories(inputs.size());
  std::vector<Call> calls(inputs.size());
  for (int rank = 0; rank < test.size; ++rank) {
    if (!here(rank)) continue;
    const auto at = static_cast<std::size_t>(rank);
    memories[at] = std::make_unique<Memory>(test, rank, inputs[at]);
    calls[at] = test.call(rank, memories[at]->given, memories[at]->output);
    check(calls[at], rank, test.size);
  }
  if (std::string wrong = execute(calls); !wrong.empty()) return wrong;

  for (int rank = 0; rank < test.size; ++rank) {
    if (!counts(rank)) continue;
    const auto at = static_cast<std::size_t>(rank);
    const Memory& memory = *memories[at];
    const Bytes wanted = expected_of(test, inputs, rank);
    if (!memory.guards_hold()) return fmt::format("rank {} wrote outside its output", rank);
    if (!test.in_place && memory.input != inputs[at])
      return fmt::format("rank {} changed its input", rank);
    if (!wanted.empty() && !equal(test, memory.output + result_offset(test, rank), wanted))
      return fmt::format("rank {} has a wrong result", rank);
  }
  return "";
}

}  // namespace

std::string run(const TestCase& test, std::uint64_t seed, const Execute& execute,
                const Counts& counts) {
  return run_and_compare(test, seed, execute, [](int) { return true; }, counts);
}

std::string run(const TestCase& test, std::uint64_t seed, const Execute& execute, int only) {
  const auto here = [only](int rank) { return only < 0 || rank == only; };
  return run_and_compare(test, seed, execute, here, here);
}

std::string run(const TestCase& test, std::uint64_t seed) {
  return run(test, seed, [&](const std::vector<Call>& calls) -> std::string {
    TestNetwork network(test.size, seed);
    std::vector<std::unique_ptr<ScheduleRunner>> runners;
    for (int rank = 0; rank < test.size; ++rank) {
      const Call& call = calls[static_cast<std::size_t>(rank)];
      const Place place = {rank, test.size, test.hosts};
      if (!takes(*test.row, call, place)) return "the algorithm does not take the call";
      runners.push_back(std::make_unique<ScheduleRunner>(
          network.wire(rank), call, build(*test.row, call, place), Slot{1, 2, 3, 0}));
    }
    return drive(network, runners);
  });
}

Reduction composition() {
  return Reduction::of(
      [](std::byte* into, const std::byte* from, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
          std::uint32_t f[2];
          std::uint32_t g[2];
          std::memcpy(f, into + 8 * i, 8);
          std::memcpy(g, from + 8 * i, 8);
          const std::uint32_t both[] = {f[0] * g[0], f[1] * g[0] + g[1]};
          std::memcpy(into + 8 * i, both, 8);
        }
      },
      false);
}

Reduction addition() {
  return Reduction::of([](std::byte* into, const std::byte* from, std::size_t count) {
    for (std::size_t i = 0; i < 2 * count; ++i) {
      std::uint32_t a = 0;
      std::uint32_t b = 0;
      std::memcpy(&a, into + 4 * i, 4);
      std::memcpy(&b, from + 4 * i, 4);
      a += b;
      std::memcpy(into + 4 * i, &a, 4);
    }
  });
}

}  // namespace muster::comm::collective
