#pragma once

#include <string>

namespace muster::cli {

enum class Verdict { good, warning, bad };

/// What `muster doctor` found out about one thing.
struct Check {
  std::string name;
  Verdict verdict = Verdict::good;
  std::string finding;  ///< what there is
  std::string remedy;   ///< how to mend it; empty if nothing has to be
};

inline Check good(std::string name, std::string finding) {
  return {std::move(name), Verdict::good, std::move(finding), ""};
}
/// Something optional is missing; the finding says what does not work without it.
inline Check warning(std::string name, std::string finding, std::string remedy) {
  return {std::move(name), Verdict::warning, std::move(finding), std::move(remedy)};
}
inline Check bad(std::string name, std::string finding, std::string remedy) {
  return {std::move(name), Verdict::bad, std::move(finding), std::move(remedy)};
}

}  // namespace muster::cli
