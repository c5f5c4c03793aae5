// Dissemination barrier (Hensgen, Finkel, Manber 1988), for n ranks.
//
// In round k every rank tells the one 2^k further on that it has come, and hears from the one 2^k
// back. After round k a rank knows of the 2^(k+1) ranks behind it, itself included.
//
// Rounds: ⌈log2 n⌉. Bytes: one per message.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {

Schedule barrier_dissemination(const Call& /*call*/, const Place& place) {
  const auto [rank, n, hosts] = place;
  Builder builder;
  for (int distance = 1; distance < n; distance *= 2) {
    builder.round();
    builder.send(wrap(rank + distance, n), builder.scratch(1));
    builder.receive(wrap(rank - distance, n), builder.scratch(1));
  }
  return builder.take();
}

}  // namespace muster::comm::collective
