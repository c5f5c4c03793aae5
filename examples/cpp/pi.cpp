// The area under 4 / (1 + x²) between 0 and 1, shared out over the ranks that a launcher started:
//
//   muster run -n 4 -- build/release/bin/pi
//
// Started alone, it is a group of one.

#include <array>
#include <string>

#include "muster/muster.h"
#include "roles.h"

using example::check;
using muster::comm::Group;

constexpr int kStrips = 1'000'000;

int compute(const std::string& /*group*/) {
  // region from-environment
  Group group = Group::from_environment().value();  // returns when all ranks are there
  double area = 0;
  for (int i = group.rank(); i < kStrips; i += group.size()) {
    const double x = (i + 0.5) / kStrips;
    area += 4 / (1 + x * x) / kStrips;
  }
  std::array sum = {area};
  check(group.allreduce(sum));
  if (group.rank() == 0) fmt::print("pi is {:.6f}, say {} ranks\n", sum[0], group.size());
  // endregion
  return 0;
}

int main() { return example::play({"rank", compute}, ""); }
