#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <string_view>

#include "loop.h"
#include "muster/comm/collective/group.h"

namespace {

using muster::bench::Buffers;
using muster::bench::Operation;

class Muster final : public muster::bench::System {
 public:
  /// `allocates`: inputs lie in memory of the group.
  Muster(muster::comm::Group group, bool allocates)
      : group_(std::move(group)), allocates_(allocates) {}

  [[nodiscard]] int rank() const override { return group_.rank(); }
  [[nodiscard]] int size() const override { return group_.size(); }

  bool run(Operation operation, Buffers& buffers) override {
    const std::size_t blocks = buffers.block * static_cast<std::size_t>(size());
    const std::span in = buffers.input;
    const std::span out(buffers.output);
    switch (operation) {
      case Operation::barrier: return ok(group_.barrier());
      case Operation::broadcast:
        return ok(group_.broadcast((rank() == 0 ? in : out).first(buffers.count)));
      case Operation::scatter:
        return ok(group_.scatter(in.first(blocks), out.first(buffers.block)));
      case Operation::gather: return ok(group_.gather(in.first(buffers.block), out.first(blocks)));
      case Operation::reduce:
        return ok(group_.reduce(in.first(buffers.count), out.first(buffers.count)));
      case Operation::allreduce:
        return ok(group_.allreduce(in.first(buffers.count), out.first(buffers.count)));
      case Operation::allgather:
        return ok(group_.allgather(in.first(buffers.block), out.first(blocks)));
      case Operation::reduce_scatter:
        return ok(group_.reduce_scatter(in.first(blocks), out.first(buffers.block)));
      case Operation::all_to_all: return ok(group_.all_to_all(in.first(blocks), out.first(blocks)));
    }
    return false;
  }

  std::span<float> allocate(std::size_t items) override {
    if (!allocates_) return {};
    input_ = group_.allocate(items * sizeof(float)).value();
    return {reinterpret_cast<float*>(input_.bytes.data()), items};
  }

 private:
  static bool ok(const muster::Result<void>& result) {
    if (!result) std::cerr << "muster: " << result.error().message() << "\n";
    return result.has_value();
  }

  muster::comm::Group group_;
  bool allocates_;
  muster::comm::WritableBuffer input_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  muster::comm::GroupOptions options;
  options.name = "bench";
  options.rank = std::atoi(argv[2]);
  options.size = std::atoi(argv[3]);
  options.discovery = std::string("file:") + argv[1] + "/discovery";
  auto group = muster::comm::Group::join(options);
  if (!group) {
    std::cerr << "muster: " << group.error().message() << "\n";
    return 1;
  }
  Muster muster(*std::move(group), argc > 4 && std::string_view(argv[4]) == "allocate");
  return muster::bench::serve(muster, argv[1], "muster");
}
