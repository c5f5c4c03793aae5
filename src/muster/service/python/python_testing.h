#pragma once

#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/base/buffer.h"

namespace muster::service {

/// Tests with a real Python: the one that the repository's package was built for. They are skipped
/// where it was not built.
class PythonTest : public testing::Test {
 protected:
  void SetUp() override;
};

/// A pickle of what an expression gives: one that calls eval, which whoever unpickles it runs.
inline Buffer pickled(std::string_view expression) {
  return Buffer::copy_of(as_bytes(fmt::format("cbuiltins\neval\n(V{}\ntR.", expression)));
}

}  // namespace muster::service
