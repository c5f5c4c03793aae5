// Data-parallel training by stochastic gradient descent: every rank draws small batches of its own
// data, the gradients are averaged, and all take the same step. One rank is killed on the way; the
// others go on without it. The program starts its ranks itself, or leaves that to
//
//     muster run --keep-going -n 3 -- build/release/bin/data_parallel

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "muster/muster.h"
#include "roles.h"

using namespace muster::comm;
using example::check;

constexpr int kRanks = 3;
constexpr int kSteps = 300;
constexpr std::size_t kFeatures = 8;
constexpr std::size_t kSamples = 200;  // of each rank
constexpr std::size_t kBatch = 20;

/// Noisy samples of a linear function; its weights are 1, 2, …
struct Samples {
  std::vector<std::vector<float>> inputs;
  std::vector<float> targets;

  explicit Samples(int seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < kSamples; ++i) {
      float target = 0.1F * normal(random);
      auto& input = inputs.emplace_back();
      for (std::size_t j = 0; j < kFeatures; ++j) {
        input.push_back(normal(random));
        target += static_cast<float>(j + 1) * input.back();
      }
      targets.push_back(target);
    }
  }

  [[nodiscard]] std::vector<float> gradient(const std::vector<float>& weights,
                                            std::span<const std::size_t> batch) const {
    std::vector<float> sum(kFeatures);
    for (const std::size_t i : batch) {
      float error = -targets[i];
      for (std::size_t j = 0; j < kFeatures; ++j) error += weights[j] * inputs[i][j];
      for (std::size_t j = 0; j < kFeatures; ++j) sum[j] += error * inputs[i][j];
    }
    for (float& item : sum) item /= static_cast<float>(batch.size());
    return sum;
  }
};

/// Passes over all samples again and again, in a new order each time.
class Batches {
 public:
  explicit Batches(int seed) : random_(static_cast<unsigned>(seed)), order_(kSamples) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  [[nodiscard]] std::span<const std::size_t> next() {
    if (at_ == 0) std::shuffle(order_.begin(), order_.end(), random_);
    const auto batch = std::span(order_).subspan(at_, kBatch);
    at_ = (at_ + kBatch) % kSamples;
    return batch;
  }

 private:
  std::mt19937 random_;
  std::vector<std::size_t> order_;
  std::size_t at_ = 0;
};

// region recover
/// Goes on with the ranks that are left. They may differ by one step, so all take rank 0's.
void recover(Group& group, std::vector<float>& weights, int& step) {
  Shrunk shrunk = group.shrink().value();
  fmt::print("all that are left had finished {} calls, the last: {}\n", shrunk.finished,
             shrunk.last);
  group = std::move(shrunk.group);
  std::vector<int> reached{step};
  check(group.broadcast(reached, 0));
  check(group.broadcast(weights, 0));
  step = reached[0];
  fmt::print("rank {} goes on in step {} with {} ranks\n", group.rank(), step, group.size());
}
// endregion

/// Whether all ranks have the same bits.
bool same_everywhere(Group& group, const std::vector<float>& weights) {
  std::vector<float> first = weights;
  check(group.broadcast(first, 0));
  std::vector<int> same{first == weights ? 1 : 0};
  check(group.allreduce(same, ReductionKind::min));
  return same[0] == 1;
}

int train(Group group) {
  const int ranks = group.size();
  const Samples samples(group.rank());
  Batches batches(group.rank());
  const bool dies = group.rank() == 1;
  std::vector<float> weights(kFeatures);

  // region train
  for (int step = 0; step < kSteps;) {
    if (dies && step == 100) std::raise(SIGKILL);
    std::vector<float> gradient = samples.gradient(weights, batches.next());
    const auto averaged = group.allreduce(gradient, ReductionKind::mean);
    if (!averaged && averaged.error().is(Errc::rank_lost)) {
      recover(group, weights, step);
      continue;
    }
    check(averaged);
    for (std::size_t j = 0; j < kFeatures; ++j) weights[j] -= 0.1F * gradient[j];
    ++step;
  }
  // endregion

  float furthest = 0;
  for (std::size_t j = 0; j < kFeatures; ++j)
    furthest = std::max(furthest, std::abs(weights[j] - static_cast<float>(j + 1)));
  fmt::print("rank {} of {}: the weights are off by at most {:.3f}\n", group.rank(), group.size(),
             furthest);
  const bool same = same_everywhere(group, weights);
  if (!same) fmt::print("the ranks have different weights\n");
  return same && furthest < 0.1F && group.size() == ranks - 1 ? 0 : 1;
}

int join_and_train(const std::string& name) {
  GroupOptions options;
  options.name = name;
  options.size = kRanks;
  return train(Group::join(options).value());
}

int train_as_launched(const std::string& /*group*/) {
  return train(Group::from_environment().value());
}

int main(int argc, char** argv) {
  if (std::getenv("MUSTER_RANK") != nullptr)
    return example::play({.name = "rank", .run = train_as_launched}, "");
  return example::run_roles(
      argc, argv, {{.name = "rank", .run = join_and_train, .processes = kRanks, .killed = 1}});
}
