#include <mpi.h>
#include <string>

#include "loop.h"

namespace {

using muster::bench::Buffers;
using muster::bench::Operation;

class Mpi final : public muster::bench::System {
 public:
  Mpi(int* argc, char*** argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~Mpi() override { MPI_Finalize(); }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }

  bool run(Operation operation, Buffers& buffers) override {
    float* const in = buffers.input.data();
    float* const out = buffers.output.data();
    const int count = static_cast<int>(buffers.count);
    const int block = static_cast<int>(buffers.block);
    const MPI_Comm all = MPI_COMM_WORLD;
    switch (operation) {
      case Operation::barrier: return MPI_Barrier(all) == MPI_SUCCESS;
      case Operation::broadcast:
        return MPI_Bcast(rank_ == 0 ? in : out, count, MPI_FLOAT, 0, all) == MPI_SUCCESS;
      case Operation::scatter:
        return MPI_Scatter(in, block, MPI_FLOAT, out, block, MPI_FLOAT, 0, all) == MPI_SUCCESS;
      case Operation::gather:
        return MPI_Gather(in, block, MPI_FLOAT, out, block, MPI_FLOAT, 0, all) == MPI_SUCCESS;
      case Operation::reduce:
        return MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, 0, all) == MPI_SUCCESS;
      case Operation::allreduce:
        return MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, all) == MPI_SUCCESS;
      case Operation::allgather:
        return MPI_Allgather(in, block, MPI_FLOAT, out, block, MPI_FLOAT, all) == MPI_SUCCESS;
      case Operation::reduce_scatter:
        return MPI_Reduce_scatter_block(in, out, block, MPI_FLOAT, MPI_SUM, all) == MPI_SUCCESS;
      case Operation::all_to_all:
        return MPI_Alltoall(in, block, MPI_FLOAT, out, block, MPI_FLOAT, all) == MPI_SUCCESS;
    }
    return false;
  }

 private:
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  Mpi mpi(&argc, &argv);
  return argc == 2 ? muster::bench::serve(mpi, argv[1], "mpi") : 2;
}
