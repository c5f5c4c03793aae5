// What clients send to the web role: paths, bodies and queries. Whatever comes is read or refused
// with a message; what was read keeps to the limits.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "muster/base/assert.h"
#include "muster/service/web/bodies.h"
#include "muster/service/web/routes.h"

using namespace muster;
using namespace muster::service;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto space = text.find(' ');
  const RouteLookup lookup = find_route(
      text.substr(0, space), space == std::string_view::npos ? text : text.substr(space + 1));
  MUSTER_ASSERT(!lookup.match || lookup.path_known, "a route that matches has a path");
  if (const auto open = read_open(text))
    MUSTER_ASSERT(open->timeout >= 1, "time-outs are positive");
  if (const auto upload = read_upload(text))
    for (const auto& axis : upload->splits) MUSTER_ASSERT(!axis.empty(), "axes have chunks");
  if (const auto memory = read_memory_place(text))
    MUSTER_ASSERT(memory->host.size() <= 256, "hosts are short");
  if (const auto submit = read_submit(as_bytes(text)))
    MUSTER_ASSERT(!submit->graph.empty() && !submit->keys.empty(), "there is something to do");
  if (const auto names = read_names("key", text))
    for (const std::string& name : *names)
      MUSTER_ASSERT(check_name("key", name).has_value(), "names that were read are names");
  const auto half = static_cast<std::ptrdiff_t>(size / 2);
  const Query query = {{"wait", std::string(text.begin(), text.begin() + half)},
                       {"seen", std::string(text.begin() + half, text.end())}};
  if (const auto progress = read_progress(query))
    MUSTER_ASSERT(progress->wait >= 0 && progress->wait <= kLongestWait, "waits are bounded");
  return 0;
}
