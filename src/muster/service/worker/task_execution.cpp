#include "muster/service/worker/task_execution.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/graph/operator.h"
#include "muster/engine/storage/errc.h"
#include "muster/service/protocol/chunks.h"
#include "muster/service/protocol/failure.h"
#include "muster/service/python/process_lost.h"
#include "muster/service/worker/arena_blocks.h"
#include "muster/service/worker/chunk_keys.h"

namespace muster::service {

namespace {

using engine::Array;
using engine::ArrayError;
using engine::ChunkKey;
using engine::Index;
using engine::KernelRow;
using engine::Meta;
using engine::StorageErrc;
using engine::TaskFault;
using engine::Wrong;

/// For the room of spilled inputs, before the task waits until it is alone.
constexpr Duration kPinWait = std::chrono::seconds(5);

/// For the room of a result that refers to inputs, before it is copied and lets go of them: long
/// enough for the disk to take what is in the way.
constexpr Duration kBriefWait = std::chrono::milliseconds(50);

/// Something in the way that another try, or another worker, may not find.
class Shortage : public std::runtime_error {
 public:
  explicit Shortage(const std::string& message) : std::runtime_error(message) {}
};

/// Inputs that the scheduler believes to be here.
struct Missing {
  std::vector<std::uint32_t> chunks;
  std::string message;
};

bool is_gone(const Error& error) {
  return error.is(StorageErrc::absent) || error.is(StorageErrc::corrupt);
}

bool is_shortage(const Error& error) {
  return error.is(StorageErrc::no_room) || error.is(StorageErrc::disk_full) ||
         error.is(StorageErrc::spill_failed) || error.is(StorageErrc::timeout);
}

Array on_heap(const Array& array) {
  std::shared_ptr<std::byte[]> items =
      std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(array.nbytes(), 1));
  std::byte* const data = items.get();
  Array to =
      Array::share(array.dtype(), array.shape(),
                   engine::c_strides(array.shape(), array.item_size()), data, std::move(items));
  engine::copy_items(array, to);
  return to;
}

/// What was read from the disk, perhaps to a place beside the store.
struct HeapChunk {
  HeapChunk(WorkerCounters& counters, std::size_t beside, Buffer from)
      : counted(counters, beside), bytes(std::move(from)) {}
  HeapBytes counted;
  Buffer bytes;
};

double seconds_since(TimePoint start) {
  return std::chrono::duration<double>(SteadyClock().now() - start).count();
}

}  // namespace

class TaskExecution::Attempt {
 public:
  Attempt(TaskExecution& execution, const RunOrder& order, const std::atomic<bool>& cancelled)
      : needs_(execution.needs_),
        admission_(execution.admission_),
        order_(order),
        cancelled_(cancelled) {}

  TaskResult run() {
    TaskResult result;
    try {
      body_ = read_task_body(order_.body.bytes(), needs_.python.make_function);
      kernel_ = engine::registry().find_kernel(body_.kernel);
      if (kernel_ == nullptr)
        engine::wrong_value(fmt::format("this worker has no kernel '{}'", body_.kernel));
      if (!compute()) return result;
      if (!store_outputs(result)) return result;
      result.kind = TaskResult::Kind::finished;
      return result;
    } catch (const Missing& missing) {
      result.missing = missing.chunks;
      fail(result, TaskFault::inputs_missing, Wrong::other, missing.message);
    } catch (const PythonProcessLost& error) {
      fail(result, TaskFault::retryable, error.wrong(), error.what());
    } catch (const ArrayError& error) {
      const bool memory = error.wrong() == Wrong::memory;
      fail(result, memory ? TaskFault::retryable : TaskFault::error, error.wrong(), error.what());
    } catch (const std::bad_alloc&) {
      fail(result, TaskFault::retryable, Wrong::memory, "out of memory");
    } catch (const Shortage& error) {
      fail(result, TaskFault::retryable, Wrong::memory, error.what());
    } catch (const std::exception& error) {
      fail(result, TaskFault::error, Wrong::other, error.what());
    } catch (...) {
      fail(result, TaskFault::error, Wrong::other, "an exception of unknown type");
    }
    return result;
  }

 private:
  void fail(TaskResult& result, TaskFault fault, Wrong wrong, const std::string& message) const {
    result.kind = TaskResult::Kind::failed;
    result.fault = fault;
    result.message = failure_text(wrong, message + where());
  }

  /// False when nobody wants the results any more.
  bool compute() {
    if (!admit(needed())) return false;
    auto inputs = pin_inputs(Else::fail);
    if (!inputs) {
      // Others hold what is in the way, or have cut the room to pieces.
      if (!admit_alone()) return false;
      inputs = pin_inputs(Else::read);
      if (!inputs) throw Shortage(inputs.error().message());
    }
    const TimePoint start = SteadyClock().now();
    engine::KernelContext context(body_.attributes, std::move(*inputs), body_.outputs.size(),
                                  *needs_.memory);
    kernel_->run(context);
    seconds_ = seconds_since(start);
    outputs_ = std::move(context.outputs());
    return !cancelled_;
  }

  /// Bytes in the store that it reads, makes and scribbles on.
  std::size_t needed() {
    std::vector<Index> inputs;
    std::size_t bytes = 0;
    for (const OrderInput& input : order_.inputs) {
      const std::size_t size = needs_.store->size_of(key_of(input.chunk)).value_or(0);
      inputs.push_back(static_cast<Index>(size));
      bytes += size;
    }
    const std::size_t capacity = admission_.capacity();
    if (distinct_bytes(inputs) > capacity)
      throw Shortage(fmt::format(
          "the {} inputs have {} bytes, but the store of this worker only {}: make chunks "
          "smaller or raise workerCacheSize",
          inputs.size(), distinct_bytes(inputs), capacity));
    const std::size_t read = bytes;
    for (const Meta& output : body_.outputs)
      bytes +=
          engine::result_bytes(kernel_, output.dtype, output.shape, read, body_.outputs.size());
    if (kernel_->scratch != nullptr) bytes += kernel_->scratch(body_.attributes, inputs);
    return bytes;
  }

  [[nodiscard]] std::size_t distinct_bytes(const std::vector<Index>& sizes) const {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto before = order_.inputs.begin() + static_cast<std::ptrdiff_t>(i);
      const bool again = sizes.size() <= 64 &&
                         std::any_of(order_.inputs.begin(), before, [&](const OrderInput& other) {
                           return other.chunk == before->chunk;
                         });
      if (!again) bytes += static_cast<std::size_t>(sizes[i]);
    }
    return bytes;
  }

  bool admit(std::size_t bytes) {
    place_ = admission_.enter(bytes);
    return place_ && !cancelled_;
  }

  bool admit_alone() {
    place_.reset();
    place_ = admission_.enter_alone();
    return place_ && !cancelled_;
  }

  /// What to do with an input that is on disk and finds no room.
  enum class Else : std::uint8_t { fail, read };

  /// Whoever fails has let go of all inputs.
  Result<std::vector<Array>> pin_inputs(Else otherwise) {
    const Deadline deadline = SteadyClock().now() + kPinWait;
    std::vector<Array> inputs;
    inputs.reserve(order_.inputs.size());
    Missing missing;
    for (const OrderInput& input : order_.inputs) {
      auto array = pin(key_of(input.chunk), deadline, inputs.size());
      if (!array && otherwise == Else::read && is_shortage(array.error()))
        array = read(key_of(input.chunk));
      if (array) {
        inputs.push_back(*std::move(array));
      } else if (is_gone(array.error())) {
        missing.chunks.push_back(input.chunk.index);
        missing.message = array.error().message();
      } else {
        return muster::fail(array.error());
      }
    }
    if (!missing.chunks.empty()) throw std::move(missing);
    return inputs;
  }

  Result<Array> pin(ChunkKey key, Deadline deadline, std::size_t held) {
    const auto pinned = needs_.store->get(key, deadline, held);
    if (!pinned) return muster::fail(pinned.error());
    return chunk_array(pinned->bytes(), pinned->owner());
  }

  /// Outside of the arena, where the other inputs may lie so that there is no gap for it.
  Result<Array> read(ChunkKey key) {
    auto bytes = needs_.store->read(key);
    if (!bytes) return muster::fail(bytes.error());
    const std::size_t beside = is_in_store(bytes->data()) ? 0 : bytes->size();
    const auto owner =
        std::make_shared<const HeapChunk>(needs_.counters, beside, *std::move(bytes));
    return chunk_array(owner->bytes.bytes(), owner);
  }

  struct Stored {
    std::uint64_t bytes = 0;
    engine::Shape shape;
  };
  using StoredOutputs = std::vector<std::optional<Stored>>;

  /// False when nobody wants the results any more.
  bool store_outputs(TaskResult& result) {
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (!outputs_[i])
        throw std::runtime_error(fmt::format("the kernel did not set output {}", i));
    StoredOutputs stored(outputs_.size());
    // First those that are where they stay: from then on they may leave for the disk.
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const auto sealed = ArenaBlocks::seal(outputs_[i], output_key(i), seconds_);
      if (sealed) keep(stored, i, *sealed);
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (stored[i]) continue;
      const auto copied = copy_patiently(output_key(i), outputs_[i]);
      if (!copied) return drop_outputs(stored);
      keep(stored, i, *copied);
    }
    for (std::optional<Stored>& output : stored) {
      result.output_bytes.push_back(output->bytes);
      result.shapes.push_back(std::move(output->shape));
    }
    return true;
  }

  /// Lets go of an output that is a chunk now. Throws if it did not become one.
  void keep(StoredOutputs& stored, std::size_t number, const Result<void>& made) {
    const Array& array = outputs_[number];
    Result<Stored> kept = Stored{kChunkHeader + array.nbytes(), array.shape()};
    if (!made && made.error().is(StorageErrc::exists))
      kept = made_before(output_key(number));
    else if (!made)
      kept = muster::fail(made.error());
    if (!kept) {
      drop_outputs(stored);
      throw Shortage(kept.error().message());
    }
    stored[number] = *std::move(kept);
    outputs_[number] = {};
    if (heap_) count_heap();
  }

  /// By an earlier attempt at the same task.
  Result<Stored> made_before(ChunkKey key) {
    const auto there = needs_.store->read(key);
    if (!there) return muster::fail(there.error());
    return Stored{there->size(), read_chunk_header(there->bytes()).shape};
  }

  [[nodiscard]] ChunkKey output_key(std::size_t number) const {
    return {order_.task.session.value(), order_.first_output + number};
  }

  /// Never waits for what this task itself keeps in the store. Nothing when nobody wants the
  /// results any more.
  std::optional<Result<void>> copy_patiently(ChunkKey key, const Array& array) {
    auto copied = copy(key, array, SteadyClock().now() + kBriefWait);
    if (copied || !is_shortage(copied.error())) return copied;
    let_go();
    copied = copy(key, array, {});
    if (copied || !is_shortage(copied.error())) return copied;
    if (!admit_alone()) return {};
    return copy(key, array, {});
  }

  /// Outputs that are parts of inputs, or of each other, keep these in the store.
  void let_go() {
    for (Array& output : outputs_)
      if (output && (is_in_store(output.data()) || output.nbytes() == 0)) output = on_heap(output);
    count_heap();
  }

  [[nodiscard]] bool is_in_store(const std::byte* data) const {
    const ByteSpan arena = needs_.store->memory();
    return data >= arena.data() && data < arena.data() + arena.size();
  }

  /// The outputs that wait for room.
  void count_heap() {
    std::size_t bytes = 0;
    for (const Array& output : outputs_)
      if (output && !is_in_store(output.data())) bytes += output.nbytes();
    heap_.emplace(needs_.counters, bytes);
  }

  Result<void> copy(ChunkKey key, const Array& array, Deadline deadline) {
    auto writer = needs_.store->create(key, kChunkHeader + array.nbytes(),
                                       {.seconds = seconds_, .deadline = deadline});
    if (!writer) return muster::fail(writer.error());
    write_chunk_header(writer->bytes().first<kChunkHeader>(), {array.dtype(), array.shape()});
    std::byte* const items = writer->bytes().data() + kChunkHeader;
    if (array.is_c_contiguous()) {
      if (array.nbytes() > 0) std::memcpy(items, array.data(), array.nbytes());
    } else {
      Array to = Array::share(array.dtype(), array.shape(),
                              engine::c_strides(array.shape(), array.item_size()), items, nullptr);
      engine::copy_items(array, to);
    }
    (void)writer->seal();
    needs_.counters.outputs_copied += 1;
    return {};
  }

  bool drop_outputs(const StoredOutputs& stored) {
    for (std::size_t i = 0; i < stored.size(); ++i)
      if (stored[i]) needs_.store->drop(output_key(i));
    return false;
  }

  [[nodiscard]] std::string where() const {
    std::string text = fmt::format("\n  in {} (kernel {}, task {})", body_.operator_name,
                                   body_.kernel, order_.task.index);
    if (!body_.origin.empty()) text += ", made at " + body_.origin;
    return text;
  }

  const ExecutionNeeds& needs_;
  Admission& admission_;
  const RunOrder& order_;
  const std::atomic<bool>& cancelled_;
  TaskBody body_;
  const KernelRow* kernel_ = nullptr;
  std::optional<Admission::Place> place_;
  std::vector<Array> outputs_;
  std::optional<HeapBytes> heap_;  ///< of the outputs, once some wait for room
  double seconds_ = 0;
};

TaskExecution::TaskExecution(ExecutionNeeds needs)
    : needs_(std::move(needs)),
      admission_(needs_.store->stats().capacity, needs_.counters.heap_bytes) {}

engine::ExpectedChunks TaskExecution::expect(const RunOrder& order) const {
  if (order.inputs.empty()) return {};
  std::vector<ChunkKey> keys;
  keys.reserve(order.inputs.size());
  for (const OrderInput& input : order.inputs) keys.push_back(key_of(input.chunk));
  return needs_.store->expect(std::move(keys));
}

void TaskExecution::interrupt(std::thread::id thread) const {
  if (needs_.python.cancel) needs_.python.cancel(thread);
}

void TaskExecution::stop() {
  admission_.stop();
  if (needs_.python.stop) needs_.python.stop();
}

TaskResult TaskExecution::run(const RunOrder& order, const std::atomic<bool>& cancelled) {
  return Attempt(*this, order, cancelled).run();
}

}  // namespace muster::service
