#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "muster/comm/message/body.h"
#include "muster/engine/wire/byte_reader.h"
#include "muster/engine/wire/byte_writer.h"

namespace muster::service {

/// The form and meaning of what roles send each other: the messages of this folder, the events in
/// reports, kernels and their attributes. One more whenever any of that changes.
inline constexpr std::uint32_t kWireVersion = 1;

/// The status of an Answer to a role whose wire version is another one; HTTP's "Upgrade Required".
inline constexpr int kOtherVersion = 426;

/// Which Muster a role is.
struct Program {
  std::string version;  ///< as of `muster version`
  std::uint32_t wire = 0;
  friend bool operator==(const Program&, const Program&) = default;
};

[[nodiscard]] Program this_program();

/// How a registration begins. This form never changes, so that programs of any two versions can
/// tell that they differ.
void write_program(engine::ByteWriter& out, const Program& program);
[[nodiscard]] Program read_program(engine::ByteReader& in);

/// Who sent a registration; nothing where it does not say, as those before wire version 1. Throws
/// ArrayError for what is malformed.
[[nodiscard]] std::optional<Program> sender_of(const comm::Body& registration);

/// Why a scheduler does not take the worker, and what to do; nothing where it takes it.
[[nodiscard]] std::optional<std::string> refusal(std::string_view worker,
                                                 const std::optional<Program>& sender);

}  // namespace muster::service
