#include "muster/service/client/cluster_session.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/engine/errors.h"
#include "muster/engine/session/stored_chunks.h"
#include "muster/service/client/connection.h"
#include "muster/service/client/downloads.h"
#include "muster/service/client/remote_execution.h"
#include "muster/service/client/remote_stored.h"
#include "muster/service/client/uploads.h"

namespace muster::service {

namespace {

using namespace std::chrono_literals;
using engine::Array;
using engine::ArrayError;
using engine::Node;
using engine::RunControl;
using engine::Shape;
using engine::Tensor;
using engine::Wrong;

constexpr auto kLook = 50ms;
constexpr int kGone = 410;
constexpr int kExecutionsAgain = 3;

std::shared_ptr<const engine::Stored> stored_of(const Tensor& tensor) {
  return tensor.node()->stored(tensor.output());
}

/// Takes results off the graph that are on a cluster and that `drop` chooses: they are computed
/// again.
template <class Drop>
void drop_results(const std::vector<Tensor>& tensors, Drop&& drop) {
  std::unordered_set<Node*> seen;
  std::vector<Node*> rest;
  for (const Tensor& tensor : tensors) rest.push_back(tensor.node().get());
  while (!rest.empty()) {
    Node* const node = rest.back();
    rest.pop_back();
    if (!seen.insert(node).second) continue;
    bool stored = true;
    for (std::size_t output = 0; output < node->outputs(); ++output) {
      const auto result = node->stored(output);
      const auto* const remote = dynamic_cast<const RemoteStored*>(result.get());
      const bool dropped = remote != nullptr && drop(*remote);
      if (dropped) node->keep(output, nullptr);
      stored = stored && result != nullptr && !dropped;
    }
    if (!stored)
      for (const Tensor& input : node->inputs()) rest.push_back(input.node().get());
  }
}

void drop_closed_results(const std::vector<Tensor>& tensors) {
  drop_results(tensors, [](const RemoteStored& stored) { return !stored.connection().is_open(); });
}

/// Those that have no result yet, each once.
std::vector<Tensor> unexecuted(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors)
    if (!stored_of(tensor) && std::find(out.begin(), out.end(), tensor) == out.end())
      out.push_back(tensor);
  return out;
}

void check_control(const RunControl& control) {
  if (control.on_wait) control.on_wait();
  if (control.cancelled()) throw ArrayError(Wrong::cancelled, "the execution was cancelled");
  if (control.deadline && RunControl::Clock::now() > *control.deadline)
    throw ArrayError(Wrong::timeout,
                     fmt::format("the execution did not end in time: {} of {} tasks were done",
                                 control.done.load(), control.tasks.load()));
}

/// Runs it in a thread of its own, so that this one can look whether the caller has had enough.
void run_watched(RemoteExecution& execution, const RunControl& control) {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::exception_ptr error;
  std::jthread runner([&](const std::stop_token& stop) {
    std::exception_ptr raised;
    try {
      execution.run(stop);
    } catch (...) {
      raised = std::current_exception();
    }
    const std::scoped_lock lock(mutex);
    error = raised;
    over = true;
    changed.notify_one();
  });
  std::exception_ptr enough;
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, kLook, [&] { return over; })) {
    if (enough) continue;
    lock.unlock();
    try {
      check_control(control);
    } catch (...) {
      enough = std::current_exception();
      runner.request_stop();
      execution.cancel();
    }
    lock.lock();
  }
  if (enough) std::rethrow_exception(enough);
  if (error) std::rethrow_exception(error);
}

void check_part(const Shape& shape, const Shape& start, const Shape& extents) {
  if (start.size() != shape.size() || extents.size() != shape.size())
    throw ArrayError(Wrong::index, "the part has another number of axes than the tensor");
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (start[axis] < 0 || extents[axis] < 0 || extents[axis] > shape[axis] - start[axis])
      throw ArrayError(Wrong::index, "the part lies outside of the tensor");
}

}  // namespace

class ClusterSession::Impl {
 public:
  Impl(std::shared_ptr<Connection> connection, ClusterOptions options)
      : options_(std::move(options)),
        connection_(std::move(connection)),
        uploads_(connection_, options_.connections) {}
  ~Impl() { close(); }

  void close() { connection_->close(); }

  void execute(const std::vector<Tensor>& tensors, const engine::Options& options,
               RunControl& control) {
    connection_->check_open();
    check_control(control);
    uploads_.sweep();
    connection_->release_now();
    drop_closed_results(tensors);
    std::vector<Tensor> wanted = unexecuted(tensors);
    if (wanted.empty()) return;
    RemoteExecution execution(connection_, uploads_, std::move(wanted), options, control);
    run_watched(execution, control);
  }

  std::shared_ptr<const engine::Stored> result(const Tensor& tensor, const Waiting& waiting) {
    drop_closed_results({tensor});
    if (!stored_of(tensor)) {
      RunControl control;
      control.on_wait = waiting;
      execute({tensor}, options_.options, control);
    }
    return stored_of(tensor);
  }

  Array fetch(const Tensor& tensor, const Waiting& waiting) {
    return found(tensor, waiting, [&](const engine::Stored& stored) {
      if (const auto* const remote = dynamic_cast<const RemoteStored*>(&stored))
        return download_all(*remote, options_.connections, waiting);
      return engine::assemble(stored, connection_->memory());
    });
  }

  Array fetch_part(const Tensor& tensor, const Shape& start, const Shape& extents,
                   const Waiting& waiting) {
    return found(tensor, waiting, [&](const engine::Stored& stored) {
      check_part(engine::shape_of(stored.splits()), start, extents);
      if (const auto* const remote = dynamic_cast<const RemoteStored*>(&stored))
        return download_part(*remote, start, extents, options_.connections, waiting);
      return engine::assemble_part(stored, start, extents, connection_->memory());
    });
  }

  [[nodiscard]] const ClusterOptions& options() const { return options_; }
  [[nodiscard]] const Connection& connection() const { return *connection_; }

 private:
  /// What `find` gets of a result. If workers took it along, together with uploaded data that it
  /// was made from, it is executed again: the data is still here.
  template <class Find>
  Array found(const Tensor& tensor, const Waiting& waiting, Find&& find) {
    for (int attempt = 0;; ++attempt) {
      try {
        return find(*result(tensor, waiting));
      } catch (const Refused& refused) {
        if (refused.status() != kGone || attempt == kExecutionsAgain) throw;
        log(LogLevel::info, "client", "{}", refused.what());
      }
      drop_results({tensor}, [&](const RemoteStored& stored) {
        return &stored.connection() == connection_.get();
      });
    }
  }

  ClusterOptions options_;
  std::shared_ptr<Connection> connection_;
  Uploads uploads_;
};

Result<std::unique_ptr<ClusterSession>> ClusterSession::open(const std::string& url,
                                                             ClusterOptions options) {
  auto connection = Connection::open(
      url,
      {{options.token, options.tls_ca, options.timeout}, options.name, options.session_timeout});
  if (!connection) return fail(connection.error());
  return std::unique_ptr<ClusterSession>(
      new ClusterSession(std::make_unique<Impl>(*std::move(connection), std::move(options))));
}

ClusterSession::ClusterSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClusterSession::~ClusterSession() = default;

void ClusterSession::close() { impl_->close(); }

void ClusterSession::execute(const std::vector<Tensor>& tensors) {
  execute(tensors, impl_->options().options);
}

void ClusterSession::execute(const std::vector<Tensor>& tensors, const engine::Options& options,
                             RunControl* control) {
  RunControl own;
  impl_->execute(tensors, options, control == nullptr ? own : *control);
}

Array ClusterSession::fetch(const Tensor& tensor, const Waiting& waiting) {
  return impl_->fetch(tensor, waiting);
}

Array ClusterSession::fetch_part(const Tensor& tensor, const Shape& start, const Shape& extents,
                                 const Waiting& waiting) {
  return impl_->fetch_part(tensor, start, extents, waiting);
}

Array ClusterSession::fetch_as(const Tensor& tensor, engine::Type type) {
  const engine::DType dtype = tensor.dtype();
  const engine::Type stored = engine::is_time(dtype.type) ? engine::Type::i64 : dtype.type;
  if (stored != type)
    engine::wrong_type(fmt::format("[fetch] the items are {}, not {}", engine::name(dtype),
                                   engine::name(engine::DType(type))));
  return fetch(tensor).contiguous(impl_->connection().memory());
}

nlohmann::json ClusterSession::cluster_info() const {
  impl_->connection().check_open();
  return impl_->connection().web().get("/api/cluster");
}

const std::string& ClusterSession::url() const { return impl_->connection().web().url(); }

}  // namespace muster::service
