#include "muster/service/web/routes.h"

#include <array>
#include <utility>

namespace muster::service {

namespace {

constexpr std::array<Route, 23> kRoutes = {{
    {RouteId::index, "GET", "/", Access::anybody, "this list"},
    {RouteId::health, "GET", "/healthz", Access::anybody, "whether the scheduler can be reached"},
    {RouteId::metrics, "GET", "/metrics", Access::token,
     "counters for Prometheus; ?role=scheduler, ?worker=NAME for those of others"},
    {RouteId::worker_count, "GET", "/api/worker", Access::anybody,
     "?action=count: how many workers there are, as a bare number"},
    {RouteId::cluster, "GET", "/api/cluster", Access::token, "the state of the cluster"},
    {RouteId::workers, "GET", "/api/workers", Access::token, "the workers: memory, tasks, threads"},
    {RouteId::list_sessions, "GET", "/api/sessions", Access::token, "the open sessions"},
    {RouteId::open_session, "POST", "/api/sessions", Access::token, "opens a session"},
    {RouteId::close_session, "DELETE", "/api/sessions/{session}", Access::owner,
     "closes a session and releases its tensors"},
    {RouteId::keep_alive, "POST", "/api/sessions/{session}/alive", Access::owner,
     "says that the client is still there"},
    {RouteId::submit, "POST", "/api/sessions/{session}/executions", Access::owner,
     "begins to compute: a line of JSON, then a graph"},
    {RouteId::progress, "GET", "/api/sessions/{session}/executions/{execution}", Access::viewer,
     "how far it is; ?wait=SECONDS&seen=VERSION waits for a change"},
    {RouteId::cancel, "DELETE", "/api/sessions/{session}/executions/{execution}", Access::owner,
     "ends an execution"},
    {RouteId::tasks, "GET", "/api/sessions/{session}/executions/{execution}/tasks", Access::viewer,
     "its tasks; ?limit=N&state=STATE"},
    {RouteId::graph, "GET", "/api/sessions/{session}/executions/{execution}/graph", Access::viewer,
     "its operators and how far each is"},
    {RouteId::declare_upload, "PUT", "/api/sessions/{session}/tensors/{tensor}", Access::owner,
     "says what will be uploaded: dtype and splits"},
    {RouteId::tensor, "GET", "/api/sessions/{session}/tensors/{tensor}", Access::owner,
     "dtype, splits and chunks of a tensor; ?chunks=0 without the chunks"},
    {RouteId::release, "DELETE", "/api/sessions/{session}/tensors/{tensor}", Access::owner,
     "releases tensors: one key, or several separated by commas"},
    {RouteId::get_chunk, "GET", "/api/sessions/{session}/tensors/{tensor}/chunks/{chunk}",
     Access::owner, "the items of a chunk in C order"},
    {RouteId::put_chunk, "PUT", "/api/sessions/{session}/tensors/{tensor}/chunks/{chunk}",
     Access::owner, "uploads the items of a chunk in C order"},
    {RouteId::take_chunk, "POST", "/api/sessions/{session}/tensors/{tensor}/chunks/{chunk}",
     Access::owner, "has a worker of the client's host take the items from the client's memory"},
    {RouteId::logs, "GET", "/api/logs", Access::token,
     "?role=scheduler, ?role=web or ?worker=NAME, &lines=N: the last lines of its log"},
    {RouteId::events, "GET", "/api/events", Access::token,
     "a WebSocket with what happens, one JSON object in each message"},
}};

/// Takes what stands before the next slash off `path`.
std::string_view next_part(std::string_view& path) {
  const auto slash = path.find('/');
  const std::string_view part = path.substr(0, slash);
  path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  return part;
}

bool fits(std::string_view pattern, std::string_view path,
          std::map<std::string, std::string, std::less<>>& parameters) {
  if (!path.starts_with('/')) return false;
  pattern.remove_prefix(1);
  path.remove_prefix(1);
  if (path.ends_with('/')) return false;
  while (!pattern.empty() || !path.empty()) {
    const std::string_view wanted = next_part(pattern);
    const std::string_view part = next_part(path);
    if (wanted.empty() || part.empty()) return false;
    if (wanted.front() == '{')
      parameters.insert_or_assign(std::string(wanted.substr(1, wanted.size() - 2)),
                                  std::string(part));
    else if (wanted != part)
      return false;
  }
  return true;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

RouteLookup find_route(std::string_view method, std::string_view path) {
  RouteLookup lookup;
  for (const Route& route : kRoutes) {
    RouteMatch match{&route, {}};
    if (!fits(route.pattern, path, match.parameters)) continue;
    lookup.path_known = true;
    if (route.method != method) continue;
    lookup.match = std::move(match);
    break;
  }
  return lookup;
}

}  // namespace muster::service
