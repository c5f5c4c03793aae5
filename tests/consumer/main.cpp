// What a user's program sees of an installed Muster.

#include <iostream>

#include "muster/comm/proxy/driver_endpoint.h"
#include "muster/muster.h"
#include "muster/version.h"

// The driver that is loaded when it is asked for is found in the installation, if it was built.
bool finds_ucx() {
  muster::comm::EndpointOptions options;
  options.type = "consumer";
  options.driver = "ucx";
  const auto endpoint = muster::comm::DriverEndpoint::open(options);
  if (endpoint) return true;
  std::cerr << endpoint.error().message() << '\n';
  return endpoint.error().message().find("built without libucx") != std::string::npos;
}

int main() {
  const muster::comm::Message message;
  std::cout << muster::kVersion << ' ' << to_string(message.session_type) << '\n';
  return finds_ucx() ? 0 : 1;
}
