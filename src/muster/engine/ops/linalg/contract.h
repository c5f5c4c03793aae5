#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// The sum of products that every product of matrices is: axes have labels; those of both inputs
/// that the result has not are summed over, the rest run along. `labels_a` and `labels_b` say what
/// each axis is called, without repeats; every label of `labels_out` is one of these, and a label
/// of one input only is one of the result. An axis of one item goes with any other of its label.
///
/// Tiling: labels are cut alike in both inputs. Each chunk of the result is one task that goes
/// through the chunks along the summed labels and adds up in place; where that would leave
/// processors idle, chunks are cut further, or sums are split and joined.
[[nodiscard]] Tensor contract(const Tensor& a, const Tensor& b, Ints labels_a, Ints labels_b,
                              Ints labels_out);

void register_contract(Registry& registry);

}  // namespace muster::engine
