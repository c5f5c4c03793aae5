#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/value/array.h"
#include "muster/service/python/frames.h"
#include "muster/service/python/function_table.h"

namespace muster::service {

struct CallOptions {
  bool with_function = false;  ///< the process does not have it yet
  bool forget = false;         ///< it drops the functions that it has
  ByteSpan arena{};            ///< memory that the process sees, too
  std::size_t most_output = 0;
};

/// The request for a call: inputs that lie in the arena are named, others sent along.
[[nodiscard]] Result<PackedFrame> pack_call(const SharedFunction& function,
                                            engine::KernelContext& context,
                                            const CallOptions& options);

/// What came back: results, or what the function raised.
struct CallReply {
  std::vector<engine::Array> outputs;
  std::optional<engine::ArrayError> raised;
};

/// Fails for what a sound process would not say. Results refer to the memory of the frame.
[[nodiscard]] Result<CallReply> read_reply(const Frame& frame, const std::string& name,
                                           std::size_t outputs);

}  // namespace muster::service
