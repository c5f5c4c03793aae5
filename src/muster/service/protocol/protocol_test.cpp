#include <gtest/gtest.h>

#include "muster/engine/errors.h"
#include "muster/service/protocol/ask.h"
#include "muster/service/protocol/chunks.h"
#include "muster/service/protocol/orders.h"
#include "muster/service/protocol/reports.h"

namespace muster::service {
namespace {

using engine::ArrayError;
using engine::ChunkId;
using engine::SessionId;
using engine::TaskId;
using engine::WorkerId;

comm::Body cut(const comm::Body& body, std::size_t length) {
  return comm::Body::bytes(body.buffer().bytes().first(length));
}

/// Every cut is refused, and none of them crashes.
template <class Read>
void refuses_what_was_cut(const comm::Body& body, Read&& read) {
  for (std::size_t length = 0; length < body.size(); ++length)
    EXPECT_THROW((void)read(cut(body, length)), ArrayError) << "at " << length;
}

const ChunkId kChunk{SessionId(3), 17};
const TaskId kTask{SessionId(3), 9};

TaskBody some_task() {
  return {"add",
          "add",
          "a.py:3",
          {{"axis", std::int64_t{1}}},
          {{engine::Type::f64, {2, engine::kUnknown}}}};
}

Orders all_orders() {
  return {7,
          WorkerId(2),
          {RunOrder{kTask, 5, 40, {{kChunk, "worker-1"}, {kChunk, ""}}, encode(some_task())},
           CopyOrder{"worker-2", {kChunk}}, DropOrder{kChunk}, CancelOrder{kTask, 5},
           ForgetOrder{kTask}, CloseOrder{SessionId(3)}, ReleaseOrder{}}};
}

Registration some_registration() {
  return {"worker-1", "host", 12, 2, 1 << 20, "", WorkerId(4), 7, {{kChunk, 80}}, {{kTask, 5}}};
}

TEST(Protocol, OrdersComeBackAsTheyWere) {
  const TaskBody task = some_task();
  const Orders orders = all_orders();
  const Orders read = read_orders(encode(orders));
  EXPECT_EQ(read.epoch, 7u);
  EXPECT_EQ(read.worker, WorkerId(2));
  ASSERT_EQ(read.orders.size(), 7u);
  const auto& run = std::get<RunOrder>(read.orders[0]);
  EXPECT_EQ(run.task, kTask);
  EXPECT_EQ(run.attempt, 5u);
  EXPECT_EQ(run.first_output, 40u);
  EXPECT_EQ(run.inputs.at(0).holder, "worker-1");
  const TaskBody body = read_task_body(run.body.bytes(), {});
  EXPECT_EQ(body.kernel, "add");
  EXPECT_EQ(body.origin, "a.py:3");
  EXPECT_EQ(body.attributes.get<std::int64_t>("axis"), 1);
  EXPECT_EQ(body.outputs, task.outputs);
  EXPECT_EQ(std::get<CopyOrder>(read.orders[1]).chunks.at(0), kChunk);
  EXPECT_EQ(std::get<CancelOrder>(read.orders[3]).attempt, 5u);
  EXPECT_EQ(std::get<CloseOrder>(read.orders[5]).session, SessionId(3));
  refuses_what_was_cut(encode(orders), read_orders);
  refuses_what_was_cut(encode(Beat{1, true, WorkerId(1), true}), read_beat);
}

TEST(Protocol, ReportsComeBackAsTheyWere) {
  const Reports reports{
      7, WorkerId(2), {{engine::TaskFinished{WorkerId(2), kTask, 5, {80}}, {{2, 5}}, 1, 100, 200}}};
  const Reports read = read_reports(encode(reports));
  ASSERT_EQ(read.reports.size(), 1u);
  EXPECT_EQ(read.reports[0].event, reports.reports[0].event);
  EXPECT_EQ(read.reports[0].shapes.at(0), (engine::Shape{2, 5}));
  EXPECT_EQ(read.reports[0].ended, 200);
  refuses_what_was_cut(encode(reports), read_reports);

  Registration registration = some_registration();
  const Registration known = read_registration(encode(registration));
  EXPECT_EQ(known.before, WorkerId(4));
  EXPECT_EQ(known.held, registration.held);
  EXPECT_EQ(known.running, registration.running);
  registration.before.reset();
  EXPECT_FALSE(read_registration(encode(registration)).before.has_value());
  refuses_what_was_cut(encode(registration), read_registration);
}

Buffer chunk_bytes(const engine::Meta& meta) {
  const auto items = static_cast<std::size_t>(engine::volume(meta.shape));
  std::vector<std::byte> bytes(kChunkHeader + items * engine::item_size(meta.dtype));
  write_chunk_header(std::span(bytes).first<kChunkHeader>(), meta);
  return Buffer::take(std::move(bytes));
}

TEST(Protocol, ChunksSayWhatTheyAre) {
  for (const engine::Shape& shape : {engine::Shape{}, {0, 3}, {2, 3}, engine::Shape(32, 1)}) {
    const engine::Meta meta{engine::Type::f32, shape};
    const Buffer bytes = chunk_bytes(meta);
    EXPECT_EQ(read_chunk_header(bytes.bytes()), meta);
    EXPECT_EQ(chunk_array(bytes.bytes(), nullptr).shape(), shape);
    EXPECT_TRUE(chunk_array(bytes.bytes(), nullptr).is_c_contiguous());
    EXPECT_THROW((void)read_chunk_header(bytes.bytes().first(kChunkHeader - 1)), ArrayError);
  }
  const Buffer bytes = chunk_bytes({engine::Type::f32, {2, 3}});
  EXPECT_THROW((void)read_chunk_header(bytes.bytes().first(bytes.size() - 1)), ArrayError);
}

TEST(Protocol, OneChunkOrSeveralArePassedOn) {
  const Buffer one = chunk_bytes({engine::Type::f32, {2, 3}});
  const Buffer two = chunk_bytes({engine::Type::i8, {1}});
  EXPECT_EQ(read_got(encode(GotChunks{{one}}), 1).chunks.at(0), one);
  const auto several = encode(GotChunks{{one, Buffer(), two}});
  const GotChunks got = read_got(several, 3);
  EXPECT_EQ(got.chunks.at(0), one);
  EXPECT_TRUE(got.chunks.at(1).empty());
  EXPECT_EQ(got.chunks.at(2), two);
  EXPECT_THROW((void)read_got(several, 2), ArrayError);
  refuses_what_was_cut(several, [](const comm::Body& body) { return read_got(body, 3); });
  EXPECT_EQ(read_get(encode(GetChunks{{kChunk}})).chunks.at(0), kChunk);

  const PutChunk put = read_put(encode(PutChunk{kChunk, one}));
  EXPECT_EQ(put.chunk, kChunk);
  EXPECT_EQ(put.bytes, one);
}

TEST(Protocol, SaysWhereAClientHasAChunk) {
  const TakeChunk take{kChunk, {engine::Type::f32, {2, 3}}, 24, {"host", {1, 2, 3}, 4}};
  const comm::Body body = encode(take);
  const TakeChunk read = read_take(body);
  EXPECT_EQ(read.chunk, kChunk);
  EXPECT_EQ(read.meta, take.meta);
  EXPECT_EQ(read.bytes, 24u);
  EXPECT_EQ(read.from.host, "host");
  EXPECT_EQ(read.from.process.pid, 1u);
  EXPECT_EQ(read.from.process.proof, 2u);
  EXPECT_EQ(read.from.process.proof_at, 3u);
  EXPECT_EQ(read.from.address, 4u);
  refuses_what_was_cut(body, read_take);
  TakeChunk endless = take;
  endless.bytes = ~std::uint64_t{0};
  EXPECT_THROW((void)read_take(encode(endless)), ArrayError);
}

TEST(Protocol, QuestionsAndAnswersCarryJsonAndBytes) {
  const Ask ask{"submit", {{"session", "a"}}, Buffer::copy_of(as_bytes("graph"))};
  const auto read = read_ask(encode(ask));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->verb, "submit");
  EXPECT_EQ(read->arguments, ask.arguments);
  EXPECT_EQ(read->payload.text(), "graph");
  const auto answer = read_answer(encode(Answer{404, {{"error", "no"}}, {}}));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body.at("error"), "no");
  EXPECT_FALSE(read_ask(comm::Body::text("garbage")));
  EXPECT_FALSE(read_answer(cut(encode(Answer{}), 3)));
}

/// Everything that a worker reports.
Reports all_reports() {
  const WorkerId worker(2);
  const engine::TaskFault fault = engine::TaskFault::retryable;
  return {7,
          worker,
          {{engine::TaskStarted{worker, kTask, 5}, {}, 0, 0, 0},
           {engine::TaskFinished{worker, kTask, 5, {80}, 9}, {{2, 5}}, 1, 100, 200},
           {engine::TaskFailed{worker, kTask, 5, fault, "no", {17}}, {}, 1, 100, 200},
           {engine::ChunksCopied{worker, {{kChunk, 80}}}, {}, 0, 0, 0},
           {engine::ChunksLost{worker, {kChunk}}, {}, 0, 0, 0},
           {engine::MemoryReported{worker, 1000}, {}, 0, 0, 0},
           {engine::WorkerLeaving{worker}, {}, 0, 0, 0}}};
}

TEST(Protocol, ChangesOnlyWithTheWireVersion) {
  std::uint64_t hash = 14695981039346656037ull;
  const auto add = [&](const comm::Body& body) {
    for (const std::byte b : body.buffer().bytes())
      hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 1099511628211ull;
  };
  const engine::Meta meta{engine::Type::f32, {2, 3}};
  Registration registration = some_registration();
  registration.program = {"1", 1};
  add(encode(registration));
  add(encode(all_orders()));
  add(encode(all_reports()));
  add(encode(Beat{1, true, WorkerId(1), true}));
  add(encode(GetChunks{{kChunk}}));
  add(encode(GotChunks{{chunk_bytes(meta), Buffer()}}));
  add(encode(PutChunk{kChunk, chunk_bytes(meta)}));
  add(encode(TakeChunk{kChunk, meta, 24, {"host", {12, 34}, 56}}));
  add(encode(Ask{"verb", {{"a", 1}}, Buffer::copy_of(as_bytes("x"))}));
  add(encode(Answer{200, {{"a", 1}}, Buffer::copy_of(as_bytes("x"))}));
  EXPECT_EQ(hash, 4880674847008315044u)
      << "messages have changed: raise kWireVersion, then put the new value here";
  EXPECT_EQ(kWireVersion, 1u) << "of these messages";
}

}  // namespace
}  // namespace muster::service
