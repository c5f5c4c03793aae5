#pragma once

#include <string>
#include <string_view>

#include "muster/cli/doctor/check.h"

namespace muster::cli {

// Programs and services that Muster uses.

/// The private Redis of process mode. `path` is a list of folders like $PATH.
Check check_redis_server(std::string_view path);

/// An engine that answers on this socket.
Check check_docker(const std::string& socket);
/// Where the engine listens: $DOCKER_HOST if that is a unix socket, else the usual place.
std::string docker_socket();

/// Whether the first python3 in `path` finds the muster package.
Check check_python_package(std::string_view path);

/// Whether the ucx driver is in this build and its library loads.
Check check_ucx();

}  // namespace muster::cli
