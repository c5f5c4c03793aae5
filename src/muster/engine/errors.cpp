#include "muster/engine/errors.h"

namespace muster::engine {

void wrong_value(const std::string& message) { throw ArrayError(Wrong::value, message); }
void wrong_type(const std::string& message) { throw ArrayError(Wrong::type, message); }
void wrong_index(const std::string& message) { throw ArrayError(Wrong::index, message); }

}  // namespace muster::engine
