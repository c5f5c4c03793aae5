#include <cstdlib>
#include <filesystem>
#include <string>

#include "muster/service/python/python_testing.h"

namespace muster::service {

void PythonTest::SetUp() {
  for (const char* const folder : {MUSTER_TEST_RELEASE_PACKAGE, MUSTER_TEST_PACKAGE}) {
    if (!std::filesystem::exists(std::string(folder) + "/muster/_core.pyi") &&
        !std::filesystem::exists(std::string(folder) + "/muster/_runner"))
      continue;
    ::setenv("PYTHONPATH", folder, 1);
    ::setenv("MUSTER_PYTHON", MUSTER_TEST_INTERPRETER, 1);
    if (std::filesystem::exists(MUSTER_TEST_INTERPRETER)) return;
  }
  GTEST_SKIP() << "the Python package is not built";
}

}  // namespace muster::service
