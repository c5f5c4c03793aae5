#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/comm/message/body.h"
#include "muster/engine/graph/attributes.h"
#include "muster/engine/graph/tensor.h"
#include "muster/engine/schedule/action.h"
#include "muster/engine/wire/values.h"

namespace muster::service {

/// What a task does, apart from where its inputs are. The scheduler keeps it encoded for as long
/// as the task may have to run again.
struct TaskBody {
  std::string kernel;
  std::string operator_name;
  std::string origin;  ///< where in the user's program it was made
  engine::Attributes attributes;
  std::vector<engine::Meta> outputs;
};

[[nodiscard]] Buffer encode(const TaskBody& body);
/// Throws ArrayError for what is malformed.
[[nodiscard]] TaskBody read_task_body(ByteSpan bytes, const engine::MakeFunction& make_function);

/// One input of a task: its chunk, and the name of a worker that has it; empty where the receiver
/// has it itself.
struct OrderInput {
  engine::ChunkId chunk;
  std::string holder;
};

struct RunOrder {
  engine::TaskId task;
  std::uint64_t attempt = 0;
  std::uint32_t first_output = 0;  ///< chunk number of output 0; the others follow
  std::vector<OrderInput> inputs;
  Buffer body;  ///< an encoded TaskBody
};
struct CopyOrder {
  std::string from;  ///< the worker to fetch from, in one transfer
  std::vector<engine::ChunkId> chunks;
};
struct DropOrder {
  engine::ChunkId chunk;
};
struct CancelOrder {
  engine::TaskId task;
  std::uint64_t attempt = 0;
};
struct ForgetOrder {
  engine::TaskId task;
};
/// All chunks of a session that is over.
struct CloseOrder {
  engine::SessionId session;
};
/// It may stop.
struct ReleaseOrder {};

using Order = std::variant<RunOrder, CopyOrder, DropOrder, CancelOrder, ForgetOrder, CloseOrder,
                           ReleaseOrder>;

/// Orders from one life of the scheduler, to be carried out in order. A worker ignores those whose
/// `epoch` or `worker` are not the ones it registered with.
struct Orders {
  std::uint64_t epoch = 0;
  engine::WorkerId worker;
  std::vector<Order> orders;
};

/// Sent every second to every worker that the scheduler sees: a worker that registered in another
/// epoch, or under another id, registers again. Also the last thing that a scheduler says.
struct Beat {
  std::uint64_t epoch = 0;
  bool registered = false;
  engine::WorkerId worker;  ///< as the scheduler knows it, if it is registered
  bool last = false;        ///< the scheduler stops: nobody can hand anything over any more
};

[[nodiscard]] comm::Body encode(const Orders& orders);
[[nodiscard]] comm::Body encode(const Beat& beat);
/// Throw ArrayError for what is malformed.
[[nodiscard]] Orders read_orders(const comm::Body& body);
[[nodiscard]] Beat read_beat(const comm::Body& body);

}  // namespace muster::service
