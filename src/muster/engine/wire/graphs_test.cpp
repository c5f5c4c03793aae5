#include "muster/engine/wire/graphs.h"

#include <complex>

#include <gmock/gmock.h>

#include "muster/engine/errors.h"
#include "muster/engine/graph/operator.h"
#include "muster/engine/graph/python_function.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/creation/full.h"
#include "muster/engine/session/session.h"
#include "muster/engine/wire/programs.h"

namespace muster::engine {
namespace {

using testing::HasSubstr;

Tensor chain() {
  const std::vector<double> items = {1, 2, 3, 4};
  const Tensor x = constant(Array::copy_of(Type::f64, {4}, items.data()), std::int64_t{2});
  return apply_one("sum", {apply_one("add", {x, full({4}, Scalar(1.0))})}, {{"keepdims", true}});
}

TEST(Graphs, ComputeTheSameAfterTheirJourney) {
  const std::vector<Tensor> arrived = read_graph(write_graph({chain()}));
  ASSERT_EQ(arrived.size(), 1u);
  Session session({.threads = 1, .memory = 1u << 20});
  const Array result = session.fetch(arrived.front());
  EXPECT_EQ(result.shape(), Shape{1});
  EXPECT_EQ(*result.as<double>(), 14);
}

// What the wire may hold, though no client writes it. Whoever reads it goes on.
class GraphsOf : public testing::TestWithParam<Tensor> {};

TEST_P(GraphsOf, AnyOperatorOnAnyInputsRunOrAreRefused) {
  const Attributes usual = {{"axis", std::int64_t{0}},
                            {"shape", Ints{2, 2}},
                            {"axes", Ints{0, 1}},
                            {"shift", std::int64_t{1}},
                            {"k", std::int64_t{1}},
                            {"repeats", std::int64_t{2}},
                            {"pads", Ints{1, 1}},
                            {"start", Ints{0, 0}},
                            {"kinds", Ints{0}},
                            {"seed", std::int64_t{1}},
                            {"indices_or_sections", std::int64_t{2}}};
  Session session({.threads = 1, .memory = 64u << 20});
  std::size_t refused = 0;
  for (const OperatorRow* const row : registry().operators()) {
    for (const Attributes& attributes : {Attributes(), usual}) {
      for (std::size_t inputs = 0; inputs < 5; ++inputs) {
        try {
          const std::vector<Tensor> same(inputs, GetParam());
          for (const Tensor& result : apply(*row, same, attributes)) (void)session.fetch(result);
        } catch (const ArrayError&) {
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, registry().operators().size());
}

INSTANTIATE_TEST_SUITE_P(Forms, GraphsOf,
                         testing::Values(full({}, Scalar(1.0)), full({3}, Scalar(std::int64_t{1})),
                                         full({2, 2}, Scalar(1.0)), full({0, 2}, Scalar(true)),
                                         full({3, 2, 2}, Scalar(std::complex<double>(0, 1)),
                                              std::int64_t{1})));

TEST(Graphs, HoldOnlyBoolsThatAreOne) {
  const std::uint8_t items[] = {0, 1, 255};
  const Tensor strange = constant(Array::copy_of(Type::b1, {3}, items), std::int64_t{3});
  try {
    (void)read_graph(write_graph({strange}));
    FAIL();
  } catch (const ArrayError& error) {
    EXPECT_THAT(error.what(), HasSubstr("item 2 is no bool: its byte is 255"));
  }
}

TEST(Graphs, SayWhichVersionIsNotKnown) {
  std::vector<std::byte> bytes = write_graph({chain()});
  bytes[4] = std::byte{9};
  try {
    (void)read_graph(bytes);
    FAIL();
  } catch (const ArrayError& error) {
    EXPECT_THAT(error.what(), HasSubstr("version 9, but this program reads version 2"));
  }
}

TEST(Graphs, NameWhatTheReceiverHas) {
  const Tensor whole = chain();
  Session().execute(whole);
  const auto stored = whole.node()->stored(0);
  const Tensor doubled = apply_one("add", {whole, whole});
  const KeysOf keys = [](const PlanStep& step) {
    return step.is_stored() ? std::vector<std::string>{"x"} : std::vector<std::string>();
  };
  EXPECT_THROW((void)write_graph({doubled}), ArrayError);
  const std::vector<std::byte> bytes = write_graph({doubled}, keys);
  EXPECT_THROW((void)read_graph(bytes), ArrayError);
  const auto find = [&](std::string_view key) { return key == "x" ? stored : nullptr; };
  const Tensor read = read_graph(bytes, find).at(0);
  EXPECT_EQ(read.node()->inputs().at(0).node()->stored(0), stored);
  EXPECT_EQ(read.meta(), doubled.meta());
}

class Named final : public PythonFunction {
 public:
  explicit Named(Buffer pickled) : pickled_(std::move(pickled)) {}
  [[nodiscard]] std::string name() const override { return "named"; }
  [[nodiscard]] Buffer pickled() const override { return pickled_; }
  void call(KernelContext&) const override {}

 private:
  Buffer pickled_;
};

TEST(Graphs, HoldFunctionsOnlyForReadersThatTakeThem) {
  const auto function = std::make_shared<Named>(Buffer::copy_of(as_bytes("pickle")));
  ByteWriter out;
  write_attributes(out, {{"function", std::shared_ptr<const PythonFunction>(function)}});
  const std::vector<std::byte> bytes = out.take();
  ByteReader refusing(bytes);
  EXPECT_THROW((void)read_attributes(refusing), ArrayError);
  ByteReader taking(bytes);
  const Attributes read = read_attributes(taking, [](const std::string& name, Buffer pickled) {
    EXPECT_EQ(name, "named");
    return std::make_shared<Named>(std::move(pickled));
  });
  const auto found = read.get<std::shared_ptr<const PythonFunction>>("function");
  EXPECT_EQ(found->pickled().text(), "pickle");
}

TEST(Graphs, RefuseEveryTruncation) {
  const std::vector<std::byte> whole = write_graph({chain()});
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_THROW((void)read_graph(ByteSpan(whole).first(length)), ArrayError) << length;
}

TEST(Graphs, SurviveEveryFlippedByte) {
  const std::vector<std::byte> whole = write_graph({chain()});
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> bytes = whole;
    bytes[at] ^= std::byte{0xff};
    try {
      (void)read_graph(bytes);  // may be read, as another graph
    } catch (const ArrayError&) {
    }
  }
}

TEST(Programs, AreTheSameAfterTheirJourney) {
  const OperatorRow& sin = *registry().find_operator("sin");
  Program::Builder builder;
  const auto x = builder.input(Type::f64);
  const auto program =
      builder.build(builder.step("sin", *sin.ufunc, 1, {builder.cast(x, Type::f64)}));
  ByteWriter out;
  write_program(out, *program);
  const std::vector<std::byte> bytes = out.take();
  ByteReader in(bytes);
  EXPECT_EQ(text(*read_program(in)), text(*program));
}

}  // namespace
}  // namespace muster::engine
