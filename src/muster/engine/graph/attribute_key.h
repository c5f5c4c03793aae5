#pragma once

#include <string>

#include "muster/engine/graph/attributes.h"

namespace muster::engine {

/// Appends bytes that are the same for equal parameters and differ for others. Arrays, programs and
/// functions are told apart by where they are, so equal contents in two places differ.
void append_key(std::string& key, const Attributes& attributes);

}  // namespace muster::engine
