#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "muster/base/result.h"
#include "muster/comm/collective/call.h"
#include "muster/comm/collective/element.h"
#include "muster/comm/collective/handle.h"
#include "muster/comm/collective/options.h"
#include "muster/comm/collective/reduction.h"
#include "muster/comm/driver/driver.h"

namespace muster::comm {

namespace collective {
struct FormationOptions;
}

class Proxy;
struct Shrunk;

using collective::Element;
using collective::Reduction;
using collective::ReductionKind;

/// Items in memory one after the other: a span, a vector, an array.
template <class Range>
concept Items = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>;

/// Processes that compute together, numbered 0 to size-1.
///
/// Calls match between ranks by their tag, and among calls with the same tag by the order in which
/// each rank starts them; so threads that use one group at the same time give their calls different
/// tags, or keep an order. Calls with one tag are carried out one after the other. Ranks that call
/// something else get `Errc::mismatch` with the rank and both calls.
///
/// A call that returned without error is right. When a rank is lost (killed, paused or cut off for
/// longer than the lease), left, gave up a call or called something else, every call that is under
/// way ends with an error that says so, and so does every later call, until `shrink` makes a group
/// of those that are left.
///
/// Thread-safe, but for moving and destroying. A group inherited through fork fails every call with
/// `Errc::forked`. Buffers that are wrong by themselves (too small, overlapping) and a root that is
/// none throw std::invalid_argument before anything is sent.
class Group {
 public:
  /// Returns when all ranks are there. Throws std::invalid_argument for options that can never be
  /// right.
  [[nodiscard]] static Result<Group> join(GroupOptions options);
  /// A group of a proxy and its peers, which all call this. The proxy may go before the group.
  [[nodiscard]] static Result<Group> from(const Proxy& proxy, FromProxyOptions options = {});
  /// What a launcher set: MUSTER_RANK, MUSTER_SIZE, MUSTER_GROUP, MUSTER_DISCOVERY. They replace
  /// what `options` say about it; the rest of the options counts. Without a rank and a size, a
  /// group of one.
  [[nodiscard]] static Result<Group> from_environment(GroupOptions options = {});

  Group(Group&&) noexcept;
  Group& operator=(Group&&) noexcept;
  /// Leaves: calls of other ranks that still need this one fail.
  ~Group();

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] const std::string& name() const;
  /// How often the members changed: 1 after joining, one more after each `shrink` and `grow`.
  [[nodiscard]] std::uint32_t epoch() const;
  /// The names of the ranks.
  [[nodiscard]] const std::vector<std::string>& members() const;
  /// Ranks that are known to be lost.
  [[nodiscard]] std::vector<int> lost() const;
  /// `Plane::shared` or `Plane::network`.
  [[nodiscard]] Plane plane() const;

  /// A group for each color, of the ranks that gave it, ordered by key and then by rank. All ranks
  /// call it; a negative color gives a group of nobody but this rank.
  [[nodiscard]] Result<Group> split(int color, int key = 0, CallOptions options = {});

  /// A call as it is, for callers that know types only at run time. Throws for what
  /// `collective::check` does not take.
  Result<void> run(const collective::Call& call, const CallOptions& options = {});
  [[nodiscard]] Result<Handle> start(collective::Call call, const CallOptions& options = {});

  Result<void> send_bytes(int to, std::span<const std::byte> data, Element element,
                          const CallOptions& options = {});
  Result<void> receive_bytes(int from, std::span<std::byte> data, Element element,
                             const CallOptions& options = {});
  [[nodiscard]] Result<Handle> start_send(int to, std::span<const std::byte> data, Element element,
                                          const CallOptions& options = {});
  [[nodiscard]] Result<Handle> start_receive(int from, std::span<std::byte> data, Element element,
                                             const CallOptions& options = {});

  /// Memory that the ranks of this host read without a copy when it is the input of a call. Zeroed.
  /// Stays valid after the group, and keeps the group's memory mapped. Ordinary memory where the
  /// plane has none.
  [[nodiscard]] Result<WritableBuffer> allocate(std::size_t bytes);

  /// The bits that all ranks which are still there gave, and those that are there. The same answer
  /// on each of them, whoever is lost meanwhile. Works on a group whose calls fail.
  struct Agreement {
    std::uint64_t bits = 0;
    std::vector<int> ranks;
  };
  [[nodiscard]] Result<Agreement> agree(std::uint64_t bits, Timeout timeout = {});
  /// A group of the ranks that are left, in the same order. All of them call it. This group is of
  /// no use afterwards.
  [[nodiscard]] Result<Shrunk> shrink(Timeout timeout = {});
  /// A group of these ranks and `newcomers` more, which call `join` with the new size and the same
  /// name, and get the last ranks. All ranks call it. This group is of no use afterwards.
  /// A newcomer that dies before all have met is forgotten: another may come in its place until the
  /// timeout. When one dies later, `grow` or the first call ends with `Errc::rank_lost`; then this
  /// group still works, and may grow again.
  [[nodiscard]] Result<Group> grow(int newcomers, Timeout timeout = {});

  /// Leaves: waits, for a few seconds at most, until what this rank said has reached the others,
  /// and lets go of threads, memory and connections, but for what groups made from this one
  /// (`split`, `shrink`, `grow`) and memory from `allocate` still need. Calls in other threads end
  /// with `Errc::closed`, and what they need goes when the last of them has ended. In a function
  /// that a call has called, it waits for nothing, and lets go soon after. Idempotent.
  void close();

  // The collectives. `i…` starts without waiting. A call whose input and output are the same memory
  // works in place; see collective::Call for where its items then lie.

  Result<void> barrier(const CallOptions& options = {}) { return run({}, options); }
  [[nodiscard]] Result<Handle> ibarrier(const CallOptions& options = {}) {
    return start({}, options);
  }

#define MUSTER_COLLECTIVE(name, TYPES, PARAMETERS, ARGUMENTS) \
  template <MUSTER_TYPES TYPES>                               \
  Result<void> name PARAMETERS {                              \
    return run(make_##name ARGUMENTS, options);               \
  }                                                           \
  template <MUSTER_TYPES TYPES>                               \
  [[nodiscard]] Result<Handle> i##name PARAMETERS {           \
    return start(make_##name ARGUMENTS, options);             \
  }
#define MUSTER_TYPES(...) __VA_ARGS__

  /// The root's items to all.
  MUSTER_COLLECTIVE(broadcast, (Items Data),
                    (Data && data, int root = 0, const CallOptions& options = {}), (data, root))
  /// The root's blocks, one to each rank. `input` counts at the root only.
  MUSTER_COLLECTIVE(scatter, (Items In, Items Out),
                    (const In& input, Out&& output, int root = 0, const CallOptions& options = {}),
                    (input, output, root))
  /// With blocks of `counts` items; they count at the root only.
  MUSTER_COLLECTIVE(scatterv, (Items In, Items Out),
                    (const In& input, const std::vector<std::size_t>& counts, Out&& output,
                     int root = 0, const CallOptions& options = {}),
                    (input, counts, output, root))
  /// All ranks' blocks to the root. `output` counts at the root only.
  MUSTER_COLLECTIVE(gather, (Items In, Items Out),
                    (const In& input, Out&& output, int root = 0, const CallOptions& options = {}),
                    (input, output, root))
  MUSTER_COLLECTIVE(gatherv, (Items In, Items Out),
                    (const In& input, Out&& output, const std::vector<std::size_t>& counts,
                     int root = 0, const CallOptions& options = {}),
                    (input, output, counts, root))
  /// All ranks' items, combined, to the root. `output` counts at the root only.
  MUSTER_COLLECTIVE(reduce, (Items In, Items Out),
                    (const In& input, Out&& output, const Reduction& reduction = {}, int root = 0,
                     const CallOptions& options = {}),
                    (input, output, reduction, root))
  /// All ranks' items, combined, to all; in place.
  MUSTER_COLLECTIVE(allreduce, (Items Data),
                    (Data && data, const Reduction& reduction = {},
                     const CallOptions& options = {}),
                    (data, data, reduction))
  MUSTER_COLLECTIVE(allreduce, (Items In, Items Out),
                    (const In& input, Out&& output, const Reduction& reduction = {},
                     const CallOptions& options = {}),
                    (input, output, reduction))
  /// All ranks' blocks to all.
  MUSTER_COLLECTIVE(allgather, (Items In, Items Out),
                    (const In& input, Out&& output, const CallOptions& options = {}),
                    (input, output))
  /// With blocks of `counts` items, the same on all ranks.
  MUSTER_COLLECTIVE(allgatherv, (Items In, Items Out),
                    (const In& input, Out&& output, const std::vector<std::size_t>& counts,
                     const CallOptions& options = {}),
                    (input, output, counts))
  /// All ranks' items, combined, a block to each.
  MUSTER_COLLECTIVE(reduce_scatter, (Items In, Items Out),
                    (const In& input, Out&& output, const Reduction& reduction = {},
                     const CallOptions& options = {}),
                    (input, output, reduction))
  /// A block from each to each.
  MUSTER_COLLECTIVE(all_to_all, (Items In, Items Out),
                    (const In& input, Out&& output, const CallOptions& options = {}),
                    (input, output))
  /// With blocks of `counts` items to the ranks and of `receive_counts` from them.
  MUSTER_COLLECTIVE(all_to_allv, (Items In, Items Out),
                    (const In& input, const std::vector<std::size_t>& counts, Out&& output,
                     const std::vector<std::size_t>& receive_counts,
                     const CallOptions& options = {}),
                    (input, counts, output, receive_counts))
#undef MUSTER_TYPES
#undef MUSTER_COLLECTIVE

  /// To one rank, which calls `recv` with as many items. Sends and receives match by tag and order,
  /// apart from the collectives. Returns when `data` may be changed.
  template <Items Data>
  Result<void> send(int to, const Data& data, const CallOptions& options = {}) {
    return send_bytes(to, std::as_bytes(std::span(data)), item<Data>(), options);
  }
  template <Items Data>
  Result<void> recv(int from, Data&& data, const CallOptions& options = {}) {
    return receive_bytes(from, std::as_writable_bytes(std::span(data)), item<Data>(), options);
  }
  template <Items Data>
  [[nodiscard]] Result<Handle> isend(int to, const Data& data, const CallOptions& options = {}) {
    return start_send(to, std::as_bytes(std::span(data)), item<Data>(), options);
  }
  template <Items Data>
  [[nodiscard]] Result<Handle> irecv(int from, Data&& data, const CallOptions& options = {}) {
    return start_receive(from, std::as_writable_bytes(std::span(data)), item<Data>(), options);
  }

 private:
  class Impl;
  friend class GroupMaker;
  static Result<Group> join(GroupOptions options, const collective::FormationOptions& wanted);
  explicit Group(std::shared_ptr<Impl> impl);

  using Call = collective::Call;
  using Operation = collective::Operation;
  using Counts = std::vector<std::size_t>;

  template <class Range>
  static constexpr Element item() {
    return collective::element_of<std::remove_cv_t<std::ranges::range_value_t<Range>>>();
  }
  template <class In, class Out>
  static Call call(Operation operation, const In& input, Out& output) {
    static_assert(item<In>() == item<Out>(), "input and output hold the same type");
    Call made;
    made.operation = operation;
    made.element = item<Out>();
    made.input = reinterpret_cast<const std::byte*>(std::ranges::data(input));
    made.output =
        const_cast<std::byte*>(reinterpret_cast<const std::byte*>(std::ranges::data(output)));
    return made;
  }
  // Throw std::invalid_argument naming the operation and the sizes.
  void need(const char* operation, const char* what, std::size_t has, std::size_t needed) const;
  void exactly(const char* operation, const char* what, std::size_t has, std::size_t needed) const;
  std::size_t block_of(const char* operation, const char* what, std::size_t items) const;
  static std::size_t sum(const Counts& counts);
  std::size_t own(const char* operation, const Counts& counts) const;
  // In place when `has`, the items of what should be one block, are those of the whole; false when
  // it is a block, which then must not lie at another's place.
  bool whole_in_place(const Call& call, const char* what, std::size_t has, std::size_t whole) const;

  template <class Data>
  Call make_broadcast(Data& data, int root) const {
    Call made = call(Operation::broadcast, data, data);
    made.count = std::ranges::size(data);
    made.root = root;
    return made;
  }
  template <class In, class Out>
  Call make_scatter(const In& input, Out& output, int root) const {
    Call made = call(Operation::scatter, input, output);
    made.root = root;
    made.count = std::ranges::size(output);
    if (rank() == root) {
      // Mostly the output is just a block, which is found out without dividing.
      if (made.count * static_cast<std::size_t>(size()) != std::ranges::size(input))
        made.count = block_of("scatter", "input", std::ranges::size(input));
      if (!whole_in_place(made, "output", std::ranges::size(output), std::ranges::size(input)))
        need("scatter", "output", std::ranges::size(output), made.count);
    }
    return made;
  }
  template <class In, class Out>
  Call make_scatterv(const In& input, const Counts& counts, Out& output, int root) const {
    Call made = call(Operation::scatter, input, output);
    made.variable = true;
    made.root = root;
    made.count = std::ranges::size(output);
    if (rank() == root) {
      made.counts = counts;
      need("scatterv", "input", std::ranges::size(input), sum(counts));
      if (!whole_in_place(made, "output", std::ranges::size(output), std::ranges::size(input)))
        need("scatterv", "output", std::ranges::size(output), own("scatterv", counts));
    }
    return made;
  }
  template <class In, class Out>
  Call make_gather(const In& input, Out& output, int root) const {
    Call made = call(Operation::gather, input, output);
    made.root = root;
    made.count = std::ranges::size(input);
    if (rank() == root) {
      made.count = block_of("gather", "output", std::ranges::size(output));
      if (!whole_in_place(made, "input", std::ranges::size(input), std::ranges::size(output)))
        exactly("gather", "input", std::ranges::size(input), made.count);
    }
    return made;
  }
  template <class In, class Out>
  Call make_gatherv(const In& input, Out& output, const Counts& counts, int root) const {
    Call made = call(Operation::gather, input, output);
    made.variable = true;
    made.root = root;
    made.count = std::ranges::size(input);
    if (rank() == root) {
      made.counts = counts;
      need("gatherv", "output", std::ranges::size(output), sum(counts));
      if (!whole_in_place(made, "input", std::ranges::size(input), std::ranges::size(output)))
        exactly("gatherv", "input", std::ranges::size(input), own("gatherv", counts));
    }
    return made;
  }
  template <class In, class Out>
  Call make_reduce(const In& input, Out& output, const Reduction& reduction, int root) const {
    Call made = call(Operation::reduce, input, output);
    made.root = root;
    made.count = std::ranges::size(input);
    made.reduction = reduction;
    if (rank() == root) need("reduce", "output", std::ranges::size(output), made.count);
    return made;
  }
  template <class In, class Out>
  Call make_allreduce(const In& input, Out& output, const Reduction& reduction) const {
    Call made = call(Operation::allreduce, input, output);
    made.count = std::ranges::size(input);
    made.reduction = reduction;
    need("allreduce", "output", std::ranges::size(output), made.count);
    return made;
  }
  template <class In, class Out>
  Call make_allgather(const In& input, Out& output) const {
    Call made = call(Operation::allgather, input, output);
    made.count = block_of("allgather", "output", std::ranges::size(output));
    if (!whole_in_place(made, "input", std::ranges::size(input), std::ranges::size(output)))
      exactly("allgather", "input", std::ranges::size(input), made.count);
    return made;
  }
  template <class In, class Out>
  Call make_allgatherv(const In& input, Out& output, const Counts& counts) const {
    Call made = call(Operation::allgather, input, output);
    made.variable = true;
    made.counts = counts;
    need("allgatherv", "output", std::ranges::size(output), sum(counts));
    if (!whole_in_place(made, "input", std::ranges::size(input), std::ranges::size(output)))
      exactly("allgatherv", "input", std::ranges::size(input), own("allgatherv", counts));
    return made;
  }
  template <class In, class Out>
  Call make_reduce_scatter(const In& input, Out& output, const Reduction& reduction) const {
    Call made = call(Operation::reduce_scatter, input, output);
    made.count = block_of("reduce_scatter", "input", std::ranges::size(input));
    made.reduction = reduction;
    if (!made.in_place()) need("reduce_scatter", "output", std::ranges::size(output), made.count);
    return made;
  }
  template <class In, class Out>
  Call make_all_to_all(const In& input, Out& output) const {
    Call made = call(Operation::all_to_all, input, output);
    made.count = block_of("all_to_all", "input", std::ranges::size(input));
    need("all_to_all", "output", std::ranges::size(output), std::ranges::size(input));
    return made;
  }
  template <class In, class Out>
  Call make_all_to_allv(const In& input, const Counts& counts, Out& output,
                        const Counts& receive_counts) const {
    Call made = call(Operation::all_to_all, input, output);
    made.variable = true;
    made.counts = counts;
    made.receive_counts = receive_counts;
    need("all_to_allv", "input", std::ranges::size(input), sum(counts));
    need("all_to_allv", "output", std::ranges::size(output), sum(receive_counts));
    return made;
  }

  std::shared_ptr<Impl> impl_;
};

/// What `Group::shrink` returns.
struct Shrunk {
  Group group;
  /// Ranks of the old group that are not in the new one.
  std::vector<int> lost;
  /// How many calls with tag 0 every rank that is left had finished on the old group: what came
  /// after, some of them may not have. `split` is one of them, an allgather of 2 int32. Calls that
  /// other threads finish while the group shrinks may not be counted.
  std::uint64_t finished = 0;
  /// The last of these, "allreduce of 1000 float32 by sum" for example; empty when there was none.
  std::string last;

  struct Finished {
    std::uint64_t calls = 0;
    std::string last;
  };
  /// The same for each tag with which all of them had finished any. Sends and receives do not
  /// count.
  std::map<int, Finished> by_tag;
};

}  // namespace muster::comm
