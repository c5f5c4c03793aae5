#pragma once

#include <memory>

#include "muster/comm/collective/shared/all_to_all.h"
#include "muster/comm/collective/shared/allreduce.h"
#include "muster/comm/collective/shared/barrier.h"
#include "muster/comm/collective/shared/brief.h"
#include "muster/comm/collective/shared/broadcast.h"
#include "muster/comm/collective/shared/counts.h"
#include "muster/comm/collective/shared/gather.h"
#include "muster/comm/collective/shared/lent_allreduce.h"
#include "muster/comm/collective/shared/reduce.h"
#include "muster/comm/collective/shared/reduce_scatter.h"
#include "muster/comm/collective/shared/scatter.h"

namespace muster::comm::collective::shared {

/// With two ranks the plain form does no work twice; with more, it does as long as the work is less
/// than waiting a second time.
inline constexpr std::size_t kSplitFrom = 4096;

[[nodiscard]] inline bool splits(const Call& call, int ranks) {
  return ranks > 2 && call.count * item_size(call.element) >= kSplitFrom;
}

/// Calls `use.operator()<Made>(arguments…)` with the operation that carries out `call` and what it
/// is made from.
template <class Use>
auto choose_operation(Channel& channel, const Call& call, Use use) {
  using collective::Operation;
  const std::size_t bytes = call.count * item_size(call.element);
  const int ranks = channel.ranks();
  switch (call.operation) {
    case Operation::barrier: return use.template operator()<Brief<Barrier>>(channel, call);
    case Operation::broadcast:
      if (InlineBroadcast::fits(call))
        return use.template operator()<Brief<InlineBroadcast>>(channel, call);
      return use.template operator()<Stepped<Broadcast>>(channel, call);
    case Operation::reduce:
      if (InlineReduce::fits(call))
        return use.template operator()<Brief<InlineReduce>>(channel, call);
      if (Loan::is_worth_it(bytes, ranks))
        return use.template operator()<Stepped<LentReduce>>(channel, call);
      return use.template operator()<Stepped<Reduce>>(channel, call);
    case Operation::allreduce:
      if (InlineReduce::fits(call))
        return use.template operator()<Brief<InlineReduce>>(channel, call);
      if (Loan::is_worth_it(bytes, ranks)) {
        const Way way = Pact::way(channel, call, bytes);
        if (way == Way::lend) return use.template operator()<Stepped<LentAllreduce>>(channel, call);
        if (ranks > 2) return use.template operator()<SplitAllreduce>(channel, call, way);
        return use.template operator()<Stepped<LargeReduce>>(channel, call, way);
      }
      if (splits(call, ranks))
        return use.template operator()<SplitAllreduce>(channel, call, std::nullopt);
      return use.template operator()<Stepped<Reduce>>(channel, call);
    case Operation::allgather:
      if (InlineGather::fits(call))
        return use.template operator()<Brief<InlineGather>>(channel, call);
      return use.template operator()<Stepped<Gather>>(channel, call, BlockMap::of(call, ranks),
                                                      !call.variable);
    case Operation::reduce_scatter:
      if (!call.variable && Loan::is_worth_it(bytes, ranks))
        return use.template operator()<Stepped<LentReduceScatter>>(channel, call,
                                                                   BlockMap(ranks, bytes));
      return use.template operator()<Stepped<ReduceScatter>>(channel, call,
                                                             BlockMap::of(call, ranks));
    case Operation::gather:
      if (call.variable) return use.template operator()<Variable>(channel, call);
      if (InlineGather::fits(call))
        return use.template operator()<Brief<InlineGather>>(channel, call);
      return use.template operator()<Stepped<Gather>>(channel, call, BlockMap(ranks, bytes), true);
    case Operation::scatter:
      if (call.variable) return use.template operator()<Variable>(channel, call);
      if (InlineScatter::fits(call, ranks))
        return use.template operator()<Brief<InlineScatter>>(channel, call);
      return use.template operator()<Stepped<Scatter>>(channel, call, BlockMap(ranks, bytes), bytes,
                                                       bytes, true);
    case Operation::all_to_all: break;
  }
  if (call.variable) return use.template operator()<Variable>(channel, call);
  return use.template operator()<Stepped<AllToAll>>(channel, call, BlockMap(ranks, bytes),
                                                    BlockMap(ranks, bytes), bytes, true);
}

/// Calls `use` with the operation, which lives on the stack.
template <class Use>
auto with_operation(Channel& channel, const Call& call, Use use) {
  return choose_operation(channel, call, [&]<class Made>(auto&&... arguments) {
    Made operation(std::forward<decltype(arguments)>(arguments)...);
    return use(operation);
  });
}

/// `call` outlives it.
[[nodiscard]] inline std::unique_ptr<Operation> make_operation(Channel& channel, const Call& call) {
  return choose_operation(
      channel, call, []<class Made>(auto&&... arguments) -> std::unique_ptr<Operation> {
        return std::make_unique<Made>(std::forward<decltype(arguments)>(arguments)...);
      });
}

}  // namespace muster::comm::collective::shared
