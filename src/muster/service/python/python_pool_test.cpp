#include "muster/service/python/python_pool.h"

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>
#include <signal.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

#include "muster/base/log.h"
#include "muster/engine/graph/python_function.h"
#include "muster/runtime/poll.h"
#include "muster/service/python/pooled_function.h"
#include "muster/service/python/process_lost.h"
#include "muster/service/python/python_testing.h"

namespace muster::service {
namespace {

using engine::Array;
using engine::ArrayError;
using engine::Attributes;
using engine::KernelContext;
using engine::Memory;
using engine::Type;
using engine::Wrong;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

class PythonPoolTest : public PythonTest {
 protected:
  void open(PythonPoolOptions options = {}) {
    if (options.processes == 0) options.processes = 1;
    auto pool = PythonPool::make(options);
    ASSERT_TRUE(pool) << pool.error().message();
    pool_ = std::move(*pool);
    make_ = pooled_function(pool_);
  }
  /// Calls what an expression gives on arrays, and returns the results.
  std::vector<Array> run(std::string_view expression, std::vector<Array> inputs = {},
                         std::size_t outputs = 1, const Attributes& attributes = {}) {
    const auto function = make_("f", pickled(expression));
    KernelContext context(attributes, std::move(inputs), outputs, *memory_);
    function->call(context);
    return context.outputs();
  }
  double number(std::string_view expression, std::vector<Array> inputs = {}) {
    const Array array = run(expression, std::move(inputs)).front();
    if (array.dtype() == Type::i64) return static_cast<double>(*array.as<std::int64_t>());
    return *array.as<double>();
  }
  std::string error_of(std::string_view expression, Wrong wrong) {
    try {
      (void)run(expression);
    } catch (const ArrayError& error) {
      EXPECT_EQ(error.wrong(), wrong) << error.what();
      return error.what();
    }
    ADD_FAILURE() << expression << " raised nothing";
    return "";
  }
  static void wait_for(const std::function<bool()>& condition) {
    const TimePoint deadline = SteadyClock().now() + seconds(30);
    while (!condition() && SteadyClock().now() < deadline) std::this_thread::yield();
  }
  static Array doubles(std::vector<double> items) {
    return Array::copy_of(Type::f64, {static_cast<engine::Index>(items.size())}, items.data());
  }

  std::shared_ptr<Memory> memory_ = Memory::make(std::size_t{1} << 30);
  std::shared_ptr<PythonPool> pool_;
  engine::MakeFunction make_;
};

constexpr std::string_view kPid =
    "lambda arrays: __import__('numpy').int64(__import__('os').getpid())";

TEST_F(PythonPoolTest, RunsAFunctionInAnotherProcess) {
  open();
  const Array result = run("lambda arrays: arrays[0] * 2 + 1", {doubles({1, 2, 3})}).front();
  ASSERT_EQ(result.shape(), engine::Shape{3});
  EXPECT_EQ(result.as<double>()[2], 7);
  const double pid = number(kPid);
  EXPECT_NE(pid, ::getpid());
  EXPECT_EQ(number(kPid), pid);
}

TEST_F(PythonPoolTest, EndsProcessesThatHaveNothingToDo) {
  open({.processes = 2, .idle_limit = milliseconds(50)});
  const double pid = number(kPid);
  wait_for([&] { return pool_->stats().retired == 1; });
  EXPECT_EQ(pool_->stats().processes, 0u);
  EXPECT_EQ(pool_->stats().memory, 0u);
  EXPECT_NE(number(kPid), pid) << "the next call gets a new one";
  EXPECT_EQ(pool_->stats().lost, 0u);
}

TEST_F(PythonPoolTest, SaysWhatItsProcessesUse) {
  open({.processes = 3});
  (void)number(kPid);
  const PythonPoolStats stats = pool_->stats();
  EXPECT_EQ(stats.most, 3u);
  EXPECT_EQ(stats.processes, 1u);
  EXPECT_EQ(stats.busy, 0u);
  EXPECT_GT(stats.memory, 1u << 20);
}

TEST_F(PythonPoolTest, ReadsChunksWhereTheyLieInTheStore) {
  auto store = engine::ChunkStore::open({.budget = 32 << 20});
  ASSERT_TRUE(store) << store.error().message();
  const std::size_t items = 1 << 20;
  auto writer = (*store)->create({1, 1}, items * sizeof(double));
  ASSERT_TRUE(writer) << writer.error().message();
  const std::span bytes = writer->bytes();
  for (std::size_t i = 0; i < items; ++i) {
    const auto value = static_cast<double>(i);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  auto pinned = writer->seal();
  const Array whole =
      Array::share(Type::f64, {1024, 1024}, {8192, 8}, pinned.bytes().data(), pinned.owner());
  open({.store = *store});
  EXPECT_EQ(number("lambda arrays: arrays[0].sum()", {whole}), 1024.0 * 1024 * (items - 1) / 2);
  EXPECT_EQ(number("lambda arrays: arrays[0][0, 1]", {whole.transposed({1, 0})}), 1024);
  EXPECT_EQ(number("lambda arrays: float(type(arrays[0].base).__name__ == 'mmap')", {whole}), 1);
  EXPECT_EQ(number("lambda arrays: float(arrays[0].flags.writeable)", {whole}), 0);
  EXPECT_THROW(run("lambda arrays: arrays[0].fill(0)", {whole}), ArrayError);
  // What is not in the store is sent along, whatever its strides.
  EXPECT_EQ(number("lambda arrays: arrays[0][1] - arrays[1][0]",
                   {doubles({1, 2, 3}).slice({2}, {2}, {-1}), doubles({5})}),
            -3);
}

TEST_F(PythonPoolTest, SendsLongInputsThroughMemory) {
  open();
  const std::vector<double> many(1 << 20, 0.5);
  EXPECT_EQ(number("lambda arrays: arrays[0].sum()", {doubles(many)}), 0.5 * (1 << 20));
}

TEST_F(PythonPoolTest, GivesSeveralResultsOfAnySize) {
  open();
  const auto results =
      run("lambda arrays: [arrays[0], __import__('numpy').ones((300, 1000), 'complex128'), "
          "__import__('numpy').empty((0, 3), 'datetime64[ns]')]",
          {doubles({1})}, 3);
  EXPECT_EQ(results[0].as<double>()[0], 1);
  EXPECT_EQ(results[1].shape(), (engine::Shape{300, 1000}));
  EXPECT_EQ(results[1].as<std::complex<double>>()[299'999], 1.0);
  EXPECT_EQ(results[2].shape(), (engine::Shape{0, 3}));
  EXPECT_EQ(name(results[2].dtype()), "datetime64[ns]");
}

TEST_F(PythonPoolTest, TellsTheFunctionWhereItsChunkIs) {
  open();
  const Attributes attributes = {{"chunk_index", engine::Ints{2, 5}}};
  const Array result =
      run("lambda arrays, index: __import__('numpy').int64(index[0] * 10 + index[1])", {}, 1,
          attributes)
          .front();
  EXPECT_EQ(*result.as<std::int64_t>(), 25);
}

TEST_F(PythonPoolTest, GivesExceptionsWithTheirTraceback) {
  open();
  const double before = number(kPid);
  EXPECT_THAT(error_of("lambda arrays: {}['key']", Wrong::other),
              AllOf(HasSubstr("KeyError: 'key'"), HasSubstr("<string>"), HasSubstr("'f'")));
  EXPECT_THAT(error_of("lambda arrays: 1 / 0", Wrong::zero_division),
              HasSubstr("ZeroDivisionError: division by zero"));
  EXPECT_THAT(error_of("lambda arrays: int('x')", Wrong::value), HasSubstr("invalid literal"));
  EXPECT_THAT(error_of("lambda arrays: (1, 2)", Wrong::value), HasSubstr("2 results instead of 1"));
  EXPECT_THAT(error_of("lambda arrays: 'text'", Wrong::type), HasSubstr("no items of dtype"));
  EXPECT_THAT(error_of("lambda arrays: __import__('sys').exit(3)", Wrong::other),
              HasSubstr("SystemExit: 3"));
  EXPECT_THAT(error_of("__import__('no_such_module')", Wrong::other),
              AllOf(HasSubstr("no_such_module"), HasSubstr("register_pickle_by_value")));
  EXPECT_EQ(number(kPid), before);
  EXPECT_EQ(pool_->stats().raised, 7);
}

TEST_F(PythonPoolTest, ReplacesAProcessThatDies) {
  open();
  const double before = number(kPid);
  const auto lost = [&](std::string_view expression) -> std::string {
    try {
      (void)run(expression);
    } catch (const PythonProcessLost& error) {
      return error.what();
    }
    return "nothing was lost";
  };
  EXPECT_THAT(lost("lambda arrays: [print('so far', file=__import__('sys').stderr), "
                   "__import__('os')._exit(7)]"),
              AllOf(HasSubstr("'f' is lost"), HasSubstr("exit code 7"), HasSubstr("so far")));
  EXPECT_THAT(lost("lambda arrays: __import__('ctypes').string_at(0)"),
              AllOf(HasSubstr("SIGSEGV"), HasSubstr("Segmentation fault")));
  EXPECT_THAT(lost("lambda arrays: __import__('os').kill(__import__('os').getpid(), 9)"),
              AllOf(HasSubstr("SIGKILL"), HasSubstr("memory")));
  EXPECT_THAT(lost("lambda arrays: __import__('os').write(3, b'MPYF' + bytes(60))"),
              HasSubstr("no frame"));
  EXPECT_NE(number(kPid), before);
  EXPECT_EQ(pool_->stats().lost, 4);
  EXPECT_EQ(pool_->stats().processes, 1);
}

TEST_F(PythonPoolTest, ReplacesAProcessThatDiedWhileNobodyUsedIt) {
  open();
  const double before = number(kPid);
  const auto process = watch_process(static_cast<pid_t>(before));
  ASSERT_TRUE(process);
  signal_process(*process, SIGKILL);
  std::array slots{pollfd{.fd = process->get(), .events = POLLIN, .revents = 0}};
  ASSERT_TRUE(poll_until(slots, SteadyClock().now() + seconds(20)));
  EXPECT_NE(number(kPid), before);
  EXPECT_EQ(pool_->stats().lost, 0U);
}

TEST_F(PythonPoolTest, KillsAFunctionThatTakesTooLong) {
  open({.call_limit = milliseconds(300)});
  (void)number(kPid);
  EXPECT_THAT(error_of("lambda arrays: __import__('time').sleep(60)", Wrong::timeout),
              HasSubstr("longer than the 0.3 s"));
  EXPECT_GT(number(kPid), 0);
}

TEST_F(PythonPoolTest, KillsAFunctionThatIsCancelled) {
  open();
  (void)number(kPid);
  std::atomic<std::thread::id> caller;
  std::string error;
  std::jthread thread([&] {
    caller = std::this_thread::get_id();
    error =
        error_of("lambda arrays: __import__('subprocess').run(['sleep', '60'])", Wrong::cancelled);
  });
  wait_for([&] { return pool_->stats().busy > 0; });
  pool_->cancel(caller);
  thread.join();
  EXPECT_THAT(error, HasSubstr("cancelled"));
  EXPECT_GT(number(kPid), 0);
}

TEST_F(PythonPoolTest, CancelsCallsThatWaitForAProcess) {
  open();
  (void)number(kPid);
  std::atomic<std::thread::id> first;
  std::atomic<std::thread::id> second;
  const auto sleep = [&](std::atomic<std::thread::id>& id) {
    id = std::this_thread::get_id();
    (void)error_of("lambda arrays: __import__('time').sleep(60)", Wrong::cancelled);
  };
  std::jthread one(sleep, std::ref(first));
  wait_for([&] { return pool_->stats().busy > 0; });
  std::jthread two(sleep, std::ref(second));
  wait_for([&] { return second.load() != std::thread::id(); });
  const std::jthread canceller([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pool_->cancel(second);
      std::this_thread::yield();
    }
  });
  two.join();
  pool_->cancel(first);
  one.join();
}

TEST_F(PythonPoolTest, StopEndsCallsThatGoOn) {
  open();
  (void)number(kPid);
  std::jthread thread(
      [&] { EXPECT_THROW(run("lambda arrays: __import__('time').sleep(60)"), PythonProcessLost); });
  wait_for([&] { return pool_->stats().busy > 0; });
  pool_->stop();
  thread.join();
  EXPECT_THROW(run(kPid), PythonProcessLost);
}

TEST_F(PythonPoolTest, RunsEightTasksOnTwoProcesses) {
  open({.processes = 2});
  std::mutex mutex;
  std::set<double> pids;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      const double pid = number(kPid);
      const double sum =
          number("lambda arrays: arrays[0].sum()",
                 {doubles(std::vector<double>(1000 + static_cast<std::size_t>(i), 1))});
      EXPECT_EQ(sum, 1000 + i);
      const std::lock_guard lock(mutex);
      pids.insert(pid);
    });
  threads.clear();
  EXPECT_LE(pids.size(), 2U);
  EXPECT_EQ(pool_->stats().calls, 16U);
  EXPECT_LE(pool_->stats().processes, 2U);
}

TEST_F(PythonPoolTest, RecyclesAProcessThatGrowsOrServedLong) {
  open({.process = {.most_growth = 64 << 20}});
  const double before = number(kPid);
  (void)run(
      "lambda arrays: __import__('builtins').__dict__.setdefault('leak', "
      "__import__('numpy').ones(1 << 24)).sum()");
  const double after = number(kPid);
  EXPECT_NE(after, before);
  EXPECT_EQ(pool_->stats().recycled, 1U);

  open({.process = {.most_calls = 2}});
  const double first = number(kPid);
  EXPECT_EQ(number(kPid), first);
  EXPECT_NE(number(kPid), first);
}

TEST_F(PythonPoolTest, RefusesResultsThatAreTooLarge) {
  open({.most_output = 1 << 20});
  EXPECT_THAT(error_of("lambda arrays: __import__('numpy').zeros(1 << 20)", Wrong::memory),
              HasSubstr("more than the 1048576"));
  open({.process = {.most_memory = std::size_t{2} << 30}});
  EXPECT_THAT(error_of("lambda arrays: __import__('numpy').ones(1 << 30)", Wrong::memory),
              HasSubstr("allocate"));
}

TEST_F(PythonPoolTest, SendsAFunctionOnceAndForgetsManyAtATime) {
  open();
  const std::string counting =
      "(lambda calls: lambda arrays: [calls.append(1), "
      "__import__('numpy').int64(len(calls))][1])([])";
  EXPECT_EQ(number(counting), 1);
  {
    const auto kept = make_("f", pickled(counting));
    EXPECT_EQ(number(counting), 1);  // The first was forgotten with its last task.
    EXPECT_EQ(number(counting), 2);
    for (int i = 0; i < 200; ++i) (void)number("lambda arrays: 1.0 * " + std::to_string(i));
    EXPECT_EQ(number(counting), 1);
  }
}

TEST_F(PythonPoolTest, KeepsSecretsFromFunctions) {
  ::setenv("MUSTER_SECRET", "hidden", 1);
  ::setenv("MUSTER_WEB_TOKEN", "hidden", 1);
  open();
  EXPECT_EQ(number("lambda arrays: float('hidden' in __import__('os').environ.values())"), 0);
  EXPECT_EQ(number("lambda arrays: float(__import__('os').environ['OMP_NUM_THREADS'])"), 1);
  EXPECT_EQ(number("lambda arrays: float(len(__import__('os').listdir('/proc/self/fd')))"), 5);
  ::unsetenv("MUSTER_SECRET");
  ::unsetenv("MUSTER_WEB_TOKEN");
}

TEST_F(PythonPoolTest, PassesWhatFunctionsPrintOnToTheLog) {
  std::mutex mutex;
  std::string lines;
  set_log_level(LogLevel::info);
  set_log_sink([&](LogLevel, std::string_view area, std::string_view text) {
    const std::lock_guard lock(mutex);
    lines.append(area).append(" ").append(text).append("\n");
  });
  open();
  const double pid = number(
      "lambda arrays: [print('hello\\nagain'), "
      "__import__('numpy').int64(__import__('os').getpid())][1]");
  set_log_sink({});
  set_log_level(LogLevel::warning);
  EXPECT_THAT(lines, HasSubstr("python [" + std::to_string(static_cast<pid_t>(pid)) + "] hello\n"));
  EXPECT_THAT(lines, HasSubstr("] again\n"));
}

TEST_F(PythonPoolTest, SaysWhenNoInterpreterCanRunFunctions) {
  open({.python = "/no/such/python"});
  EXPECT_THAT(error_of(kPid, Wrong::other),
              AllOf(HasSubstr("'/no/such/python'"), HasSubstr("MUSTER_PYTHON")));
  ::setenv("PYTHONPATH", "/nowhere", 1);
  open({.python = "/usr/bin/python3"});  // the system's own has no muster
  EXPECT_THAT(
      error_of(kPid, Wrong::other),
      AllOf(HasSubstr("No module named"), HasSubstr("import muster"), HasSubstr("--python")));
}

TEST_F(PythonPoolTest, ProcessesEndWithThePool) {
  open();
  const auto pid = static_cast<pid_t>(number(kPid));
  pool_.reset();
  make_ = {};
  EXPECT_NE(::kill(pid, 0), 0);
}

}  // namespace
}  // namespace muster::service
