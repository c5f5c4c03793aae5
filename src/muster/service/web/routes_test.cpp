#include "muster/service/web/routes.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace muster::service {
namespace {

TEST(Routes, FindsWhatARequestAsksFor) {
  const auto lookup = find_route("GET", "/api/sessions/3.ab/tensors/t1/chunks/7");
  ASSERT_TRUE(lookup.match.has_value());
  EXPECT_EQ(lookup.match->route->id, RouteId::get_chunk);
  EXPECT_EQ(lookup.match->parameters.at("session"), "3.ab");
  EXPECT_EQ(lookup.match->parameters.at("tensor"), "t1");
  EXPECT_EQ(lookup.match->parameters.at("chunk"), "7");
}

TEST(Routes, FindsTheIndex) {
  const auto lookup = find_route("GET", "/");
  ASSERT_TRUE(lookup.match.has_value());
  EXPECT_EQ(lookup.match->route->id, RouteId::index);
}

TEST(Routes, TellsAWrongMethodFromAWrongPath) {
  EXPECT_FALSE(find_route("PATCH", "/api/cluster").match.has_value());
  EXPECT_TRUE(find_route("PATCH", "/api/cluster").path_known);
  EXPECT_FALSE(find_route("GET", "/api/clusters").path_known);
  EXPECT_FALSE(find_route("GET", "/api/cluster/").path_known);
  EXPECT_FALSE(find_route("GET", "/api//cluster").path_known);
  EXPECT_FALSE(find_route("GET", "").path_known);
  EXPECT_FALSE(find_route("GET", "api/cluster").path_known);
  EXPECT_FALSE(find_route("GET", "//").path_known);
}

TEST(Routes, AreEachThereOnce) {
  std::set<RouteId> ids;
  std::set<std::string> places;
  for (const Route& route : routes()) {
    EXPECT_TRUE(ids.insert(route.id).second) << route.pattern;
    EXPECT_TRUE(places.insert(std::string(route.method) + std::string(route.pattern)).second);
  }
}

/// "GET /healthz" for every operation of docs/reference/openapi.yaml, which lies above this
/// program.
std::set<std::string> documented() {
  std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  while (!std::filesystem::exists(folder / "docs/reference/openapi.yaml")) {
    if (folder == folder.parent_path()) return {};
    folder = folder.parent_path();
  }
  std::ifstream file(folder / "docs/reference/openapi.yaml");
  std::set<std::string> operations;
  std::string path;
  for (std::string line; std::getline(file, line) && line != "components:";) {
    if (line.starts_with("  /")) path = line.substr(2, line.size() - 3);
    for (const std::string method : {"get", "put", "post", "delete"})
      if (line == "    " + method + ":") {
        std::string name = method;
        for (char& letter : name) letter = static_cast<char>(letter - 'a' + 'A');
        operations.insert(name + " " + path);
      }
  }
  return operations;
}

TEST(Routes, AreAllDocumented) {
  const std::set<std::string> written = documented();
  if (written.empty()) GTEST_SKIP() << "the documentation is not here";
  std::set<std::string> there;
  for (const Route& route : routes())
    there.insert(std::string(route.method) + " " + std::string(route.pattern));
  EXPECT_EQ(there, written);
}

}  // namespace
}  // namespace muster::service
