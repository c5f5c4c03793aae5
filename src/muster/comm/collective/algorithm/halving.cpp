#include "muster/comm/collective/algorithm/halving.h"

namespace muster::comm::collective {

void Halving::build(Builder& builder, const Region& source, const Region& result) {
  const std::size_t bytes = blocks_.total();
  if (fold_.rests(rank_)) {
    builder.round();
    builder.send(rank_ + 1, source);
    return;
  }
  const bool two = fold_.stands_for_two(rank_);
  const int v = fold_.number(rank_);
  const auto half = static_cast<std::size_t>(fold_.size() / 2);
  const Region other = builder.scratch(two ? bytes : blocks_.bytes(0, half));
  Region current = source;
  if (two) {
    builder.round();
    builder.receive(rank_ - 1, other.part(0, bytes));
    builder.reduce(result, other.part(0, bytes), current);
    current = result;
  }
  int first = 0;
  int last = fold_.size();
  for (int bit = 1; bit < fold_.size(); bit *= 2) {
    const bool low = (v & bit) == 0;
    const Step step = {fold_.rank(v ^ bit), first, last, (first + last) / 2, low};
    const Region kept = block(result, blocks_, step.own_first(), step.own_last());
    const Region mine = block(current, blocks_, step.own_first(), step.own_last());
    const Region theirs = other.part(0, kept.bytes);
    builder.round();
    builder.send(step.partner, block(current, blocks_, step.other_first(), step.other_last()));
    builder.receive(step.partner, theirs);
    builder.reduce(kept, low ? mine : theirs, low ? theirs : mine);
    current = result;
    steps_.push_back(step);
    first = step.own_first();
    last = step.own_last();
  }
}

}  // namespace muster::comm::collective
