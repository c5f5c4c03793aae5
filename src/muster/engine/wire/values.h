#pragma once

#include <functional>
#include <memory>
#include <string>

#include "muster/engine/graph/attributes.h"
#include "muster/engine/graph/tensor.h"
#include "muster/engine/wire/byte_reader.h"
#include "muster/engine/wire/byte_writer.h"

namespace muster::engine {

/// Makes the function that somebody sent: its name for messages, and itself, pickled. Nothing here
/// unpickles it. Where this is empty, functions are refused.
using MakeFunction =
    std::function<std::shared_ptr<const PythonFunction>(std::string name, Buffer pickled)>;

/// Throws ArrayError (type) for a Python function that has no pickled form.
void write_attributes(ByteWriter& out, const Attributes& attributes);
[[nodiscard]] Attributes read_attributes(ByteReader& in, const MakeFunction& make_function = {});

void write_meta(ByteWriter& out, const Meta& meta);
/// Extents may be unknown.
[[nodiscard]] Meta read_meta(ByteReader& in);

void write_array(ByteWriter& out, const Array& array);
[[nodiscard]] Array read_array(ByteReader& in);
/// Refuses bytes that no item of the dtype has: compilers trust that a bool is 0 or 1.
void check_items(DType dtype, ByteSpan items);

}  // namespace muster::engine
