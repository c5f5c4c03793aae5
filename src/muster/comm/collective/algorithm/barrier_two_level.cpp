// Barrier of two levels (teams.h), for r ranks on each of h hosts: a byte of every rank to the
// leader of its host, dissemination between the leaders, a byte from the leader to all.
//
// Rounds: about 2 log2 r + log2 h. Nothing but bytes crosses.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/teams.h"

namespace muster::comm::collective {
namespace {

/// One byte up to the leader, or down from it: a barrier has no other items.
Call token(Operation operation) {
  Call call;
  call.operation = operation;
  call.count = 1;
  return part_of(call, operation, true);
}

}  // namespace

Schedule barrier_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, -1);
  Builder builder;
  const Region byte = builder.scratch(1);
  // The value does not matter, but a sum would read memory that nobody wrote, so blocks are
  // gathered.
  const Region bytes = builder.scratch(teams.host().ranks.size());
  embed(builder, gather_binomial, part_of(token(Operation::gather), Operation::gather, false),
        teams.host(), byte, bytes);
  embed(builder, barrier_dissemination, call, teams.leaders, byte, byte);
  embed(builder, broadcast_binomial, token(Operation::broadcast), teams.host(), byte, byte);
  return builder.take();
}

}  // namespace muster::comm::collective
