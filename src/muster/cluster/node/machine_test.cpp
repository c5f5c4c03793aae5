#include "muster/cluster/node/machine.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace muster::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NvidiaDevices, AreCountedFromZeroWhateverTheirFilesAreCalled) {
  const test::TempDir folder;
  for (const char* name : {"nvidia3", "nvidia12", "nvidiactl", "nvidia-uvm", "null"})
    std::ofstream(folder.path() / name) << "";
  EXPECT_THAT(nvidia_devices(folder.path()), ElementsAre("0", "1"));
}

TEST(NvidiaDevices, AreNoneWhereThereAreNoFiles) {
  const test::TempDir folder;
  EXPECT_THAT(nvidia_devices(folder.path()), IsEmpty());
  EXPECT_THAT(nvidia_devices(folder.path() / "absent"), IsEmpty());
}

}  // namespace
}  // namespace muster::cluster
