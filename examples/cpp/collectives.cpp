// Three processes compute together; one of them is lost, and the others go on.

#include <numeric>
#include <unistd.h>
#include <vector>

#include "muster/muster.h"
#include "roles.h"

using namespace muster::comm;
using namespace std::chrono_literals;

namespace {

void check(const muster::Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message());
}

GroupOptions options_of(const std::string& group) {
  // region join
  GroupOptions options;
  options.name = group;
  options.size = 3;  // join returns when three processes are there
  // endregion
  return options;
}

void compute(Group& group) {
  // region calls
  std::vector<float> gradient(1000, static_cast<float>(group.rank()));
  check(group.allreduce(gradient, ReductionKind::mean));  // in place: 1.0 everywhere
  check(group.allreduce(gradient, Reduction::of<float>([](float a, float b) { return a * b; })));

  std::vector<int> own{group.rank(), group.rank() * 10};
  std::vector<int> all(2 * static_cast<std::size_t>(group.size()));
  check(group.allgather(own, all));  // 0 0 1 10 2 20

  std::vector<double> model(8);
  if (group.rank() == 0) std::iota(model.begin(), model.end(), 0.0);
  check(group.broadcast(model, 0));
  // endregion
  if (gradient.front() != 1.0F || all[5] != 20 || model[7] != 7.0)
    throw std::runtime_error("wrong");
}

void overlap(Group& group) {
  // region handle
  std::vector<float> layer(100'000, 1.0F);
  Handle sum = group.iallreduce(layer).value();  // goes on while we do something else
  std::vector<int> note{group.rank()};
  check(group.broadcast(note, 0, {.tag = 1}));  // another tag: may overtake the allreduce
  check(sum.wait(10s));
  // endregion
}

int go_on(Group group) {
  // region shrink
  std::vector<float> gradient(1000, 1.0F);
  while (true) {
    const auto result = group.allreduce(gradient, ReductionKind::mean);
    if (result) continue;
    if (!result.error().is(Errc::rank_lost)) return 1;
    fmt::print("{}\n", result.error().message());  // rank 2 of group '…' is lost: …
    Shrunk shrunk = group.shrink().value();
    group = std::move(shrunk.group);  // of those that are left
    break;
  }
  // endregion
  gradient.assign(1000, 1.0F);
  check(group.allreduce(gradient));
  return gradient.front() == 2.0F ? 0 : 1;
}

int take_part(const std::string& name) {
  Group group = Group::join(options_of(name)).value();
  compute(group);
  overlap(group);
  if (group.rank() == 2) ::_exit(0);  // without a word
  return go_on(std::move(group));
}

}  // namespace

int main(int argc, char** argv) { return example::run_roles(argc, argv, {{"rank", take_part, 3}}); }
