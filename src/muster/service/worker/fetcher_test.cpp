#include "muster/service/worker/fetcher.h"

#include <condition_variable>

#include <gmock/gmock.h>

#include "muster/service/errc.h"
#include "muster/service/worker/chunk_keys.h"
#include "muster/service/worker/worker_testing.h"

namespace muster::service {
namespace {

using engine::ChunkId;
using engine::ChunksCopied;
using engine::ChunksLost;
using testing::HasSubstr;
using testing::SizeIs;

Buffer small_chunk() {
  std::vector<std::byte> bytes(kChunkHeader + 8);
  write_chunk_header(std::span(bytes).first<kChunkHeader>(), {engine::Type::f64, {1}});
  return Buffer::take(std::move(bytes));
}

/// Gives chunks when the door is open; has none beyond number 99; "gone" does not answer.
class DoorSource final : public ChunkSource {
 public:
  Result<GotChunks> get(const std::string& holder, const std::vector<ChunkId>& chunks) override {
    {
      const std::scoped_lock lock(mutex);
      transfers.push_back(chunks);
    }
    door.pass();
    if (holder == "gone") return fail(Errc::unreachable, "it is gone");
    GotChunks got;
    for (const ChunkId chunk : chunks)
      got.chunks.push_back(chunk.index < 100 ? small_chunk() : Buffer());
    return got;
  }

  Door door;
  std::mutex mutex;
  std::vector<std::vector<ChunkId>> transfers;
};

class FetcherTest : public testing::Test {
 protected:
  ReporterNeeds needs() {
    return {[this](const Reports& reports) {
              const std::scoped_lock lock(mutex);
              for (const Report& report : reports.reports) heard.push_back(report);
              return true;
            },
            [](ChunkId) { return true; }, [] { return 0; }};
  }
  template <class Event>
  std::size_t count() {
    const std::scoped_lock lock(mutex);
    return static_cast<std::size_t>(std::ranges::count_if(
        heard, [](const Report& report) { return std::holds_alternative<Event>(report.event); }));
  }
  Fetcher::Done note() {
    return [this](ChunkId, const FetchFailure* failure) {
      const std::scoped_lock lock(mutex);
      outcomes.push_back(failure == nullptr ? "" : failure->message);
    };
  }
  bool has_outcomes(std::size_t wanted) {
    return engine::eventually([&] {
      const std::scoped_lock lock(mutex);
      return outcomes.size() >= wanted;
    });
  }

  std::mutex mutex;
  std::vector<Report> heard;
  std::vector<std::string> outcomes;
  WorkerCounters counters;
  std::shared_ptr<engine::ChunkStore> store = *engine::ChunkStore::open({.budget = 1u << 20});
  Reporter reporter{1, needs()};
  DoorSource source;
  Fetcher fetcher{1, source, *store, reporter, counters};
};

TEST_F(FetcherTest, BringsAChunkOnceForAllWhoWantIt) {
  EXPECT_FALSE(fetcher.want(chunk(1), "a", note()));
  ASSERT_TRUE(source.door.has_visitors(1));
  EXPECT_FALSE(fetcher.want(chunk(1), "a", note()));
  source.door.open();
  ASSERT_TRUE(has_outcomes(2));
  EXPECT_TRUE(fetcher.want(chunk(1), "a", note())) << "it is here now";
  EXPECT_THAT(source.transfers, SizeIs(1));
  reporter.resume(1, engine::WorkerId(1));
  reporter.flush();
}

TEST_F(FetcherTest, PutsChunksOfOneHolderIntoOneTransfer) {
  EXPECT_FALSE(fetcher.want(chunk(1), "a", note()));
  ASSERT_TRUE(source.door.has_visitors(1));
  EXPECT_FALSE(fetcher.want(chunk(2), "a", note()));
  EXPECT_FALSE(fetcher.want(chunk(3), "b", note()));
  EXPECT_FALSE(fetcher.want(chunk(4), "a", note()));
  source.door.open();
  ASSERT_TRUE(has_outcomes(4));
  const std::vector<std::vector<ChunkId>> expected{{chunk(1)}, {chunk(2), chunk(4)}, {chunk(3)}};
  EXPECT_EQ(source.transfers, expected);
}

TEST_F(FetcherTest, FailsAllThatAHolderShouldHaveGivenWhenItIsGone) {
  EXPECT_FALSE(fetcher.want(chunk(1), "gone", note()));
  ASSERT_TRUE(source.door.has_visitors(1));
  EXPECT_FALSE(fetcher.want(chunk(2), "gone", note()));
  source.door.open();
  ASSERT_TRUE(has_outcomes(2));
  EXPECT_THAT(source.transfers, SizeIs(1));
  EXPECT_EQ(outcomes[1], "it is gone");
  EXPECT_EQ(fetcher.on_their_way(), 0u);
}

TEST_F(FetcherTest, SaysWhichChunkAHolderHasNot) {
  source.door.open();
  EXPECT_FALSE(fetcher.want(chunk(100), "a", note()));
  ASSERT_TRUE(has_outcomes(1));
  EXPECT_THAT(outcomes[0], HasSubstr("worker 'a' has no chunk 1/100"));
}

TEST_F(FetcherTest, ReportsCopiesThatDoNotCome) {
  reporter.resume(1, engine::WorkerId(1));
  source.door.open();
  fetcher.copy("a", {chunk(1), chunk(100)});
  EXPECT_TRUE(engine::eventually([&] { return count<ChunksLost>() == 1; }));
  EXPECT_TRUE(engine::eventually([&] { return count<ChunksCopied>() == 1; }));
  fetcher.copy("a", {chunk(1)});
  EXPECT_TRUE(engine::eventually([&] { return count<ChunksCopied>() == 2; })) << "it is here";
}

TEST_F(FetcherTest, DoesNotKeepWhatWasDroppedOnItsWay) {
  fetcher.copy("a", {chunk(1)});
  ASSERT_TRUE(source.door.has_visitors(1));
  fetcher.copy("a", {chunk(2)});
  fetcher.drop_session(kSession);
  source.door.open();
  ASSERT_TRUE(engine::eventually([&] { return fetcher.on_their_way() == 0; }));
  EXPECT_TRUE(store->holdings().empty());
  EXPECT_THAT(source.transfers, SizeIs(1)) << "the second was never asked for";
}

TEST_F(FetcherTest, SaysWhenItIsItsOwnStoreThatHasNoRoom) {
  const auto pinned = engine::put(*store, {9, 9}, 1u << 20);
  ASSERT_TRUE(pinned);
  store->stop();
  source.door.open();
  bool missing = true;
  EXPECT_FALSE(fetcher.want(chunk(1), "a", [&](ChunkId id, const FetchFailure* failure) {
    missing = failure == nullptr || failure->missing;
    note()(id, failure);
  }));
  ASSERT_TRUE(has_outcomes(1));
  EXPECT_FALSE(missing);
}

}  // namespace
}  // namespace muster::service
