#include "muster/service/protocol/reports.h"

#include <utility>

#include "muster/engine/schedule/journal.h"
#include "muster/service/protocol/ids.h"

namespace muster::service {

namespace {

using engine::ByteReader;
using engine::ByteWriter;

void write_shape(ByteWriter& out, const engine::Shape& shape) {
  out.count(shape.size());
  for (const engine::Index extent : shape) out.number(extent);
}

engine::Shape read_shape(ByteReader& in) {
  engine::Shape shape(in.count(sizeof(engine::Index)));
  for (engine::Index& extent : shape) {
    extent = in.number<engine::Index>();
    if (extent < 0) in.refuse(fmt::format("an extent of {}", extent));
  }
  return shape;
}

Report read_report(ByteReader& in) {
  Report report;
  const ByteSpan record = in.raw(in.count(1));
  auto read = engine::JournalReader(record).next();
  if (!read) in.refuse("this is no event");
  report.event = std::move(read->event);
  report.shapes.resize(in.count(4));
  for (engine::Shape& shape : report.shapes) shape = read_shape(in);
  report.thread = in.number<std::uint32_t>();
  report.started = in.number<std::int64_t>();
  report.ended = in.number<std::int64_t>();
  return report;
}

}  // namespace

comm::Body encode(const Registration& registration) {
  ByteWriter out;
  write_program(out, registration.program);
  out.text(registration.name);
  out.text(registration.host);
  out.number(registration.pid);
  out.number(registration.threads);
  out.number(registration.memory);
  out.text(registration.metrics);
  out.number(static_cast<std::uint8_t>(registration.before.has_value()));
  out.number(registration.before.value_or(engine::WorkerId()).value());
  out.number(registration.epoch);
  out.count(registration.held.size());
  for (const engine::HeldChunk& held : registration.held) {
    write_id(out, held.chunk);
    out.number(held.bytes);
  }
  out.count(registration.running.size());
  for (const engine::RunningTask& running : registration.running) {
    write_id(out, running.task);
    out.number(running.attempt);
  }
  return comm::Body::bytes(Buffer::take(out.take()));
}

Registration read_registration(const comm::Body& body) {
  ByteReader in(body.buffer().bytes());
  Registration registration;
  registration.program = read_program(in);
  if (registration.program.wire != kWireVersion)
    in.refuse(fmt::format("wire version {}, but this program reads {}", registration.program.wire,
                          kWireVersion));
  registration.name = in.text();
  registration.host = in.text();
  registration.pid = in.number<std::uint32_t>();
  registration.threads = in.number<std::uint32_t>();
  registration.memory = in.number<std::uint64_t>();
  registration.metrics = in.text();
  const bool known = in.number<std::uint8_t>() != 0;
  const auto before = in.number<std::uint32_t>();
  if (known) registration.before = engine::WorkerId(before);
  registration.epoch = in.number<std::uint64_t>();
  registration.held.resize(in.count(16));
  for (engine::HeldChunk& held : registration.held) {
    held.chunk = read_id<engine::ChunkId>(in);
    held.bytes = in.number<std::uint64_t>();
  }
  registration.running.resize(in.count(16));
  for (engine::RunningTask& running : registration.running) {
    running.task = read_id<engine::TaskId>(in);
    running.attempt = in.number<std::uint64_t>();
  }
  expect_end(in);
  return registration;
}

comm::Body encode(const Reports& reports) {
  ByteWriter out;
  out.number(reports.epoch);
  out.number(reports.worker.value());
  out.count(reports.reports.size());
  for (const Report& report : reports.reports) {
    const std::vector<std::byte> record = engine::encode({0, report.event});
    out.count(record.size());
    out.raw(record);
    out.count(report.shapes.size());
    for (const engine::Shape& shape : report.shapes) write_shape(out, shape);
    out.number(report.thread);
    out.number(report.started);
    out.number(report.ended);
  }
  return comm::Body::bytes(Buffer::take(out.take()));
}

Reports read_reports(const comm::Body& body) {
  ByteReader in(body.buffer().bytes());
  Reports reports;
  reports.epoch = in.number<std::uint64_t>();
  reports.worker = engine::WorkerId(in.number<std::uint32_t>());
  reports.reports.resize(in.count(28));
  for (Report& report : reports.reports) report = read_report(in);
  expect_end(in);
  return reports;
}

}  // namespace muster::service
