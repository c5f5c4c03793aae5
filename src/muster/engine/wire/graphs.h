#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/engine/graph/tensor.h"
#include "muster/engine/optimise/plan.h"
#include "muster/engine/wire/values.h"

namespace muster::engine {

/// The keys under which the receiver knows the outputs of a step, or nothing: then the operator is
/// sent. Called for every step; steps that are stored need keys.
using KeysOf = std::function<std::vector<std::string>(const PlanStep& step)>;
/// The computed tensor behind a key; null if there is none.
using FindStored = std::function<std::shared_ptr<const Stored>(std::string_view key)>;

/// The graph behind tensors as bytes.
[[nodiscard]] std::vector<std::byte> write_graph(const std::vector<Tensor>& tensors,
                                                 const KeysOf& keys_of = {});

/// The tensors of a graph that somebody sent, built anew: every operator checks its inputs and
/// parameters again. Throws ArrayError for whatever is wrong with it.
[[nodiscard]] std::vector<Tensor> read_graph(ByteSpan bytes, const FindStored& find = {},
                                             const MakeFunction& make_function = {});

}  // namespace muster::engine
