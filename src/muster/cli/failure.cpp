#include "muster/cli/failure.h"

#include <ostream>

#include <fmt/format.h>

#include "muster/base/suggest.h"
#include "muster/cli/cli.h"

namespace muster::cli {

int report(const Io& io, const Error& error) { return report(io, error.message()); }

int report(const Io& io, std::string_view message) {
  io.err << "muster: " << message << '\n';
  return kFailed;
}

std::string no_such(std::string_view kind, std::string_view name,
                    const std::vector<std::string>& known) {
  return fmt::format("there is no {} '{}'{}", kind, name, did_you_mean(name, known));
}

}  // namespace muster::cli
