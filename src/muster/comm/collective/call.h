#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "muster/comm/collective/element.h"
#include "muster/comm/collective/reduction.h"

namespace muster::comm::collective {

enum class Operation : std::uint8_t {
  barrier,
  broadcast,
  scatter,
  gather,
  reduce,
  allreduce,
  allgather,
  reduce_scatter,
  all_to_all
};

inline constexpr std::array kOperations = {
    Operation::barrier,   Operation::broadcast,      Operation::scatter,
    Operation::gather,    Operation::reduce,         Operation::allreduce,
    Operation::allgather, Operation::reduce_scatter, Operation::all_to_all};

[[nodiscard]] std::string_view name(Operation operation);
[[nodiscard]] constexpr bool is_rooted(Operation operation) {
  return operation >= Operation::broadcast && operation <= Operation::reduce;
}
[[nodiscard]] constexpr bool is_reducing(Operation operation) {
  return operation == Operation::reduce || operation == Operation::allreduce ||
         operation == Operation::reduce_scatter;
}

/// One rank's part of a collective. n is the size of the group; blocks lie one after the other in
/// the order of ranks.
///
/// | operation      | input                    | output                   |
/// | broadcast      | count, at the root       | count                    |
/// | scatter        | n blocks, at the root    | one block                |
/// | gather         | one block                | n blocks, at the root    |
/// | reduce         | count                    | count, at the root       |
/// | allreduce      | count                    | count                    |
/// | allgather      | one block                | n blocks                 |
/// | reduce_scatter | n blocks                 | one block                |
/// | all_to_all     | n blocks, one for each   | n blocks, one from each  |
///
/// A block has `count` items, or `counts[r]` for rank r. In place (`input == output`): broadcast,
/// reduce, allreduce and all_to_all replace the items; for scatter and gather at the root and for
/// allgather the rank's own block already lies at its place among the n; reduce_scatter puts its
/// block at the beginning, and what follows it is undefined. For scatter, gather and allgather the
/// smaller buffer may also be that place itself. Else input and output lie apart.
struct Call {
  Operation operation = Operation::barrier;
  Element element = Element::u8;
  Reduction reduction = {};
  int root = 0;
  std::size_t count = 0;
  /// Items of each rank's block when they differ, else empty. gather and scatter need them at the
  /// root only: elsewhere they are empty and `count` is the rank's own. For all_to_all the blocks
  /// of the input.
  std::vector<std::size_t> counts = {};
  std::vector<std::size_t> receive_counts = {};  ///< all_to_all: the blocks of the output
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  bool variable = false;  ///< a form with different counts, also where `counts` may be empty
  /// `hash_of_shape` of the array whose shape has to be the same on all ranks, where arrays have
  /// shapes; not looked at where counts differ.
  std::uint16_t shape = 0;

  [[nodiscard]] bool in_place() const { return input == output && output != nullptr; }
};

/// Where blocks begin and end in a buffer of blocks, in bytes.
class Blocks {
 public:
  /// n blocks of `bytes` each.
  Blocks(std::size_t n, std::size_t bytes);
  /// n blocks of different sizes, given in items.
  Blocks(const std::vector<std::size_t>& counts, std::size_t item_size);
  /// `count` items shared out over n blocks as evenly as possible: the first ones get one more.
  [[nodiscard]] static Blocks split(std::size_t count, std::size_t n, std::size_t item_size);

  [[nodiscard]] std::size_t size() const { return starts_.size() - 1; }
  [[nodiscard]] std::size_t start(std::size_t block) const { return starts_[block]; }
  [[nodiscard]] std::size_t bytes(std::size_t block) const {
    return starts_[block + 1] - starts_[block];
  }
  /// Of the blocks first … last-1.
  [[nodiscard]] std::size_t bytes(std::size_t first, std::size_t last) const {
    return starts_[last] - starts_[first];
  }
  [[nodiscard]] std::size_t total() const { return starts_.back(); }

 private:
  std::vector<std::size_t> starts_;  // one more than there are blocks
};

/// The blocks of the larger buffer of scatter, gather, allgather and reduce_scatter, and of the
/// input of all_to_all.
[[nodiscard]] Blocks blocks(const Call& call, int size);
/// The blocks of the output of all_to_all.
[[nodiscard]] Blocks receive_blocks(const Call& call, int size);

/// Whether every rank knows how many items each block has.
[[nodiscard]] bool all_know_counts(const Call& call);

/// Bytes of the whole operation as the choice of an algorithm sees it: the larger of a rank's two
/// buffers, at the rank where it is largest.
[[nodiscard]] std::size_t total_bytes(const Call& call, int size);

/// Bytes before the rank's own block among the n.
[[nodiscard]] std::size_t own_start(const Call& call, int rank);
/// Whether input and output share memory in a way in which the call cannot work.
[[nodiscard]] bool overlaps(const Call& call, int rank, int size);

/// Whether a glance shows that a call is right, as most are: counts alike, a sum if it reduces, and
/// buffers that are the same or lie apart, however much of them is used.
[[nodiscard]] inline bool is_plain(const Call& call, int size) {
  constexpr std::size_t kFewItems = std::size_t{1} << 40;  // their bytes can be counted
  const auto input = reinterpret_cast<std::uintptr_t>(call.input);
  const auto output = reinterpret_cast<std::uintptr_t>(call.output);
  const std::size_t most = call.count * item_size(call.element) * static_cast<std::size_t>(size);
  return call.count < kFewItems && !call.variable && call.counts.empty() &&
         call.receive_counts.empty() && call.root >= 0 && call.root < size &&
         call.reduction.kind == ReductionKind::sum && input != 0 && output != 0 &&
         (input == output || input + most <= output || output + most <= input);
}
/// Throws std::invalid_argument for a call that cannot be right: root outside 0 … size-1, a wrong
/// number of counts, a buffer that is missing, buffers that overlap, a reduction that its element
/// does not have.
void check_in_full(const Call& call, int rank, int size);
inline void check(const Call& call, int rank, int size) {
  if (!is_plain(call, size)) check_in_full(call, rank, size);
}

/// More items than a block has; so many do not fit into the memory of a process.
inline constexpr std::size_t kTooManyItems = std::size_t{1} << 48;

/// What must agree between the ranks of one call. Travels with its messages, so that a rank that
/// called something else is found out instead of waited for.
struct Signature {
  Operation operation = Operation::barrier;
  Element element = Element::u8;
  ReductionKind reduction = ReductionKind::sum;
  std::uint8_t variable : 1 = 0;
  std::uint8_t in_order : 1 = 0;  ///< the reduction is not commutative
  std::uint8_t unused : 6 = 0;
  std::int16_t root = 0;
  /// A hash of the rooted calls before this one with the same tag. In those not all ranks wait for
  /// each other, so two that both take themselves for the root find out at the next call.
  std::uint16_t earlier = 0;
  std::uint64_t count : 48 = 0;  ///< items of a block
  /// As in `Call`. For variable counts these 64 bits are a hash of the counts that all know.
  std::uint64_t shape : 16 = 0;
  bool operator==(const Signature&) const = default;
};
/// The same, as it is compared and hashed.
using SignatureWords = std::array<std::uint64_t, 2>;
static_assert(sizeof(Signature) == sizeof(SignatureWords));

[[nodiscard]] std::uint64_t hash_of(const std::vector<std::size_t>& counts);
/// 0 up to one dimension: then the count says it all.
[[nodiscard]] std::uint16_t hash_of_shape(const std::vector<std::size_t>& shape);

/// Of a call; `earlier` as there. Every small call makes one, and reads it as words: so it is made
/// as words, in registers. Byte by byte it would have to be in memory before it could be read.
[[nodiscard, gnu::always_inline]] inline Signature signature(const Call& call,
                                                             std::uint16_t earlier = 0) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t what = static_cast<std::uint64_t>(call.operation);
  what |= static_cast<std::uint64_t>(earlier) << 48;
  std::uint64_t count = 0;
  if (call.operation == Operation::barrier) {
    what |= static_cast<std::uint64_t>(Signature{}.element) << 8;
  } else {
    what |= static_cast<std::uint64_t>(call.element) << 8;
    if (is_reducing(call.operation)) {
      what |= static_cast<std::uint64_t>(call.reduction.kind) << 16;
      what |= static_cast<std::uint64_t>(call.reduction.commutative ? 0 : 1) << 25;
    }
    if (is_rooted(call.operation))
      what |= static_cast<std::uint64_t>(static_cast<std::uint16_t>(call.root)) << 32;
    count = call.count | static_cast<std::uint64_t>(call.shape) << 48;
    if (call.variable) [[unlikely]] {
      what |= std::uint64_t{1} << 24;
      count = all_know_counts(call) ? hash_of(call.counts) : 0;
    }
  }
  return std::bit_cast<Signature>(SignatureWords{what, count});
}
/// What `earlier` is in the call that follows.
[[nodiscard]] inline std::uint16_t earlier_after(const Signature& signature) {
  if (!is_rooted(signature.operation)) return signature.earlier;  // all ranks compare these
  const auto words = std::bit_cast<SignatureWords>(signature);
  return static_cast<std::uint16_t>((words[0] ^ std::rotl(words[1], 7)) * 0x9e37'79b9'7f4a'7c15 >>
                                    48);
}
/// "allreduce of 1000 float32 by sum", "reduce of 3 int8 by a function in the order of ranks to
/// rank 0", "broadcast of 8 uint8 from rank 2".
[[nodiscard]] std::string describe(const Signature& signature);
/// "rank 1 calls barrier, rank 0 calls allreduce of 4 float32 by sum", "rank 1 calls allreduce of 6
/// float32 by sum in another shape than rank 0; …". Where both are the same, ranks disagree about
/// counts that not all of them know.
[[nodiscard]] std::string difference(int rank, const Signature& its, int other,
                                     const Signature& others);

}  // namespace muster::comm::collective
