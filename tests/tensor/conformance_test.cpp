#include <cmath>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "muster/engine/errors.h"
#include "muster/engine/graph/operator.h"
#include "muster/engine/kernels/ufunc.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/optimise/plan.h"
#include "muster/engine/session/session.h"

namespace muster::engine {
namespace {

using nlohmann::json;
using Complex = std::complex<double>;

double real_of(const json& item) {
  if (item.is_string()) return std::stod(item.get<std::string>());
  if (item.is_boolean()) return item.get<bool>() ? 1 : 0;
  return item.get<double>();
}

Array array_of(const json& from) {
  const DType dtype = *dtype_named(from.at("dtype").get<std::string>());
  const auto shape = from.at("shape").get<Shape>();
  std::vector<std::byte> items(from.at("items").size() * item_size(dtype) + 1);
  std::byte* to = items.data();
  for (const json& item : from.at("items")) {
    Scalar scalar;
    if (item.is_array())
      scalar = Scalar(Complex(real_of(item[0]), real_of(item[1])));
    else if (item.is_number_unsigned())
      scalar = Scalar(item.get<std::uint64_t>());
    else if (item.is_number_integer())
      scalar = Scalar(item.get<std::int64_t>());
    else
      scalar = Scalar(real_of(item));
    std::memcpy(to, scalar.cast(dtype).data(), item_size(dtype));
    to += item_size(dtype);
  }
  return Array::copy_of(dtype, shape, items.data());
}

Attributes parameters_of(const json& one) {
  Attributes::Pairs pairs;
  if (one.contains("parameters"))
    for (const auto& [name, value] : one["parameters"].items()) {
      if (value.is_boolean()) pairs.emplace_back(name, value.get<bool>());
      if (value.is_number_integer()) pairs.emplace_back(name, value.get<std::int64_t>());
      if (value.is_number_float()) pairs.emplace_back(name, value.get<double>());
      if (value.is_string()) pairs.emplace_back(name, value.get<std::string>());
      if (value.is_array()) pairs.emplace_back(name, value.get<Ints>());
    }
  return Attributes(std::move(pairs));
}

Complex item_of(const Array& array, Index number) {
  const std::byte* const at = array.data() + number * static_cast<Index>(array.item_size());
  return Scalar(array.dtype(), at).cast(Type::c128).as<Complex>();
}

bool same_part(double got, double wanted, double tolerance) {
  if (std::isnan(wanted)) return std::isnan(got);
  if (got == wanted) return true;
  return tolerance > 0 && std::abs(got - wanted) <= tolerance * std::max(1.0, std::abs(wanted));
}

/// How a case is run: the size of chunks, threads, and whether anything is optimised.
struct Way {
  Index chunk_size;
  std::size_t threads;
  bool optimised;
};
constexpr std::array<Way, 4> kWays = {
    {{1'000'000, 1, true}, {2, 2, true}, {2, 1, false}, {1, 3, true}}};

class Conformance : public testing::TestWithParam<std::string> {};

std::vector<Tensor> results_of(const json& one, Index chunk_size) {
  std::vector<Tensor> inputs;
  for (const json& input : one["inputs"]) inputs.push_back(constant(array_of(input), chunk_size));
  return apply(one["operator"].get<std::string>(), std::move(inputs), parameters_of(one));
}

void expect_same(const Array& got, const Array& wanted, double tolerance,
                 const std::string& which) {
  ASSERT_EQ(name(got.dtype()), name(wanted.dtype())) << which;
  ASSERT_EQ(got.shape(), wanted.shape()) << which;
  for (Index i = 0; i < wanted.size(); ++i) {
    const Complex a = item_of(got, i);
    const Complex b = item_of(wanted, i);
    ASSERT_TRUE(same_part(a.real(), b.real(), tolerance) &&
                same_part(a.imag(), b.imag(), tolerance))
        << which << ": item " << i << " is " << a << " instead of " << b;
  }
}

TEST_P(Conformance, GivesWhatNumPyGives) {
  std::ifstream file(std::string(MUSTER_TENSOR_CASES) + "/" + GetParam() + ".json");
  const json cases = json::parse(file);
  for (const Way& way : kWays) {
    SessionOptions options;
    options.threads = way.threads;
    options.memory = 1u << 30;
    if (!way.optimised)
      for (const Pass& pass : passes()) options.options.disabled_passes.emplace(pass.name);
    Session session(options);
    for (std::size_t number = 0; number < cases.size(); ++number) {
      const json& one = cases[number];
      const std::string which = fmt::format("case {}, {} in chunks of {}", number,
                                            one["operator"].get<std::string>(), way.chunk_size);
      if (one.contains("error")) {
        try {
          (void)results_of(one, way.chunk_size);
          FAIL() << which << ": there is no error";
        } catch (const ArrayError& error) {
          EXPECT_NE(std::string(error.what()).find(one["error"].get<std::string>()),
                    std::string::npos)
              << which << ": " << error.what();
        }
        continue;
      }
      try {
        const std::vector<Tensor> results = results_of(one, way.chunk_size);
        session.execute(results);
        ASSERT_EQ(results.size(), one["expect"].size()) << which;
        for (std::size_t i = 0; i < results.size(); ++i) {
          const Array got = session.fetch(results[i]).contiguous(session.memory());
          expect_same(got, array_of(one["expect"][i]), one.value("tolerance", 0.0), which);
        }
      } catch (const ArrayError& error) {
        FAIL() << which << ": " << error.what();
      }
      if (HasFatalFailure()) return;
    }
  }
}

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(MUSTER_TENSOR_CASES))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Files, Conformance, testing::ValuesIn(files()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace muster::engine
