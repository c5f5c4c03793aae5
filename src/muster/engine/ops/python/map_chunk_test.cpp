#include "muster/engine/ops/python/map_chunk.h"

#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "muster/engine/errors.h"
#include "muster/engine/graph/python_function.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/session/session.h"

namespace muster::engine {
namespace {

class Given final : public PythonFunction {
 public:
  explicit Given(std::function<void(KernelContext&)> call) : call_(std::move(call)) {}
  [[nodiscard]] std::string name() const override { return "given"; }
  [[nodiscard]] Buffer pickled() const override { return Buffer::copy_of(as_bytes("given")); }
  void call(KernelContext& context) const override { call_(context); }

 private:
  std::function<void(KernelContext&)> call_;
};

Attribute::Value function(std::function<void(KernelContext&)> call) {
  return std::shared_ptr<const PythonFunction>(std::make_shared<Given>(std::move(call)));
}

Tensor ones(Index rows, Index columns) {
  const std::vector<double> items(static_cast<std::size_t>(rows * columns), 1.0);
  return constant(Array::copy_of(Type::f64, {rows, columns}, items.data()), std::int64_t{2});
}

const List kDoubles = {{DType(Type::f64)}};

TEST(MapChunk, KnowsWhereItsChunkIs) {
  Session session({.threads = 2});
  const auto fill = [](KernelContext& context) {
    Array out = context.make(Type::f64, context.input(0).shape());
    const auto index = context.attributes().get<Ints>("chunk_index");
    for (Index i = 0; i < out.size(); ++i)
      out.mutable_as<double>()[i] = static_cast<double>(10 * index[0] + index[1]);
    context.set(std::move(out));
  };
  const Array got = session.fetch(apply_one("map_chunk", {ones(3, 4)},
                                            {{"function", function(fill)},
                                             {"dtypes", kDoubles},
                                             {"elementwise", true},
                                             {"with_chunk_index", true}}));
  EXPECT_EQ(got.shape(), (Shape{3, 4}));
  EXPECT_EQ(got.as<double>()[11], 11);
  EXPECT_EQ(got.as<double>()[0], 0);
}

TEST(MapChunk, LearnsTheSizesOfItsResults) {
  Session session({.threads = 2});
  const auto halve = [](KernelContext& context) {
    const Array& in = context.input(0);
    context.set(in.slice({0, 0}, {1, in.shape()[1]}));
  };
  const Tensor got =
      apply_one("map_chunk", {ones(6, 4)}, {{"function", function(halve)}, {"dtypes", kDoubles}});
  EXPECT_EQ(got.shape(), (Shape{kUnknown, kUnknown}));
  EXPECT_EQ(session.fetch(got).shape(), (Shape{3, 4}));
  EXPECT_EQ(got.shape(), (Shape{3, 4}));
}

TEST(MapChunk, RefusesChunksThatDoNotFitTogether) {
  Session session({.threads = 2});
  const auto odd = [](KernelContext& context) {
    const Index first = context.attributes().get<Ints>("chunk_index")[1];
    context.set(context.make(Type::f64, {1 + first, 1}));
  };
  const Tensor got =
      apply_one("map_chunk", {ones(4, 4)},
                {{"function", function(odd)}, {"dtypes", kDoubles}, {"with_chunk_index", true}});
  EXPECT_THROW((void)session.fetch(got), ArrayError);
}

TEST(MapChunk, RefusesWhatWasNotAnnounced) {
  Session session({.threads = 2});
  const auto whole = [](KernelContext& context) { context.set(context.make(Type::i64, {1, 1})); };
  const auto small = [](KernelContext& context) { context.set(context.make(Type::f64, {1, 1})); };
  for (const auto& each : {function(whole), function(small)})
    EXPECT_THROW((void)session.fetch(
                     apply_one("map_chunk", {ones(4, 4)},
                               {{"function", each}, {"dtypes", kDoubles}, {"elementwise", true}})),
                 ArrayError);
}

}  // namespace
}  // namespace muster::engine
