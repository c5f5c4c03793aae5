#include "muster/comm/discovery/open_store.h"

#include <fmt/format.h>

#include "muster/comm/discovery/file/file_store.h"
#include "muster/comm/discovery/redis/redis_store.h"
#include "muster/comm/discovery/served/served_store.h"
#include "muster/comm/errc.h"
#include "muster/net/redis/redis_address.h"

namespace muster::comm {
namespace {

constexpr std::string_view kFile = "file:";
constexpr std::string_view kServed = "tcp:";

Result<std::unique_ptr<Store>> open_file(std::string_view path) {
  if (path.empty()) return make_file_store();
  if (path.starts_with("//")) path.remove_prefix(2);  // file:///run/muster
  if (!path.starts_with('/'))
    return fail(Errc::socket_type,
                fmt::format("the discovery folder '{}' is not an absolute path", path));
  return make_file_store(path);
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(std::string_view address, const Security& security) {
  if (address.empty()) return make_file_store();
  if (address.starts_with(kFile)) return open_file(address.substr(kFile.size()));
  if (address.starts_with(kServed)) return make_served_store(address, security);
  auto redis = net::RedisAddress::parse(address);
  if (redis) return make_redis_store(*std::move(redis));
  return fail(
      Errc::socket_type,
      fmt::format(
          "not a discovery address ({}); or tcp://host:port of a scheduler, or file:/folder, or "
          "nothing for the default folder",
          redis.error().message()));
}

}  // namespace muster::comm
