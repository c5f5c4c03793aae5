#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster::service {

/// What the web role offers.
enum class RouteId : std::uint8_t {
  index,
  health,
  metrics,
  worker_count,
  cluster,
  workers,
  list_sessions,
  open_session,
  close_session,
  keep_alive,
  submit,
  progress,
  cancel,
  tasks,
  graph,
  declare_upload,
  tensor,
  release,
  get_chunk,
  put_chunk,
  take_chunk,
  logs,
  events,
};

/// Who may use it: anybody, whoever shows the token, or whoever shows the token and has opened the
/// session. The last are said to be for the `owner`; what only looks takes the number of a session
/// as well as its id, so that a dashboard can show what others do.
enum class Access : std::uint8_t { anybody, token, owner, viewer };

/// A row of the table that the server answers by, that the index page shows and that
/// docs/reference/openapi.yaml describes.
struct Route {
  RouteId id;
  std::string_view method;
  std::string_view pattern;  ///< below the prefix: "/api/sessions/{session}"
  Access access;
  std::string_view summary;
};

[[nodiscard]] std::span<const Route> routes();

struct RouteMatch {
  const Route* route = nullptr;
  std::map<std::string, std::string, std::less<>> parameters;
};

/// What a request asks for. With `path_known` a path that has no such method can be told from one
/// that is nowhere.
struct RouteLookup {
  std::optional<RouteMatch> match;
  bool path_known = false;
};
[[nodiscard]] RouteLookup find_route(std::string_view method, std::string_view path);

}  // namespace muster::service
