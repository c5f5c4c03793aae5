#pragma once

#include "muster/comm/driver/driver.h"

namespace muster::comm {

/// A sink that keeps what it is given, and says where: a driver that makes a message there and then
/// delivers it as any other spares it a move. Sinks need not be of this kind.
class PlacingSink : public DriverSink {
 public:
  /// Holds what an earlier message left there, and is valid until the sink is called again.
  [[nodiscard]] virtual Message& place() = 0;

 protected:
  ~PlacingSink() = default;
};

}  // namespace muster::comm
