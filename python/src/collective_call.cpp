#include "collective_call.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace muster::python {
namespace {

using namespace comm::collective;
using Counts = std::vector<std::size_t>;
using Shape = std::vector<std::size_t>;

class Maker {
 public:
  Maker(const CollectiveArguments& arguments, int rank, int size)
      : arguments_(arguments), rank_(rank), n_(static_cast<std::size_t>(size)) {}

  CollectiveCall make() {
    read_operation();
    read_counts();
    read_buffers();
    read_reduction();
    call_.root = arguments_.root;
    if (is_rooted(call_.operation) &&
        (call_.root < 0 || static_cast<std::size_t>(call_.root) >= n_))
      wrong(fmt::format("root is {}, and the group has the ranks 0 to {}", call_.root, n_ - 1));
    set_counts();
    check_shapes();
    set_shape();
    if (overlaps(call_, rank_, static_cast<int>(n_)))
      wrong("data and out overlap; they are the same memory, to work in place, or lie apart");
    check(call_, rank_, static_cast<int>(n_));
    return std::move(made_);
  }

 private:
  [[noreturn]] void wrong(const std::string& text) const {
    throw nb::value_error(fmt::format("[{}] {}", arguments_.operation, text).c_str());
  }
  [[nodiscard]] std::string what(const char* argument) const {
    return fmt::format("[{}] {}", arguments_.operation, argument);
  }
  [[nodiscard]] bool is_root() const { return rank_ == arguments_.root; }

  void read_operation() {
    for (const Operation operation : kOperations)
      if (name(operation) == arguments_.operation) call_.operation = operation;
  }

  Counts counts_from(nb::handle given, const char* argument) const {
    Counts counts;
    for (nb::handle item : given) {
      const auto value = PyLong_AsLongLong(nb::object(item.attr("__index__")()).ptr());
      if (value < 0) wrong(fmt::format("{} holds {}; items are counted from 0", argument, value));
      counts.push_back(static_cast<std::size_t>(value));
    }
    if (counts.size() != n_)
      wrong(fmt::format("{} has {} entries, and the group {} ranks", argument, counts.size(), n_));
    return counts;
  }

  void read_counts() {
    call_.variable = !arguments_.counts.is_none();
    if (!call_.variable) return;
    const bool only_root =
        call_.operation == Operation::scatter || call_.operation == Operation::gather;
    call_.counts = counts_from(arguments_.counts, "counts");
    if (call_.operation == Operation::all_to_all)
      call_.receive_counts = counts_from(arguments_.receive_counts, "receive_counts");
    if (only_root && !is_root()) {
      call_.count = call_.counts[static_cast<std::size_t>(rank_)];
      call_.counts.clear();
    }
  }

  void read_buffers() {
    using Access = ArrayView::Access;
    if (call_.operation == Operation::barrier) return;
    const bool needs_input = (call_.operation == Operation::scatter && is_root()) ||
                             (call_.operation == Operation::all_to_all && call_.variable);
    if (arguments_.input.is_none() && (arguments_.output.is_none() || needs_input))
      throw nb::type_error((what("data") + " is missing").c_str());
    // What the root of a broadcast gives is only read, though the others write theirs.
    const bool reads_only = call_.operation == Operation::broadcast && is_root();
    if (!arguments_.output.is_none())
      made_.output = ArrayView(arguments_.output,
                               what(call_.operation == Operation::broadcast ? "data" : "out"),
                               reads_only ? Access::read : Access::write);
    if (!arguments_.input.is_none())
      made_.input = ArrayView(arguments_.input, what("data"), Access::read);
    const bool both = !arguments_.output.is_none() && !arguments_.input.is_none();
    if (both && made_.input.element() != made_.output.element())
      throw nb::type_error(fmt::format("[{}] data holds {} and out {}; both must be the same",
                                       arguments_.operation, name(made_.input.element()),
                                       name(made_.output.element()))
                               .c_str());
    call_.element = arguments_.output.is_none() ? made_.input.element() : made_.output.element();
    call_.output = made_.output.data();
    call_.input = arguments_.input.is_none() ? call_.output : made_.input.data();
    if (arguments_.output.is_none() && is_root() && call_.operation == Operation::scatter)
      call_.output = const_cast<std::byte*>(call_.input);  // keeps its own block where it is
  }

  void read_reduction() {
    if (!is_reducing(call_.operation)) return;
    const nb::object& given = arguments_.reduction;
    if (PyCallable_Check(given.ptr()) != 0) {
      call_.reduction =
          python_reduction(given, call_.element, arguments_.commutative,
                           nb::make_tuple(arguments_.input, arguments_.output), made_.user);
      return;
    }
    if (!nb::isinstance<nb::str>(given))
      throw nb::type_error(
          (what("op") + " is a name such as 'sum' or a function of two arrays").c_str());
    const auto called = nb::cast<std::string>(given);
    call_.reduction = kind_of(called);
    if (called != name(call_.reduction.kind))
      check(arguments_.operation, call_.reduction, call_.element, called);
    const ArrayView& view = arguments_.output.is_none() ? made_.input : made_.output;
    const ReductionKind kind = call_.reduction.kind;
    if (view.is_bool() && (kind == ReductionKind::sum || kind == ReductionKind::prod))
      throw nb::type_error((what("op") + " '" + std::string(name(kind)) +
                            "' is not defined for bool; use 'or' or 'and', or convert")
                               .c_str());
  }

  ReductionKind kind_of(const std::string& given) const {
    if (given == "and") return ReductionKind::band;
    if (given == "or") return ReductionKind::bor;
    if (given == "xor") return ReductionKind::bxor;
    for (int kind = 0; kind < static_cast<int>(ReductionKind::band); ++kind)
      if (given == name(static_cast<ReductionKind>(kind))) return static_cast<ReductionKind>(kind);
    wrong(fmt::format(
        "op is '{}'; there are sum, prod, min, max, mean, and, or, xor, and functions", given));
  }

  void need(const char* argument, std::size_t has, std::size_t needed) const {
    if (has != needed)
      wrong(fmt::format("{} holds {} items, {} are needed", argument, has, needed));
  }

  /// A buffer of n blocks: the size of one.
  std::size_t block_of(const char* argument, std::size_t items) const {
    if (items % n_ != 0)
      wrong(fmt::format("{} holds {} items, which {} ranks cannot share evenly; pass counts",
                        argument, items, n_));
    return items / n_;
  }

  static std::size_t sum(const Counts& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  }

  /// `many`: the buffer of all blocks; `one`: that of the rank's own, which may be missing.
  void set_blocks(const char* many_name, const ArrayView& many, bool has_many, const char* one_name,
                  const ArrayView& one, bool has_one) {
    const auto rank = static_cast<std::size_t>(rank_);
    if (has_many && call_.variable) need(many_name, many.count(), sum(call_.counts));
    if (!call_.variable) call_.count = has_many ? block_of(many_name, many.count()) : one.count();
    const std::size_t own = call_.counts.empty() ? call_.count : call_.counts[rank];
    if (has_one) need(one_name, one.count(), own);
  }

  void set_counts() {
    const bool has_input = !arguments_.input.is_none();
    const bool has_output = !arguments_.output.is_none();
    const ArrayView& in = made_.input;
    const ArrayView& out = made_.output;
    // In place: the one buffer holds all blocks, and there is no other.
    const bool same = is_whole_in_place();
    switch (call_.operation) {
      case Operation::barrier: return;
      case Operation::broadcast: call_.count = out.count(); return;
      case Operation::reduce:
      case Operation::allreduce:
        call_.count = has_input ? in.count() : out.count();
        if (has_output) need("out", out.count(), call_.count);
        return;
      case Operation::scatter:
        return set_blocks("data", in, is_root(), "out", out, has_output && !same);
      case Operation::gather:
        return set_blocks("out", out, is_root(), "data", in, has_input && !same);
      case Operation::allgather:
        return set_blocks("out", out, true, "data", in, has_input && !same);
      case Operation::reduce_scatter:
        return set_blocks("data", has_input ? in : out, true, "out", out, has_output && !same);
      case Operation::all_to_all:
        if (call_.variable) {
          need("data", in.count(), sum(call_.counts));
          need("out", out.count(), sum(call_.receive_counts));
        } else {
          call_.count = block_of("data", (has_input ? in : out).count());
          if (has_input) need("out", out.count(), in.count());
        }
        return;
    }
  }

  /// Where both arrays hold as many items, a row of one means the same place in the other. One
  /// dimension stands for the items in C order.
  void check_shapes() const {
    const bool as_many = call_.operation == Operation::reduce ||
                         call_.operation == Operation::allreduce ||
                         (call_.operation == Operation::all_to_all && !call_.variable);
    const auto& in = made_.input.shape();
    const auto& out = made_.output.shape();
    if (as_many && in.size() > 1 && out.size() > 1 && in != out)
      wrong(fmt::format("out has the shape {} and data {}; pass the same, or ravel() one of them",
                        text_of(out), text_of(in)));
  }

  static std::string text_of(const Shape& shape) {
    return fmt::format("({})", fmt::join(shape, ", "));
  }

  void set_shape() {
    if (call_.variable || call_.operation == Operation::scatter) return;
    const ArrayView& given = arguments_.input.is_none() ? made_.output : made_.input;
    const bool gives_block =
        call_.operation == Operation::gather || call_.operation == Operation::allgather;
    // In place, a block is what the others give who do not work in place.
    const bool is_all_blocks = gives_block && (arguments_.input.is_none() || is_whole_in_place());
    Shape shape = is_all_blocks ? shape_of_block(given.shape()) : given.shape();
    if (gives_block) drop_single_rows(shape);
    call_.shape = hash_of_shape(shape);
  }

  /// As the shape of all blocks is made of that of one, (n, *shape), or where rows were joined.
  Shape shape_of_block(Shape shape) const {
    if (shape.empty() || shape[0] % n_ != 0) return {};
    shape[0] /= n_;
    return shape;
  }

  /// A row by itself is a block like the array of that row: both make the same rows of all blocks.
  static void drop_single_rows(Shape& shape) {
    const auto rows = std::ranges::find_if(shape, [](std::size_t extent) { return extent != 1; });
    shape.erase(shape.begin(), rows);
  }

  /// In place, the one buffer holds all blocks, and there is no other. A block that begins where
  /// the buffer of all does is rank 0's.
  bool is_whole_in_place() const {
    const auto operation = call_.operation;
    const bool has_own_place = operation == Operation::scatter || operation == Operation::gather ||
                               operation == Operation::allgather;
    if (!call_.in_place() || !has_own_place || arguments_.input.is_none() ||
        arguments_.output.is_none() || made_.input.count() == made_.output.count())
      return call_.in_place();
    if (call_.variable ? own_start(call_, rank_) != 0 : rank_ != 0)
      wrong(
          fmt::format("{} lies where the block of rank 0 does; pass the same array twice to work "
                      "in place, or memory apart",
                      operation == Operation::scatter ? "out" : "data"));
    return false;
  }

  const CollectiveArguments& arguments_;
  int rank_;
  std::size_t n_;
  CollectiveCall made_ = {};
  Call& call_ = made_.call;
};

}  // namespace

CollectiveCall collective_call(const CollectiveArguments& arguments, int rank, int size) {
  return Maker(arguments, rank, size).make();
}

}  // namespace muster::python
