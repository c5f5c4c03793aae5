#include "muster/comm/collective/shared/ways.h"

#include <algorithm>

namespace muster::comm::collective::shared {
namespace {

constexpr WayRow kStream = {"stream", "as stage, past the cache", kLendFrom, kNoEnd, Way::stream};
constexpr WayRow kQuickest = {"quickest", "ranks try lend, stage and stream, and use the quickest",
                              kLendFrom, kNoEnd, std::nullopt};

constexpr WayRow inlined(std::string_view summary, std::size_t to = kAboveInline) {
  return {"inline", summary, 0, to, std::nullopt};
}
constexpr WayRow staged(std::string_view summary) {
  return {"stage", summary, kAboveInline, kNoEnd, Way::stage};
}
constexpr WayRow lent(std::string_view summary) {
  return {"lend", summary, kLendFrom, kNoEnd, Way::lend};
}

constexpr WayRow kBarrier[] = {inlined("1 step, no bytes", kNoEnd)};

// A rank gives the same to all that take.
constexpr WayRow kOfOneBlock[] = {
    inlined("1 step, m bytes in a control line"),
    staged("⌈m / 32 KiB⌉ steps, copied in and out"),
    lent("1 step, read out of the other process"),
    kStream,
    kQuickest,
};

constexpr WayRow kAllreduce[] = {
    inlined("1 step, m bytes in a control line"),
    staged("⌈m / 32 KiB⌉ steps, copied in and out; for n > 2 from 4 KiB on twice as many"),
    lent("2 steps, read out of the other processes"),
    kStream,
    kQuickest,
};

// A rank gives each other rank a block of its own.
constexpr WayRow kOfBlocks[] = {
    inlined("1 step, (n-1)m bytes in a control line; where they do not fit, as stage"),
    staged("⌈(n-1)m / 32 KiB⌉ steps, copied in and out"),
    lent("1 step, read out of the other process"),
    kStream,
    kQuickest,
};

}  // namespace

std::span<const WayRow> way_rows(collective::Operation operation) {
  switch (operation) {
    case collective::Operation::barrier: return kBarrier;
    case collective::Operation::allreduce: return kAllreduce;
    case collective::Operation::scatter:
    case collective::Operation::reduce_scatter:
    case collective::Operation::all_to_all: return kOfBlocks;
    case collective::Operation::broadcast:
    case collective::Operation::gather:
    case collective::Operation::reduce:
    case collective::Operation::allgather: break;
  }
  return kOfOneBlock;
}

const WayRow* find_way(collective::Operation operation, std::string_view name) {
  const auto rows = way_rows(operation);
  const auto found = std::ranges::find(rows, name, &WayRow::name);
  return found != rows.end() ? &*found : nullptr;
}

}  // namespace muster::comm::collective::shared
