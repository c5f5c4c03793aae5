#include "muster/engine/session/explain.h"

#include <gmock/gmock.h>

#include "muster/engine/ops/creation/full.h"

namespace muster::engine {
namespace {

using testing::HasSubstr;

TEST(Explain, ShowsOperatorsPassesAndTasks) {
  const Tensor x = full({1000, 10}, Scalar(1.0), Ints{100, 10});
  const Tensor y = apply_one("sum", {apply_one("sin", {apply_one("add", {x, x})})});
  const std::string shown = text(explain({y}, {}));
  EXPECT_THAT(shown, HasSubstr("%1 = add(%0, %0)  float64 (1000, 10)"));
  EXPECT_THAT(shown, HasSubstr("fuse_elementwise"));
  EXPECT_THAT(shown, HasSubstr("t0 = add(x0, x0); t1 = sin(t0)"));
  EXPECT_THAT(shown, HasSubstr("10 tasks"));
}

TEST(Explain, RunsNothing) {
  const Tensor x = full({10}, Scalar(1.0));
  (void)explain({x}, {});
  EXPECT_EQ(x.node()->stored(0), nullptr);
}

}  // namespace
}  // namespace muster::engine
