#include "muster/runtime/file_text.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(FileText, IsAllOfAFileWhoseSizeIsNotKnown) {
  EXPECT_NE(file_text("/proc/self/status").find("\nPid:"), std::string::npos);
}

TEST(FileText, IsEmptyWhereThereIsNoFile) { EXPECT_EQ(file_text("/nowhere/at/all"), ""); }

}  // namespace
}  // namespace muster
