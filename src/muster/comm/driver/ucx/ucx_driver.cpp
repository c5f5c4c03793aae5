#include "muster/comm/driver/ucx/ucx_driver.h"

#include <utility>

#include "muster/comm/driver/ucx/ucx_transport.h"
#include "muster/comm/link/link_driver.h"

namespace muster::comm {

Result<std::unique_ptr<Driver>> make_ucx_driver(DriverContext context, UcxOptions options) {
  auto transport = UcxTransport::open(context, options);
  if (!transport) return fail(transport.error());
  const LinkOptions link = LinkOptions::for_lossless(context.limits.peer_bytes, context.lease);
  return std::make_unique<LinkDriver>(std::move(context), *std::move(transport), link);
}

}  // namespace muster::comm
