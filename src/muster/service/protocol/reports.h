#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muster/comm/message/body.h"
#include "muster/engine/schedule/event.h"
#include "muster/engine/value/shape.h"
#include "muster/service/protocol/program.h"

namespace muster::service {

/// A worker says who it is; the reply is an Answer with {"worker": id, "epoch": n}, or
/// `kOtherVersion`.
struct Registration {
  std::string name;  ///< of its proxy
  std::string host;
  std::uint32_t pid = 0;
  std::uint32_t threads = 1;
  std::uint64_t memory = 0;                ///< its budget in bytes
  std::string metrics;                     ///< "http://host:port" or empty
  std::optional<engine::WorkerId> before;  ///< the id it had, if it was registered
  std::uint64_t epoch = 0;                 ///< of the scheduler that gave it
  std::vector<engine::HeldChunk> held;
  std::vector<engine::RunningTask> running;
  Program program = this_program();  ///< stands first on the wire
};

/// Something that happened on a worker. Shapes, thread and times come with TaskFinished.
struct Report {
  engine::ScheduleEvent event;
  std::vector<engine::Shape> shapes;  ///< of the outputs
  std::uint32_t thread = 0;
  std::int64_t started = 0;  ///< nanoseconds since 1970
  std::int64_t ended = 0;
};

struct Reports {
  std::uint64_t epoch = 0;
  engine::WorkerId worker;
  std::vector<Report> reports;
};

[[nodiscard]] comm::Body encode(const Registration& registration);
[[nodiscard]] comm::Body encode(const Reports& reports);
/// Throw ArrayError for what is malformed. A registration of another wire version is, too.
[[nodiscard]] Registration read_registration(const comm::Body& body);
[[nodiscard]] Reports read_reports(const comm::Body& body);

}  // namespace muster::service
