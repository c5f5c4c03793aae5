#include "muster/service/python/pickled_function.h"

#include <filesystem>
#include <string>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/wire/values.h"
#include "muster/service/python/pooled_function.h"
#include "muster/service/python/python_testing.h"

namespace muster::service {
namespace {

using engine::ArrayError;
using testing::HasSubstr;

/// A function that leaves a trace as soon as anybody unpickles it.
class Trap {
 public:
  Trap() { std::filesystem::remove(trace_); }
  ~Trap() { std::filesystem::remove(trace_); }
  Trap(const Trap&) = delete;
  Trap& operator=(const Trap&) = delete;

  [[nodiscard]] Buffer pickled() const {
    return service::pickled(
        fmt::format("[open('{}', 'w').close(), lambda arrays: arrays[0]][1]", trace_));
  }
  [[nodiscard]] bool sprung() const { return std::filesystem::exists(trace_); }

 private:
  const std::string trace_ =
      (std::filesystem::temp_directory_path() / fmt::format("muster-trap-{}", ::getpid())).string();
};

/// Attributes with the function, as they are on the wire.
std::vector<std::byte> sent(const Trap& trap) {
  const engine::Attributes attributes = {
      {"function", std::shared_ptr<const engine::PythonFunction>(
                       std::make_shared<PickledFunction>("f", trap.pickled()))}};
  engine::ByteWriter out;
  write_attributes(out, attributes);
  return out.take();
}

TEST(PickledFunction, IsPassedOnUntouchedAndNeverCalled) {
  const Trap trap;
  const auto bytes = sent(trap);
  engine::ByteReader in(bytes);
  const engine::Attributes read = read_attributes(in, pickled_functions());
  const auto function = read.get<std::shared_ptr<const engine::PythonFunction>>("function");
  EXPECT_EQ(function->name(), "f");
  EXPECT_EQ(function->pickled(), trap.pickled());
  const auto memory = engine::Memory::make(1 << 20);
  engine::KernelContext context(read, {}, 1, *memory);
  EXPECT_THROW(function->call(context), ArrayError);
  EXPECT_FALSE(trap.sprung());
}

TEST(PickledFunction, IsRefusedByReadersThatAreNotToldToTakeIt) {
  const Trap trap;
  const auto bytes = sent(trap);
  engine::ByteReader in(bytes);
  try {
    (void)read_attributes(in);
    FAIL() << "it was taken";
  } catch (const ArrayError& error) {
    EXPECT_THAT(error.what(), HasSubstr("authenticated sessions only"));
  }
  EXPECT_FALSE(trap.sprung());
}

class PooledFunctionTest : public PythonTest {};

TEST_F(PooledFunctionTest, IsUnpickledByAProcessOfThePoolOnly) {
  const Trap trap;
  const auto bytes = sent(trap);
  auto pool = PythonPool::make({.processes = 1});
  ASSERT_TRUE(pool) << pool.error().message();
  engine::ByteReader in(bytes);
  const engine::Attributes read = read_attributes(in, pooled_function(*pool));
  const auto function = read.get<std::shared_ptr<const engine::PythonFunction>>("function");
  EXPECT_EQ(function->pickled(), trap.pickled());
  EXPECT_FALSE(trap.sprung());
  EXPECT_EQ((*pool)->stats().processes, 0U);

  const auto memory = engine::Memory::make(1 << 20);
  const double item = 3;
  engine::KernelContext context(read, {engine::Array::copy_of(engine::Type::f64, {}, &item)}, 1,
                                *memory);
  function->call(context);
  EXPECT_EQ(*context.outputs().front().as<double>(), 3);
  EXPECT_TRUE(trap.sprung());
}

}  // namespace
}  // namespace muster::service
