#include "muster/service/protocol/orders.h"

#include <utility>

#include "muster/service/protocol/ids.h"

namespace muster::service {

namespace {

using engine::ByteReader;
using engine::ByteWriter;
using engine::ChunkId;
using engine::TaskId;

struct WriteOrder {
  ByteWriter& out;

  void operator()(const RunOrder& order) const {
    write_id(out, order.task);
    out.number(order.attempt);
    out.number(order.first_output);
    out.count(order.inputs.size());
    for (const OrderInput& input : order.inputs) {
      write_id(out, input.chunk);
      out.text(input.holder);
    }
    out.count(order.body.size());
    out.raw(order.body.bytes());
  }
  void operator()(const CopyOrder& order) const {
    out.text(order.from);
    write_ids(out, order.chunks);
  }
  void operator()(const DropOrder& order) const { write_id(out, order.chunk); }
  void operator()(const CancelOrder& order) const {
    write_id(out, order.task);
    out.number(order.attempt);
  }
  void operator()(const ForgetOrder& order) const { write_id(out, order.task); }
  void operator()(const CloseOrder& order) const { out.number(order.session.value()); }
  void operator()(const ReleaseOrder&) const {}
};

/// `whole` is what `in` reads: bodies share its memory.
RunOrder read_run(ByteReader& in, const Buffer& whole) {
  RunOrder order;
  order.task = read_id<TaskId>(in);
  order.attempt = in.number<std::uint64_t>();
  order.first_output = in.number<std::uint32_t>();
  order.inputs.resize(in.count(12));
  for (OrderInput& input : order.inputs) {
    input.chunk = read_id<ChunkId>(in);
    input.holder = in.text();
  }
  const ByteSpan body = in.raw(in.count(1));
  order.body = whole.owner() ? Buffer::share(body, whole.owner()) : Buffer::copy_of(body);
  return order;
}

Order read_order(ByteReader& in, const Buffer& whole) {
  const auto kind = in.number<std::uint8_t>();
  switch (kind) {
    case 0: return read_run(in, whole);
    case 1: {
      std::string from(in.text());
      return CopyOrder{std::move(from), read_ids<ChunkId>(in)};
    }
    case 2: return DropOrder{read_id<ChunkId>(in)};
    case 3: {
      const auto task = read_id<TaskId>(in);
      return CancelOrder{task, in.number<std::uint64_t>()};
    }
    case 4: return ForgetOrder{read_id<TaskId>(in)};
    case 5: return CloseOrder{engine::SessionId(in.number<std::uint32_t>())};
    case 6: return ReleaseOrder{};
    default: in.refuse(fmt::format("there is no kind of order {}", kind));
  }
}

}  // namespace

Buffer encode(const TaskBody& body) {
  ByteWriter out;
  out.text(body.kernel);
  out.text(body.operator_name);
  out.text(body.origin);
  write_attributes(out, body.attributes);
  out.count(body.outputs.size());
  for (const engine::Meta& output : body.outputs) write_meta(out, output);
  return Buffer::take(out.take());
}

TaskBody read_task_body(ByteSpan bytes, const engine::MakeFunction& make_function) {
  ByteReader in(bytes);
  TaskBody body;
  body.kernel = in.text();
  body.operator_name = in.text();
  body.origin = in.text();
  body.attributes = read_attributes(in, make_function);
  body.outputs.resize(in.count(6));
  for (engine::Meta& output : body.outputs) output = engine::read_meta(in);
  expect_end(in);
  return body;
}

comm::Body encode(const Orders& orders) {
  ByteWriter out;
  out.number(orders.epoch);
  out.number(orders.worker.value());
  out.count(orders.orders.size());
  for (const Order& order : orders.orders) {
    out.number(static_cast<std::uint8_t>(order.index()));
    std::visit(WriteOrder{out}, order);
  }
  return comm::Body::bytes(Buffer::take(out.take()));
}

Orders read_orders(const comm::Body& body) {
  const Buffer whole = body.buffer().kept();
  ByteReader in(whole.bytes());
  Orders orders;
  orders.epoch = in.number<std::uint64_t>();
  orders.worker = engine::WorkerId(in.number<std::uint32_t>());
  const std::size_t count = in.count(1);
  orders.orders.reserve(count);
  for (std::size_t i = 0; i < count; ++i) orders.orders.push_back(read_order(in, whole));
  expect_end(in);
  return orders;
}

comm::Body encode(const Beat& beat) {
  ByteWriter out;
  out.number(beat.epoch);
  out.number(static_cast<std::uint8_t>(beat.registered));
  out.number(beat.worker.value());
  out.number(static_cast<std::uint8_t>(beat.last));
  return comm::Body::bytes(Buffer::take(out.take()));
}

Beat read_beat(const comm::Body& body) {
  ByteReader in(body.buffer().bytes());
  Beat beat;
  beat.epoch = in.number<std::uint64_t>();
  beat.registered = in.number<std::uint8_t>() != 0;
  beat.worker = engine::WorkerId(in.number<std::uint32_t>());
  beat.last = in.number<std::uint8_t>() != 0;
  expect_end(in);
  return beat;
}

}  // namespace muster::service
