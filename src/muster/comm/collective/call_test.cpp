#include "muster/comm/collective/call.h"

#include <array>
#include <bit>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::comm::collective {
namespace {

std::byte items[64];

Call allreduce() {
  Call call;
  call.operation = Operation::allreduce;
  call.element = Element::f32;
  call.count = 4;
  call.input = items;
  call.output = items;
  return call;
}

void expect_wrong(const Call& call, int rank, int size, const std::string& text) {
  try {
    check(call, rank, size);
    FAIL() << "no error; expected: " << text;
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(text));
  }
}

TEST(Call, IsFineWhenItsShapeAndBuffersAre) { EXPECT_NO_THROW(check(allreduce(), 0, 3)); }

TEST(Call, NamesARootThatDoesNotExist) {
  Call call = allreduce();
  call.operation = Operation::broadcast;
  call.root = 3;
  expect_wrong(call, 0, 3, "[broadcast] root is 3, and the group has the ranks 0 to 2");
}

TEST(Call, NamesABufferThatIsMissing) {
  Call call = allreduce();
  call.output = nullptr;
  expect_wrong(call, 1, 3, "[allreduce] rank 1 gives no output, room for 4 float32 is needed");
  call.input = nullptr;
  expect_wrong(call, 1, 3, "gives no input, 4 float32 are needed");
}

TEST(Call, CountsTheCounts) {
  Call call = allreduce();
  call.operation = Operation::allgather;
  call.variable = true;
  call.counts = {1, 2};
  expect_wrong(call, 0, 3, "[allgather] counts has 2 entries, and the group 3 ranks");
}

TEST(Call, RefusesDifferentCountsWhereThereIsNoSuchForm) {
  Call call = allreduce();
  call.variable = true;
  expect_wrong(call, 0, 3, "[allreduce] has no form with different counts");
}

TEST(Call, RefusesAReductionThatTheElementDoesNotHave) {
  Call call = allreduce();
  call.element = Element::i32;
  call.reduction = ReductionKind::mean;
  expect_wrong(call, 0, 3, "[allreduce] mean is not defined for int32");
}

/// Input at `in` and output at `out` of a buffer, both counted in items; rank 1 of 3.
std::string overlap(Operation operation, std::size_t in, std::size_t out) {
  std::array<float, 64> buffer{};
  Call call = allreduce();
  call.operation = operation;
  call.count = 4;
  call.root = 1;
  call.input = reinterpret_cast<const std::byte*>(buffer.data() + in);
  call.output = reinterpret_cast<std::byte*>(buffer.data() + out);
  try {
    check(call, 1, 3);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "fine";
}

TEST(Call, RefusesBuffersThatOverlap) {
  EXPECT_EQ(overlap(Operation::allreduce, 0, 3),
            "[allreduce] input and output overlap; they are the same memory, to work in place, or "
            "lie apart");
  for (const Operation operation :
       {Operation::scatter, Operation::gather, Operation::reduce, Operation::allreduce,
        Operation::allgather, Operation::reduce_scatter, Operation::all_to_all}) {
    EXPECT_NE(overlap(operation, 1, 0), "fine") << name(operation);
    EXPECT_NE(overlap(operation, 0, 1), "fine") << name(operation);
    EXPECT_EQ(overlap(operation, 0, 0), "fine") << name(operation);
    EXPECT_EQ(overlap(operation, 0, 12), "fine") << name(operation);
    EXPECT_EQ(overlap(operation, 12, 0), "fine") << name(operation);
  }
}

TEST(Call, RefusesMoreItemsThanCanBeCounted) {
  std::array<double, 8> buffer{};
  Call call = allreduce();
  call.element = Element::f64;
  call.input = reinterpret_cast<const std::byte*>(buffer.data());
  call.output = reinterpret_cast<std::byte*>(buffer.data() + 4);
  for (const Operation operation :
       {Operation::allreduce, Operation::allgather, Operation::gather}) {
    call.operation = operation;
    for (int bits = 40; bits < 64; ++bits) {
      call.count = std::size_t{1} << bits;
      for (const int size : {2, 4, 512}) {
        const bool countable =
            bits < 48 && bits + 3 + std::countr_zero(static_cast<unsigned>(size)) < 63;
        expect_wrong(call, 0, size, countable ? "overlap" : "are more than memory can hold");
      }
    }
  }
  call.operation = Operation::allgather;
  call.count = 1;
  call.variable = true;
  call.counts = {1, std::size_t{1} << 59, std::size_t{1} << 59};
  expect_wrong(call, 0, 3,
               "[allgather] 576460752303423488 float64 in a block of one of 3 ranks are more than "
               "memory can hold");
}

TEST(Call, TakesABlockThatLiesAtItsPlace) {
  EXPECT_EQ(overlap(Operation::scatter, 0, 4), "fine");
  EXPECT_EQ(overlap(Operation::gather, 4, 0), "fine");
  EXPECT_EQ(overlap(Operation::allgather, 4, 0), "fine");
  EXPECT_NE(overlap(Operation::reduce_scatter, 0, 4), "fine");
  EXPECT_NE(overlap(Operation::allgather, 8, 0), "fine");  // that of rank 2
}

TEST(Signature, TellsAFunctionThatIsNotCommutative) {
  Call call = allreduce();
  call.reduction = Reduction::of<float>([](float a, float b) { return a + b; });
  Call ordered = call;
  ordered.reduction.commutative = false;
  EXPECT_EQ(difference(1, signature(ordered), 0, signature(call)),
            "rank 1 calls allreduce of 4 float32 by a function in the order of ranks, rank 0 calls "
            "allreduce of 4 float32 by a function");
}

TEST(Signature, DiffersWhenShapesOrOperationsDiffer) {
  const Signature one = signature(allreduce());
  EXPECT_EQ(one, signature(allreduce()));
  Call call = allreduce();
  call.count = 5;
  EXPECT_NE(one, signature(call));
  call = allreduce();
  call.reduction = ReductionKind::max;
  EXPECT_NE(one, signature(call));
  EXPECT_EQ(describe(one), "allreduce of 4 float32 by sum");
}

TEST(Signature, HoldsWhatTheCallSays) {
  Call call = allreduce();
  call.operation = Operation::reduce;
  call.root = 258;
  call.count = 77;
  call.shape = 0xbeef;
  call.reduction = ReductionKind::max;
  const Signature made = signature(call, 0xabcd);
  EXPECT_EQ(made.operation, Operation::reduce);
  EXPECT_EQ(made.element, Element::f32);
  EXPECT_EQ(made.reduction, ReductionKind::max);
  EXPECT_EQ(made.variable, 0);
  EXPECT_EQ(made.in_order, 0);
  EXPECT_EQ(made.unused, 0);
  EXPECT_EQ(made.root, 258);
  EXPECT_EQ(made.earlier, 0xabcd);
  EXPECT_EQ(made.count, 77U);
  EXPECT_EQ(made.shape, 0xbeefU);
  EXPECT_EQ(signature(Call{}), Signature{});  // a barrier
}

TEST(Signature, TellsWhoseShapeDiffers) {
  Call call = allreduce();
  call.count = 6;
  Call other = call;
  call.shape = hash_of_shape({2, 3});
  other.shape = hash_of_shape({3, 2});
  EXPECT_EQ(describe(signature(call)), "allreduce of 6 float32 by sum");
  EXPECT_EQ(difference(1, signature(call), 0, signature(other)),
            "rank 1 calls allreduce of 6 float32 by sum in another shape than rank 0; where only "
            "the items should count, both pass array.ravel()");
}

TEST(Signature, OfMostItemsHoldsTheirNumber) {
  Call call = allreduce();
  call.count = kTooManyItems - 1;
  EXPECT_EQ(signature(call).count, kTooManyItems - 1);
  EXPECT_EQ(signature(call).shape, 0U);
  call.shape = 1;
  EXPECT_EQ(signature(call).count, kTooManyItems - 1);
}

TEST(Signature, OfDifferentCountsHasNoShape) {
  Call call = allreduce();
  call.operation = Operation::allgather;
  call.variable = true;
  call.counts = {4, 2};
  const Signature made = signature(call);
  EXPECT_EQ(std::bit_cast<SignatureWords>(made)[1], hash_of(call.counts));
  call.shape = 1;
  EXPECT_EQ(signature(call), made);
  call.counts = {2, 4};
  EXPECT_EQ(difference(1, signature(call), 0, made),
            "rank 1 and rank 0 both call allgather with different counts of float32, but not with "
            "the same counts");
}

TEST(Shape, OfOneDimensionIsItsCount) {
  EXPECT_EQ(hash_of_shape({}), 0);
  EXPECT_EQ(hash_of_shape({6}), 0);
}

TEST(Shape, OfAsManyItemsIsAnother) {
  for (std::size_t rows = 1; rows <= 64; ++rows) {
    for (std::size_t columns = 1; columns <= 64; ++columns) {
      const auto shape = hash_of_shape({rows, columns});
      EXPECT_NE(shape, 0);
      EXPECT_TRUE(rows == columns || shape != hash_of_shape({columns, rows}))
          << rows << " " << columns;
      EXPECT_NE(shape, hash_of_shape({rows, columns, 1})) << rows << " " << columns;
    }
  }
}

TEST(Signature, DoesNotCountWhatOnlyTheRootKnows) {
  Call root = allreduce();
  root.operation = Operation::gather;
  root.variable = true;
  root.counts = {4, 2};
  Call other = root;
  other.counts.clear();
  other.count = 2;
  EXPECT_EQ(signature(root), signature(other));
}

TEST(Signature, RemembersRootedCallsOnly) {
  Signature one = signature(allreduce());
  EXPECT_EQ(earlier_after(one), 0);
  Call call = allreduce();
  call.operation = Operation::broadcast;
  const auto from_first = earlier_after(signature(call));
  call.root = 1;
  EXPECT_NE(from_first, 0);
  EXPECT_NE(from_first, earlier_after(signature(call)));
  const auto from_second = earlier_after(signature(call));
  call.shape = 0x8000;
  EXPECT_NE(from_second, earlier_after(signature(call)));
  one.earlier = from_first;
  EXPECT_EQ(earlier_after(one), from_first);
}

TEST(Blocks, ShareItemsOutEvenly) {
  const Blocks blocks = Blocks::split(10, 4, 8);
  EXPECT_EQ(blocks.bytes(0), 24u);
  EXPECT_EQ(blocks.bytes(1), 24u);
  EXPECT_EQ(blocks.bytes(2), 16u);
  EXPECT_EQ(blocks.start(3), 64u);
  EXPECT_EQ(blocks.total(), 80u);
}

}  // namespace
}  // namespace muster::comm::collective
