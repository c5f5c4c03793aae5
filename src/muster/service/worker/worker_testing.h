#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "muster/base/clock.h"
#include "muster/comm/discovery/memory/memory_board.h"
#include "muster/comm/discovery/memory/memory_store.h"
#include "muster/comm/proxy/proxy.h"
#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/storage/storage_testing.h"
#include "muster/service/protocol/chunks.h"
#include "muster/service/protocol/tags.h"
#include "muster/service/python/pickled_function.h"
#include "muster/service/worker/fake_scheduler.h"
#include "muster/service/worker/test_tasks.h"
#include "muster/service/worker/worker_service.h"

namespace muster::service {

/// A door at which kernels of a test wait until it is opened.
class Door {
 public:
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return open_; });
  }
  [[nodiscard]] bool has_visitors(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return waiting_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

/// Functions of C++ in the place of Python's, by name.
using TestFunctions = std::map<std::string, std::function<void(engine::KernelContext&)>>;

class TestFunction final : public PickledFunction {
 public:
  TestFunction(std::string name, Buffer pickled, std::function<void(engine::KernelContext&)> call)
      : PickledFunction(std::move(name), std::move(pickled)), call_(std::move(call)) {}
  void call(engine::KernelContext& context) const override { call_(context); }

 private:
  std::function<void(engine::KernelContext&)> call_;
};

inline MakePython calls(TestFunctions functions) {
  return [functions](const WorkerOptions&,
                     const std::shared_ptr<engine::ChunkStore>&) -> Result<WorkerPython> {
    return WorkerPython{[functions](std::string name, Buffer pickled) {
      auto call = functions.at(name);
      return std::make_shared<TestFunction>(std::move(name), std::move(pickled), std::move(call));
    }};
  };
}

inline engine::Array array_of(const Buffer& bytes) {
  // Items must be aligned, which a received buffer need not be.
  const auto copy = std::make_shared<std::vector<double>>((bytes.size() + 7) / 8);
  std::memcpy(copy->data(), bytes.data(), bytes.size());
  const ByteSpan whole = std::as_bytes(std::span(*copy)).first(bytes.size());
  return chunk_array(whole, copy);
}

/// A cluster in one process: a fake scheduler and real workers.
class WorkerTest : public testing::Test {
 protected:
  WorkerOptions options(const std::string& name) {
    WorkerOptions options;
    options.name = name;
    options.threads = 2;
    options.role.driver = "inproc";
    options.role.store = std::make_shared<comm::MemoryStore>(board);
    options.role.lease = std::chrono::seconds(3);
    options.store.budget = 16u << 20;
    return options;
  }
  std::unique_ptr<WorkerService> start(const WorkerOptions& options, TestFunctions functions = {}) {
    const std::size_t before = scheduler->registrations().size();
    auto worker = WorkerService::start(options, calls(std::move(functions)));
    EXPECT_TRUE(worker) << worker.error().message();
    EXPECT_TRUE(scheduler->hears_registrations(before + 1));
    EXPECT_TRUE(engine::eventually([&] { return (*worker)->is_registered(); }));
    return *std::move(worker);
  }
  std::unique_ptr<FakeScheduler> schedule(std::uint64_t epoch) {
    return std::make_unique<FakeScheduler>(std::make_shared<comm::MemoryStore>(board), "inproc",
                                           epoch);
  }
  engine::Array fetch(const std::string& worker, std::uint32_t index) {
    const Buffer bytes = scheduler->get(worker, {chunk(index)}).chunks.at(0);
    EXPECT_FALSE(bytes.empty()) << "no chunk " << index;
    return array_of(bytes);
  }

  SteadyClock clock;
  std::shared_ptr<comm::MemoryBoard> board = std::make_shared<comm::MemoryBoard>(clock);
  std::unique_ptr<FakeScheduler> scheduler = schedule(7);
};

}  // namespace muster::service
