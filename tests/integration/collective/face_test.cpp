#include <array>
#include <complex>
#include <numeric>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/group.h"
#include "muster/comm/errc.h"
#include "tests/integration/collective/ranks.h"

namespace muster::comm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Counts = std::vector<std::size_t>;

constexpr std::chrono::seconds kPatience{30};

template <class T>
T number(int value) {
  return static_cast<T>(value);
}
template <>
collective::BFloat16 number(int value) {
  return collective::to_bfloat16(static_cast<float>(value));
}
template <>
collective::Float16 number(int value) {
  return collective::to_float16(static_cast<float>(value));
}
template <>
std::complex<float> number(int value) {
  return {static_cast<float>(value), static_cast<float>(-3 * value)};
}
template <>
std::complex<double> number(int value) {
  return {static_cast<double>(value), static_cast<double>(-3 * value)};
}

template <class T>
std::vector<T> numbers(const std::vector<int>& values) {
  std::vector<T> result;
  for (const int value : values) result.push_back(number<T>(value));
  return result;
}

/// first, first + 1, …
template <class T>
std::vector<T> row(std::size_t count, int first) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), first);
  return numbers<T>(values);
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& items) {
  const auto bytes = std::as_bytes(std::span(items));
  return {bytes.begin(), bytes.end()};
}

Result<void> over(Result<Handle> handle) {
  return handle ? handle->wait(kPatience) : Result<void>(fail(handle.error()));
}

// `name(…)`, or `iname(…)` and its end.
#define CALL(name, ...) \
  require(started_ ? over(group_.i##name(__VA_ARGS__)) : group_.name(__VA_ARGS__))

/// Every call of a group of three, out of place and in place. Rank r's items are 10 r + 0, 1, ….
template <class T>
class Face {
 public:
  Face(Group& group, bool started)
      : group_(group),
        rank_(group.rank()),
        r_(static_cast<std::size_t>(rank_)),
        started_(started) {}

  void call_everything() {
    CALL(barrier);
    CALL(barrier, {.tag = 3});
    broadcast();
    scatter();
    scatterv();
    gather();
    gatherv();
    reduce();
    allreduce();
    allgather();
    allgatherv();
    reduce_scatter();
    all_to_all();
    all_to_allv();
    send_and_receive();
  }

 private:
  using Vector = std::vector<T>;

  static void expect(const Vector& got, const std::vector<int>& wanted, const char* what) {
    EXPECT_EQ(bytes_of(got), bytes_of(numbers<T>(wanted))) << what;
  }
  [[nodiscard]] Vector own(std::size_t count) const { return row<T>(count, 10 * rank_); }

  void broadcast() {
    Vector data = own(4);
    CALL(broadcast, data, 1);
    expect(data, {10, 11, 12, 13}, "broadcast");
    // The root may give what it may not change, and parts of something larger are enough.
    std::array<T, 3> part = {};
    const Vector given = own(2);
    if (rank_ == 2)
      CALL(broadcast, given, 2, {.tag = 1});
    else
      CALL(broadcast, std::span(part).first(2), 2, {.tag = 1});
    if (rank_ != 2) expect({part.begin(), part.end()}, {20, 21, 0}, "broadcast to a part");
  }

  void scatter() {
    Vector block(2);
    CALL(scatter, own(6), block, 1);
    expect(block, {10 + 2 * rank_, 11 + 2 * rank_}, "scatter");

    Vector whole = own(6);
    block = Vector(2);
    if (rank_ == 1)
      CALL(scatter, whole, whole, 1);
    else
      CALL(scatter, Vector(), block, 1);
    expect(rank_ == 1 ? Vector{whole[2], whole[3]} : block, {10 + 2 * rank_, 11 + 2 * rank_},
           "scatter in place");
  }

  void scatterv() {
    const Counts counts = {2, 0, 3};
    const std::vector<std::vector<int>> wanted = {{20, 21}, {}, {22, 23, 24}};
    Vector block(counts[r_]);
    CALL(scatterv, own(5), counts, block, 2);
    expect(block, wanted[r_], "scatterv");

    Vector whole = own(5);
    block = Vector(counts[r_]);
    if (rank_ == 2)
      CALL(scatterv, whole, counts, whole, 2);
    else
      CALL(scatterv, Vector(), Counts(), block, 2);
    expect(rank_ == 2 ? Vector{whole.begin() + 2, whole.end()} : block, wanted[r_],
           "scatterv in place");
  }

  void gather() {
    const std::vector<int> wanted = {0, 1, 10, 11, 20, 21};
    Vector all(rank_ == 1 ? 6 : 0);
    CALL(gather, own(2), all, 1);
    if (rank_ == 1) expect(all, wanted, "gather");

    if (rank_ == 1) {
      all = numbers<T>({0, 0, 10, 11, 0, 0});
      CALL(gather, all, all, 1);
      expect(all, wanted, "gather in place");
    } else {
      CALL(gather, own(2), Vector(), 1);
    }
  }

  void gatherv() {
    const Counts counts = {1, 0, 2};
    Vector all(rank_ == 0 ? 3 : 0);
    CALL(gatherv, own(counts[r_]), all, counts, 0);
    if (rank_ == 0) expect(all, {0, 20, 21}, "gatherv");

    if (rank_ == 0) {
      all = numbers<T>({0, 1, 1});
      CALL(gatherv, all, all, counts, 0);
      expect(all, {0, 20, 21}, "gatherv in place");
    } else {
      CALL(gatherv, own(counts[r_]), Vector(), Counts(), 0);
    }
  }

  void reduce() {
    Vector result(rank_ == 2 ? 3 : 0);
    CALL(reduce, own(3), result, ReductionKind::sum, 2);
    if (rank_ == 2) expect(result, {30, 33, 36}, "reduce");

    Vector data = own(3);
    CALL(reduce, data, data, {}, 0);
    if (rank_ == 0) expect(data, {30, 33, 36}, "reduce in place");
  }

  void allreduce() {
    Vector result(3);
    CALL(allreduce, own(3), result, ReductionKind::sum);
    expect(result, {30, 33, 36}, "allreduce");

    Vector data = own(3);
    CALL(allreduce, data);
    expect(data, {30, 33, 36}, "allreduce in place");

    // What comes last of all, for which the order of ranks has to be kept.
    const auto last =
        Reduction::of([](std::byte* into, const std::byte* from,
                         std::size_t count) { std::memcpy(into, from, count * sizeof(T)); },
                      false);
    data = own(3);
    CALL(allreduce, data, last, {.tag = 2});
    expect(data, {20, 21, 22}, "allreduce by a function");
  }

  void allgather() {
    Vector all(6);
    CALL(allgather, own(2), all);
    expect(all, {0, 1, 10, 11, 20, 21}, "allgather");

    all = Vector(6);
    std::ranges::copy(own(2), all.begin() + 2 * rank_);
    CALL(allgather, all, all);
    expect(all, {0, 1, 10, 11, 20, 21}, "allgather in place");
  }

  void allgatherv() {
    const Counts counts = {1, 0, 2};
    Vector all(3);
    CALL(allgatherv, own(counts[r_]), all, counts);
    expect(all, {0, 20, 21}, "allgatherv");

    all = Vector(3);
    std::ranges::copy(own(counts[r_]), all.begin() + (rank_ == 2 ? 1 : 0));
    CALL(allgatherv, all, all, counts);
    expect(all, {0, 20, 21}, "allgatherv in place");
  }

  void reduce_scatter() {
    const std::vector<int> wanted = {30 + 6 * rank_, 33 + 6 * rank_};
    Vector block(2);
    CALL(reduce_scatter, own(6), block);
    expect(block, wanted, "reduce_scatter");

    Vector whole = own(6);
    CALL(reduce_scatter, whole, whole, ReductionKind::sum);
    expect({whole.begin(), whole.begin() + 2}, wanted, "reduce_scatter in place");
  }

  void all_to_all() {
    const std::vector<int> wanted = {rank_, 10 + rank_, 20 + rank_};
    Vector received(3);
    CALL(all_to_all, own(3), received);
    expect(received, wanted, "all_to_all");

    Vector data = own(3);
    CALL(all_to_all, data, data);
    expect(data, wanted, "all_to_all in place");
  }

  /// Rank r sends r items to each.
  void all_to_allv() {
    Vector received(3);
    CALL(all_to_allv, own(3 * r_), Counts(3, r_), received, Counts{0, 1, 2});
    expect(received, {10 + rank_, 20 + 2 * rank_, 21 + 2 * rank_}, "all_to_allv");
  }

  void send_and_receive() {
    const int next = (rank_ + 1) % 3;
    const int before = (rank_ + 2) % 3;
    const CallOptions options = {.tag = 5, .timeout = kPatience};
    Vector received(2);
    if (started_) {
      auto receive = group_.irecv(before, received, options);
      require(over(group_.isend(next, own(2), options)));
      require(over(std::move(receive)));
    } else {
      require(group_.send(next, own(2), options));
      require(group_.recv(before, received, options));
    }
    expect(received, {10 * before, 10 * before + 1}, "send and recv");
  }

  Group& group_;
  int rank_;
  std::size_t r_;
  bool started_;
};
#undef CALL

template <class... Types>
void call_everything_with(Group& group) {
  for (const bool started : {false, true}) (Face<Types>(group, started).call_everything(), ...);
}

class FaceOn : public OnPlanes {};

TEST_P(FaceOn, EveryCallWaitsOrIsStartedInPlaceAndOutOfPlaceWithEveryType) {
  as_threads(3, [&](int rank) {
    Group group = join_or_throw(options(3, rank));
    call_everything_with<char, long long, unsigned long long, std::int8_t, std::uint8_t,
                         std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t,
                         std::uint64_t, collective::BFloat16, collective::Float16, float, double,
                         std::complex<float>, std::complex<double>>(group);
    require(group.barrier());
  });
}

TEST_P(FaceOn, MoreMemoryThanThereIsCannotBeAllocated) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2}) {
      const auto memory = group.allocate(bytes);
      ASSERT_FALSE(memory) << bytes;
      EXPECT_EQ(memory.error().code(), std::errc::not_enough_memory) << memory.error().message();
    }
    EXPECT_TRUE(group.allocate(1));
    require(group.barrier());
  });
}

TEST_P(FaceOn, CallsAreMadeFromBytesToo) {
  as_threads(3, [&](int rank) {
    Group group = join_or_throw(options(3, rank));
    auto memory = group.allocate(3 * sizeof(int));
    ASSERT_TRUE(memory) << memory.error().message();
    collective::Call call;
    call.operation = collective::Operation::allgather;
    call.element = Element::i32;
    call.count = 1;
    call.input = reinterpret_cast<const std::byte*>(&rank);
    call.output = memory->bytes.data();
    for (const bool started : {false, true}) {
      std::ranges::fill(memory->bytes, std::byte{});
      require(started ? over(group.start(call)) : group.run(call));
      const auto* const all = reinterpret_cast<const int*>(memory->bytes.data());
      EXPECT_THAT(std::vector(all, all + 3), ElementsAre(0, 1, 2));
    }

    std::array<std::byte, 2> received{};
    const std::array<std::byte, 2> sent = {std::byte{7}, std::byte{8}};
    const CallOptions options = {.timeout = kPatience};
    if (rank == 0) {
      require(group.send_bytes(2, sent, Element::u8, options));
      require(over(group.start_send(2, sent, Element::u8, options)));
    } else if (rank == 2) {
      require(group.receive_bytes(0, received, Element::u8, options));
      EXPECT_EQ(received, sent);
      require(over(group.start_receive(0, received, Element::u8, options)));
      EXPECT_EQ(received, sent);
    }
    require(group.barrier());
  });
}

TEST_P(FaceOn, ABlockMayLieAtItsPlaceAmongAllAndNowhereElseInThem) {
  as_threads(3, [&](int rank) {
    Group group = join_or_throw(options(3, rank));
    std::vector<int> all(6, rank);
    const auto place = [&](int of) { return std::span(all).subspan(2 * std::size_t(of), 2); };
    require(group.allgather(place(rank), all));
    EXPECT_THAT(all, ElementsAre(0, 0, 1, 1, 2, 2));
    require(group.gather(place(rank), all, 2));
    EXPECT_THAT(all, ElementsAre(0, 0, 1, 1, 2, 2));
    require(group.scatter(all, place(rank), 1));
    EXPECT_THAT(all, ElementsAre(0, 0, 1, 1, 2, 2));
    for (int other = 0; other < 3; ++other) {
      if (other == rank) continue;
      EXPECT_THROW((void)group.allgather(place(other), all), std::invalid_argument);
      EXPECT_THROW((void)group.gather(place(other), all, rank), std::invalid_argument);
      EXPECT_THROW((void)group.scatter(all, place(other), rank), std::invalid_argument);
      EXPECT_THROW((void)group.allgatherv(place(other), all, {2, 2, 2}), std::invalid_argument);
    }
    EXPECT_THROW((void)group.allreduce(std::span(all).first(3), std::span(all).subspan(2, 3)),
                 std::invalid_argument);
    require(group.barrier());
  });
}

TEST_P(FaceOn, AGroupTellsWhoIsInIt) {
  as_threads(3, [&](int rank) {
    GroupOptions named = options(3, rank);
    named.member = std::string(1, static_cast<char>('a' + rank));
    Group group = join_or_throw(std::move(named));
    EXPECT_EQ(group.name(), "test");
    EXPECT_THAT(group.members(), ElementsAre("a", "b", "c"));
    EXPECT_THAT(group.lost(), IsEmpty());

    const auto agreed = group.agree(rank == 1 ? 0b110 : 0b011, kPatience);
    ASSERT_TRUE(agreed) << agreed.error().message();
    EXPECT_EQ(agreed->bits, 0b010u);
    EXPECT_THAT(agreed->ranks, ElementsAre(0, 1, 2));

    auto alone = group.split(rank == 2 ? -1 : 7);
    ASSERT_TRUE(alone) << alone.error().message();
    EXPECT_EQ(alone->size(), rank == 2 ? 1 : 2);
    EXPECT_EQ(alone->name(), rank == 2 ? "test/-1" : "test/7");
    require(alone->barrier());

    auto shrunk = group.shrink(kPatience);
    ASSERT_TRUE(shrunk) << shrunk.error().message();
    EXPECT_THAT(shrunk->lost, IsEmpty());
    EXPECT_EQ(shrunk->group.epoch(), 2u);
    EXPECT_THAT(shrunk->group.members(), ElementsAre("a", "b", "c"));
    require(shrunk->group.barrier());
  });
}

INSTANTIATE_TEST_SUITE_P(Planes, FaceOn,
                         testing::Values(Case{Plane::shared, "auto"}, Case{Plane::network, "auto"},
                                         Case{Plane::network, "shm"}, Case{Plane::network, "zmq"},
                                         Case{Plane::network, "ucx"}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
