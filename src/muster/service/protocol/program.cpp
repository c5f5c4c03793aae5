#include "muster/service/protocol/program.h"

#include <fmt/format.h>

#include "muster/version.h"

namespace muster::service {
namespace {

// More than the length of a name, with which registrations of old began.
constexpr std::string_view kProgramMagic = "MREG";

std::string text_of(const Program& program) {
  return fmt::format("Muster {} (wire version {})", program.version, program.wire);
}

bool has_program(ByteSpan bytes) { return as_text(bytes).starts_with(kProgramMagic); }

}  // namespace

Program this_program() { return {std::string(muster::kVersion), kWireVersion}; }

void write_program(engine::ByteWriter& out, const Program& program) {
  out.raw(as_bytes(kProgramMagic));
  out.number(program.wire);
  out.text(program.version);
}

Program read_program(engine::ByteReader& in) {
  if (!has_program(in.raw(kProgramMagic.size()))) in.refuse("it does not say its version");
  Program program;
  program.wire = in.number<std::uint32_t>();
  program.version = in.text();
  return program;
}

std::optional<Program> sender_of(const comm::Body& registration) {
  const ByteSpan bytes = registration.buffer().bytes();
  if (!has_program(bytes)) return std::nullopt;
  engine::ByteReader in(bytes);
  return read_program(in);
}

std::optional<std::string> refusal(std::string_view worker, const std::optional<Program>& sender) {
  if (sender && sender->wire == kWireVersion) return std::nullopt;
  return fmt::format(
      "worker '{}' is {}, and the scheduler is {}: they do not understand each other. Install the "
      "same version of Muster on both hosts, and start the worker again",
      worker, sender ? text_of(*sender) : "an older Muster, which does not say its version",
      text_of(this_program()));
}

}  // namespace muster::service
