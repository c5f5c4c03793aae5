#pragma once

#include <memory>

#include "muster/engine/kernels/program.h"
#include "muster/engine/wire/byte_reader.h"
#include "muster/engine/wire/byte_writer.h"

namespace muster::engine {

void write_program(ByteWriter& out, const Program& program);
/// Builds it from the loops of this process: a step names an operator and one of its forms.
[[nodiscard]] std::shared_ptr<const Program> read_program(ByteReader& in);

}  // namespace muster::engine
