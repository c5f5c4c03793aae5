#include <cstdlib>
#include <memory>
#include <string>

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "loop.h"

namespace {

using muster::bench::Buffers;
using muster::bench::Operation;

class Gloo final : public muster::bench::System {
 public:
  Gloo(const std::string& folder, int rank, int size) {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = "localhost";
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore store(folder);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    context->connectFullMesh(store, device);
    context_ = context;
  }

  [[nodiscard]] int rank() const override { return context_->rank; }
  [[nodiscard]] int size() const override { return context_->size; }

  bool run(Operation operation, Buffers& buffers) override {
    switch (operation) {
      case Operation::barrier: return barrier();
      case Operation::broadcast: return broadcast(buffers);
      case Operation::allreduce: return allreduce(buffers);
      case Operation::allgather: return allgather(buffers);
      case Operation::all_to_all: return all_to_all(buffers);
      default: return false;
    }
  }

 private:
  bool barrier() {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
    return true;
  }
  bool broadcast(Buffers& buffers) {
    gloo::BroadcastOptions options(context_);
    options.setRoot(0);
    options.setOutput(rank() == 0 ? buffers.input.data() : buffers.output.data(), buffers.count);
    gloo::broadcast(options);
    return true;
  }
  bool allreduce(Buffers& buffers) {
    gloo::AllreduceOptions options(context_);
    options.setInput(buffers.input.data(), buffers.count);
    options.setOutput(buffers.output.data(), buffers.count);
    void (*const sum)(void*, const void*, const void*, std::size_t) = &gloo::sum<float>;
    options.setReduceFunction(sum);
    gloo::allreduce(options);
    return true;
  }
  bool allgather(Buffers& buffers) {
    gloo::AllgatherOptions options(context_);
    const auto n = static_cast<std::size_t>(size());
    options.setInput(buffers.input.data(), buffers.block);
    options.setOutput(buffers.output.data(), buffers.block * n);
    gloo::allgather(options);
    return true;
  }
  bool all_to_all(Buffers& buffers) {
    gloo::AlltoallOptions options(context_);
    const auto n = static_cast<std::size_t>(size());
    options.setInput(buffers.input.data(), buffers.block * n);
    options.setOutput(buffers.output.data(), buffers.block * n);
    gloo::alltoall(options);
    return true;
  }

  std::shared_ptr<gloo::Context> context_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  Gloo gloo(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
  return muster::bench::serve(gloo, argv[1], "gloo");
}
