#include "muster/comm/collective/algorithm/registry.h"

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {
namespace {

using enum Operation;

constexpr bool kOrdered = true;
constexpr bool kAnyOrder = false;
constexpr bool kVariable = true;
constexpr bool kEqual = false;
constexpr bool kHosts = true;

constexpr AlgorithmRow kRows[] = {
    {barrier, "dissemination", "⌈log n⌉ rounds, 1 byte each", barrier_dissemination},
    {barrier, "two_level", "in hosts, between their leaders, in hosts", barrier_two_level, kOrdered,
     kEqual, kHosts},

    {broadcast, "binomial", "⌈log n⌉ rounds, m bytes to each child, in segments",
     broadcast_binomial},
    {broadcast, "scatter_allgather", "⌈log n⌉ + n-1 rounds, 2m(n-1)/n bytes",
     broadcast_scatter_allgather},
    {broadcast, "two_level", "between leaders, then in hosts", broadcast_two_level, kOrdered,
     kEqual, kHosts},

    {scatter, "linear", "1 round, n-1 messages from the root", scatter_linear, kOrdered, kVariable},
    {scatter, "binomial", "⌈log n⌉ rounds, blocks pass through others", scatter_binomial},
    {scatter, "two_level", "between leaders, then in hosts", scatter_two_level, kOrdered, kEqual,
     kHosts},

    {gather, "linear", "1 round, n-1 messages to the root", gather_linear, kOrdered, kVariable},
    {gather, "binomial", "⌈log n⌉ rounds, blocks pass through others", gather_binomial},
    {gather, "two_level", "in hosts, then between leaders", gather_two_level, kOrdered, kEqual,
     kHosts},

    {reduce, "binomial", "⌈log n⌉ rounds, m bytes each", reduce_binomial},
    {reduce, "rabenseifner", "2 log n rounds, 2m(n-1)/n bytes", reduce_rabenseifner},
    {reduce, "two_level", "in hosts, then between leaders", reduce_two_level, kAnyOrder, kEqual,
     kHosts},

    {allreduce, "recursive_doubling", "log n rounds, m bytes each", allreduce_recursive_doubling},
    {allreduce, "rabenseifner", "2 log n rounds, 2m(n-1)/n bytes", allreduce_rabenseifner},
    {allreduce, "ring", "2(n-1) rounds, 2m(n-1)/n bytes, in segments", allreduce_ring, kAnyOrder},
    {allreduce, "two_level", "in hosts, between their leaders, in hosts", allreduce_two_level,
     kAnyOrder, kEqual, kHosts},

    {allgather, "ring", "n-1 rounds, m(n-1)/n bytes", allgather_ring, kOrdered, kVariable},
    {allgather, "linear", "1 round, n-1 messages", allgather_linear, kOrdered, kVariable},
    {allgather, "bruck", "⌈log n⌉ rounds, m(n-1)/n bytes and a copy", allgather_bruck},
    {allgather, "two_level", "in hosts, between their leaders, in hosts", allgather_two_level,
     kOrdered, kEqual, kHosts},

    {reduce_scatter, "direct", "1 round, n-1 messages", reduce_scatter_direct, kOrdered, kVariable},
    {reduce_scatter, "recursive_halving", "log n rounds, m(n-1)/n bytes",
     reduce_scatter_recursive_halving, kAnyOrder, kVariable},
    {reduce_scatter, "ring", "n-1 rounds, m(n-1)/n bytes, in segments", reduce_scatter_ring,
     kAnyOrder, kVariable},
    {reduce_scatter, "two_level", "in hosts, between their leaders, in hosts",
     reduce_scatter_two_level, kAnyOrder, kVariable, kHosts},

    {all_to_all, "linear", "1 round, n-1 messages", all_to_all_linear, kOrdered, kVariable},
    {all_to_all, "pairwise", "n-1 rounds, m(n-1)/n bytes", all_to_all_pairwise, kOrdered,
     kVariable},
    {all_to_all, "bruck", "⌈log n⌉ rounds, m/2 bytes each", all_to_all_bruck},
    {all_to_all, "two_level", "in hosts, between their leaders, in hosts", all_to_all_two_level,
     kOrdered, kEqual, kHosts},
};

/// What remains when nobody else is there: the input is the output.
Schedule alone(const Call& call) {
  Builder builder;
  const std::size_t bytes = call.operation == Operation::barrier ? 0 : total_bytes(call, 1);
  builder.round();
  if (!call.in_place()) builder.copy(output(0, bytes), {Space::input, 0, bytes});
  return builder.take();
}

/// The items of this rank's output that `mean` divides.
Region result_of(const Call& call, const Place& place) {
  if (call.operation == Operation::reduce_scatter)
    return output(0, blocks(call, place.size).bytes(static_cast<std::size_t>(place.rank)));
  return output(0, count_bytes(call));
}

}  // namespace

std::span<const AlgorithmRow> algorithm_rows() { return kRows; }

const AlgorithmRow* find_algorithm(Operation operation, std::string_view name) {
  for (const AlgorithmRow& row : kRows)
    if (row.operation == operation && row.name == name) return &row;
  return nullptr;
}

bool takes(const AlgorithmRow& row, const Call& call, const Place& place) {
  return row.operation == call.operation && (row.variable || !call.variable) &&
         (row.ordered || !is_reducing(call.operation) || call.reduction.commutative) &&
         (!row.needs_hosts || place.hosts.size() == static_cast<std::size_t>(place.size));
}

Schedule build(const AlgorithmRow& row, const Call& call, const Place& place) {
  Schedule schedule = place.size == 1 ? alone(call) : row.make(call, place);
  const bool has_result = call.operation != Operation::reduce || place.rank == call.root;
  if (is_reducing(call.operation) && call.reduction.kind == ReductionKind::mean && has_result) {
    Local division = {Local::Kind::divide, result_of(call, place)};
    division.divisor = static_cast<std::size_t>(place.size);
    schedule.rounds.emplace_back().then.push_back(division);
  }
  return schedule;
}

}  // namespace muster::comm::collective
