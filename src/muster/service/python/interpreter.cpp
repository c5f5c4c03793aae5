#include "muster/service/python/interpreter.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/runtime/program_path.h"

namespace muster::service {

namespace {

constexpr std::array<std::string_view, 4> kThreads = {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS",
                                                      "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"};

bool is_secret(std::string_view name) {
  constexpr std::array<std::string_view, 5> kSecret = {"SECRET", "TOKEN", "PASSWORD", "KEY",
                                                       "DISCOVERY"};
  if (!name.starts_with("MUSTER_")) return false;
  return std::ranges::any_of(kSecret,
                             [&](std::string_view word) { return name.find(word) != name.npos; });
}

}  // namespace

Result<std::string> find_interpreter(const std::string& wanted) {
  std::string name = wanted;
  const char* const given = std::getenv("MUSTER_PYTHON");
  if (name.empty() && given != nullptr) name = given;
  if (name.empty()) name = "python3";
  if (const auto path = find_program(name)) return *path;
  return fail(
      std::errc::no_such_file_or_directory,
      fmt::format("there is no Python interpreter '{}' to run functions with; name one with "
                  "--python or MUSTER_PYTHON",
                  name));
}

std::vector<std::string> function_environment(std::span<const std::string> ours) {
  std::vector<std::string> result;
  for (const std::string& each : ours) {
    const std::string_view name = std::string_view(each).substr(0, each.find('='));
    if (!is_secret(name) && std::ranges::find(kThreads, name) == kThreads.end())
      result.push_back(each);
  }
  for (const std::string_view name : kThreads) result.push_back(fmt::format("{}=1", name));
  return result;
}

std::vector<std::string> function_environment() {
  std::vector<std::string> ours;
  for (char** each = ::environ; each != nullptr && *each != nullptr; ++each)
    ours.emplace_back(*each);
  return function_environment(ours);
}

}  // namespace muster::service
