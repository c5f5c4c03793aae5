#include "muster/engine/execute/executor.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>

#include "muster/engine/errors.h"

namespace muster::engine {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

void make_one(KernelContext& context) {
  Array out = context.make(Type::i64, {});
  *out.mutable_as<std::int64_t>() = 1;
  context.set(std::move(out));
}
void add_up(KernelContext& context) {
  Array out = context.make(Type::i64, {});
  *out.mutable_as<std::int64_t>() = 0;
  for (const Array& input : context.inputs())
    *out.mutable_as<std::int64_t>() += *input.as<std::int64_t>();
  context.set(std::move(out));
}
void refuse(KernelContext&) { wrong_value("[test] this chunk is bad"); }
void doze(KernelContext& context) {
  std::this_thread::sleep_for(5ms);
  make_one(context);
}
constexpr KernelRow kOne{"one", make_one};
constexpr KernelRow kAdd{"add_up", add_up};
constexpr KernelRow kRefuse{"refuse", refuse};
constexpr KernelRow kDoze{"doze", doze};
const Meta kMeta{Type::i64, {}};

class Executor : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override { graph_.begin("test", {"program.py:3"}); }
  ChunkRef add(const KernelRow& kernel, std::vector<ChunkRef> inputs = {}) {
    return {graph_.add(kernel, {}, std::move(inputs), {kMeta}), 0};
  }
  void run(ChunkRef wanted) {
    graph_.pin(wanted);
    const std::vector<ChunkRef> all = {wanted};
    run_tasks(graph_, all, pool_, *memory_, control_);
  }
  std::int64_t value(ChunkRef chunk) {
    return *graph_.tasks()[chunk.task].results[0].as<std::int64_t>();
  }

  ThreadPool pool_{GetParam()};
  std::shared_ptr<Memory> memory_ = Memory::make(1u << 30);
  ChunkGraph graph_;
  RunControl control_;
};

TEST_P(Executor, RunsATreeOfTasks) {
  std::vector<ChunkRef> parts;
  for (int i = 0; i < 1000; ++i) parts.push_back(add(kOne));
  while (parts.size() > 1) {
    std::vector<ChunkRef> next;
    for (std::size_t at = 0; at < parts.size(); at += 4)
      next.push_back(
          add(kAdd, {parts.begin() + static_cast<long>(at),
                     parts.begin() + static_cast<long>(std::min(at + 4, parts.size()))}));
    parts = next;
  }
  run(parts.front());
  EXPECT_EQ(value(parts.front()), 1000);
  EXPECT_EQ(control_.done, control_.tasks);
}

TEST_P(Executor, DropsChunksWhenTheirLastReaderIsDone) {
  const ChunkRef first = add(kOne);
  const ChunkRef second = add(kAdd, {first, first});
  run(second);
  EXPECT_EQ(value(second), 2);
  EXPECT_FALSE(graph_.tasks()[first.task].results[0]);
}

TEST_P(Executor, RunsOnlyWhatIsWanted) {
  const ChunkRef wanted = add(kOne);
  add(kRefuse);
  run(wanted);
  EXPECT_EQ(value(wanted), 1);
}

TEST_P(Executor, SaysWhichOperatorFailedAndWhereItWasMade) {
  const ChunkRef bad = add(kAdd, {add(kOne), add(kRefuse)});
  try {
    run(bad);
    FAIL();
  } catch (const ComputeError& error) {
    EXPECT_EQ(error.wrong(), Wrong::value);
    EXPECT_THAT(error.what(), HasSubstr("[test] this chunk is bad"));
    EXPECT_THAT(error.what(), HasSubstr("made at program.py:3"));
  }
}

TEST_P(Executor, EndsWhenItIsCancelled) {
  std::vector<ChunkRef> parts;
  for (int i = 0; i < 100'000; ++i) parts.push_back(add(kDoze));
  const ChunkRef all = add(kAdd, parts);
  control_.on_wait = [this] { control_.cancel(); };
  try {
    run(all);
    FAIL();
  } catch (const ArrayError& error) {
    EXPECT_EQ(error.wrong(), Wrong::cancelled);
  }
}

TEST_P(Executor, EndsWhenItIsLate) {
  std::vector<ChunkRef> parts;
  for (int i = 0; i < 100'000; ++i) parts.push_back(add(kDoze));
  const ChunkRef all = add(kAdd, parts);
  control_.deadline = RunControl::Clock::now() + 20ms;
  try {
    run(all);
    FAIL();
  } catch (const ArrayError& error) {
    EXPECT_EQ(error.wrong(), Wrong::timeout);
    EXPECT_THAT(error.what(), HasSubstr("of 100001 tasks were done"));
  }
}

TEST_P(Executor, RunsAChainLongerThanAnyStack) {
  ChunkRef last = add(kOne);
  for (int i = 0; i < 200'000; ++i) last = add(kAdd, {last});
  run(last);
  EXPECT_EQ(value(last), 1);
}

INSTANTIATE_TEST_SUITE_P(Threads, Executor, testing::Values(1, 2, 5));

}  // namespace
}  // namespace muster::engine
