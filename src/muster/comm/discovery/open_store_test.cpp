#include "muster/comm/discovery/open_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "tests/support/temp_dir.h"

namespace muster::comm {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(OpenStore, OpensTheFileStore) {
  const test::TempDir folder;
  const std::string path = folder.path().string();
  EXPECT_EQ((*open_store("file:" + path))->description(), "file:" + path);
  EXPECT_EQ((*open_store("file://" + path))->description(), "file:" + path);
}

TEST(OpenStore, ARedisServerMayComeLater) {
  EXPECT_EQ((*open_store("redis://:hush@127.0.0.1:1"))->description(), "redis://127.0.0.1:1/0");
  EXPECT_EQ((*open_store("127.0.0.1:1"))->description(), "redis://127.0.0.1:1/0");
  EXPECT_EQ((*open_store("unix:///nowhere?password=hush"))->description(),
            "redis+unix:///nowhere?db=0");
}

TEST(OpenStore, NamesTheFormsThatItKnows) {
  for (const char* address :
       {"etcd://u:hush@host", "memory", "redis:/host", "hush@h:1", "file:relative"}) {
    const auto store = open_store(address);
    ASSERT_FALSE(store.has_value()) << address;
    EXPECT_TRUE(store.error().is(Errc::socket_type));
    EXPECT_THAT(store.error().message(), Not(HasSubstr("hush")));
  }
  EXPECT_THAT(open_store("etcd://host").error().message(), HasSubstr("redis://"));
  EXPECT_THAT(open_store("etcd://host").error().message(), HasSubstr("file:/folder"));
}

}  // namespace
}  // namespace muster::comm
