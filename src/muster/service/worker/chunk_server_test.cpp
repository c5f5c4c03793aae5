#include "muster/service/worker/chunk_server.h"

#include <algorithm>
#include <cstring>
#include <future>

#include <gmock/gmock.h>

#include "muster/service/worker/chunk_keys.h"
#include "muster/service/worker/worker_testing.h"

namespace muster::service {
namespace {

using engine::ChunkId;
using engine::Index;
using engine::TestFolder;

constexpr std::size_t kServerBudget = 4u << 20;

/// A server whose store holds 4 MiB and spills; nobody reads its answers.
class ChunkServerTest : public testing::Test {
 protected:
  std::shared_ptr<engine::ChunkStore> open() {
    engine::StoreOptions options;
    options.budget = kServerBudget;
    options.spill.directories = {folder.path("spill")};
    // Whoever waits for a pin that does not go gets an error after this, instead of the chunk.
    options.wait = std::chrono::seconds(2);
    return engine::ChunkStore::open(options).value();
  }
  /// Chunks 0, 1, ... of `items` doubles; most of them end up on disk.
  void fill(std::uint32_t count, Index items) {
    const std::size_t bytes = kChunkHeader + static_cast<std::size_t>(items) * 8;
    for (std::uint32_t i = 0; i < count; ++i) {
      auto writer = store->create(key_of(chunk(i)), bytes).value();
      write_chunk_header(writer.bytes().first<kChunkHeader>(), {engine::Type::f64, {items}});
      std::memset(writer.bytes().data() + kChunkHeader, 0, bytes - kChunkHeader);
      (void)writer.seal();
    }
  }
  std::vector<ChunkId> chunks(std::uint32_t first, std::uint32_t count) {
    std::vector<ChunkId> ids;
    for (std::uint32_t i = 0; i < count; ++i) ids.push_back(chunk(first + i));
    return ids;
  }
  std::size_t given(const comm::Body& body, std::size_t asked) {
    const GotChunks got = read_got(body, asked);
    return static_cast<std::size_t>(
        std::ranges::count_if(got.chunks, [](const Buffer& each) { return !each.empty(); }));
  }

  TestFolder folder;
  std::shared_ptr<engine::ChunkStore> store = open();
  WorkerCounters counters;
  Reporter reporter{1,
                    {[](const Reports&) { return true; }, [](ChunkId) { return true; },
                     [] { return std::uint64_t{0}; }}};
  ChunkServer server{2, [](const comm::Message&, const comm::Body&) {}, *store, reporter, counters};
};

TEST_F(ChunkServerTest, GivesMoreChunksInOneAnswerThanMemoryHolds) {
  fill(16, 65'536);  // of 512 KiB: twice the budget
  EXPECT_EQ(given(server.get({chunks(0, 16)}), 16), 16u);
  EXPECT_EQ(store->stats().pinned, 0u);
}

TEST_F(ChunkServerTest, ThreadsThatGatherDoNotWaitForEachOther) {
  fill(8, 240'000);  // two of them fit at a time
  std::vector<std::future<std::size_t>> readers;
  for (std::uint32_t i = 0; i < 4; ++i)
    readers.push_back(std::async(std::launch::async, [this, i] {
      std::size_t count = 0;
      for (int round = 0; round < 5; ++round)
        count += given(server.get({chunks(i % 2 == 0 ? 0 : 4, 4)}), 4);
      return count;
    }));
  for (auto& reader : readers) EXPECT_EQ(reader.get(), 20u);
}

TEST_F(ChunkServerTest, AnswersThatAreNotSentYetPinNothingWhereTheyHaveSeveralChunks) {
  fill(4, 240'000);
  const comm::Body waiting = server.get({chunks(0, 2)});
  const comm::Body another = server.get({chunks(2, 2)});
  EXPECT_EQ(given(server.get({chunks(0, 4)}), 4), 4u);
  EXPECT_EQ(store->stats().pinned, 0u);
  EXPECT_EQ(given(waiting, 2) + given(another, 2), 4u);
}

TEST_F(ChunkServerTest, GivesWhatIsOnDiskWhileAllMemoryIsTaken) {
  fill(8, 240'000);
  std::vector<comm::Body> waiting;  // answers that nobody reads, until there is no room left
  for (std::uint32_t i = 0; i < 8; ++i) waiting.push_back(server.get({chunks(i, 1)}));
  std::vector<engine::PinnedChunk> pinned;
  for (std::uint32_t i = 0; i < 8 && pinned.size() < 2; ++i)
    if (auto chunk_here = store->get(key_of(chunk(i)), engine::in(std::chrono::milliseconds(1))))
      pinned.push_back(*std::move(chunk_here));
  for (const comm::Body& body : waiting) EXPECT_EQ(given(body, 1), 1u);
  EXPECT_EQ(given(server.get({chunks(0, 8)}), 8), 8u);
}

TEST_F(ChunkServerTest, OneChunkAloneIsNotCopied) {
  fill(1, 65'536);
  const comm::Body body = server.get({chunks(0, 1)});
  EXPECT_GT(store->stats().pinned, 0u);
  const ByteSpan memory = store->memory();
  EXPECT_GE(body.buffer().data(), memory.data());
  EXPECT_LT(body.buffer().data(), memory.data() + memory.size());
}

TEST_F(ChunkServerTest, RefusesBoolsThatAreNone) {
  std::vector<std::byte> bytes(kChunkHeader + 2);
  write_chunk_header(std::span(bytes).first<kChunkHeader>(), {engine::Type::b1, {2}});
  bytes.back() = std::byte{255};
  EXPECT_THROW((void)server.put({chunk(0), Buffer::copy_of(bytes)}), engine::ArrayError);
  bytes.back() = std::byte{1};
  EXPECT_EQ(server.put({chunk(0), Buffer::copy_of(bytes)}).status, 200);
}

TakeChunk taking(const std::vector<double>& items, const MemoryProof& proof) {
  return {chunk(0),
          {engine::Type::f64, {std::ssize(items)}},
          items.size() * sizeof(double),
          {memory_host(), proof.memory(), reinterpret_cast<std::uint64_t>(items.data())}};
}

TEST_F(ChunkServerTest, TakesAChunkFromTheMemoryOfAProcessOfItsHost) {
  const MemoryProof proof;
  const std::vector<double> items = {1, 2, 3};
  const TakeChunk take = taking(items, proof);
  ASSERT_EQ(server.take_from_client(take).status, 200);
  EXPECT_EQ(server.take_from_client(take).status, 200) << "asking twice is harmless";
  const comm::Body body = server.get({chunks(0, 1)});
  const engine::Array array = chunk_array(body.buffer().bytes(), nullptr);
  EXPECT_EQ(array.shape(), (engine::Shape{3}));
  EXPECT_EQ(array.as<double>()[2], 3);
  EXPECT_EQ(counters.chunks_uploaded, 1u);
}

TEST_F(ChunkServerTest, DoesNotSayThatItHasAChunkThatIsStillBeingWritten) {
  std::vector<std::byte> bytes(kChunkHeader + 8);
  write_chunk_header(std::span(bytes).first<kChunkHeader>(), {engine::Type::f64, {1}});
  auto first = store->create(key_of(chunk(0)), bytes.size(), {});
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(server.put({chunk(0), Buffer::copy_of(bytes)}).status, 503);
  std::ranges::copy(bytes, first->bytes().begin());
  (void)first->seal();
  EXPECT_EQ(server.put({chunk(0), Buffer::copy_of(bytes)}).status, 200);
}

TEST_F(ChunkServerTest, KeepsNothingOfAChunkThatItCannotTake) {
  const MemoryProof proof;
  const std::vector<double> items = {1, 2, 3};
  const TakeChunk good = taking(items, proof);
  TakeChunk other = good;
  other.from.host = "elsewhere";
  EXPECT_EQ(server.take_from_client(other).status, 409);
  other = good;
  other.from.process.proof ^= 1;
  EXPECT_EQ(server.take_from_client(other).status, 409);
  other = good;
  other.from.address = 8;
  EXPECT_EQ(server.take_from_client(other).status, 409);
  EXPECT_EQ(server.take_from_client(good, SteadyClock().now()).status, 409) << "too late";
  other = good;
  other.bytes = 16;
  EXPECT_THROW((void)server.take_from_client(other), engine::ArrayError);
  EXPECT_EQ(server.get({chunks(0, 1)}).size(), 0u);
  EXPECT_EQ(server.take_from_client(good).status, 200) << "and there is room for the right one";
}

TEST_F(ChunkServerTest, SaysThatAChunkIsNotHereByGivingNothing) {
  fill(1, 1);
  EXPECT_EQ(given(server.get({chunks(0, 3)}), 3), 1u);
  EXPECT_EQ(server.get({chunks(7, 1)}).size(), 0u);
}

}  // namespace
}  // namespace muster::service
