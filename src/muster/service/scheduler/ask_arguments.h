#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/base/result.h"
#include "muster/service/errc.h"

namespace muster::service {

/// A question that is answered with an error.
struct Refusal {
  int status = 400;
  std::string text;
  std::string kind;  ///< empty: the status says enough
};

[[noreturn]] inline void refuse(const Error& error) {
  int status = 500;
  if (error.is(Errc::not_found)) status = 404;
  if (error.is(Errc::invalid) || error.is(Errc::malformed)) status = 400;
  if (error.is(Errc::refused)) status = 429;
  if (error.is(Errc::closed) || error.is(Errc::unreachable)) status = 503;
  throw Refusal{status, error.message(), {}};
}

template <class T>
T or_refuse(Result<T> result) {
  if (!result) refuse(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// Arguments that somebody sent; throw Refusal (400) that names what is wrong.
class Arguments {
 public:
  explicit Arguments(const nlohmann::json& json) : json_(json) {}

  [[nodiscard]] std::string text(const char* name, std::size_t most = 4096) const {
    const nlohmann::json& value = at(name);
    if (!value.is_string()) wrong(name, "a text");
    auto out = value.get<std::string>();
    if (out.empty() || out.size() > most)
      throw Refusal{400,
                    fmt::format("'{}' must have 1 to {} bytes, not {}", name, most, out.size()),
                    "ValueError"};
    return out;
  }
  [[nodiscard]] std::string text_or(const char* name, std::string fallback) const {
    return has(name) ? text(name) : std::move(fallback);
  }
  [[nodiscard]] std::uint64_t number(const char* name, std::uint64_t most) const {
    const nlohmann::json& value = at(name);
    if (!value.is_number_unsigned() &&
        !(value.is_number_integer() && value.get<std::int64_t>() >= 0))
      wrong(name, "a whole number");
    const auto out = value.get<std::uint64_t>();
    if (out > most) wrong(name, fmt::format("at most {}", most));
    return out;
  }
  [[nodiscard]] std::uint64_t number_or(const char* name, std::uint64_t most,
                                        std::uint64_t fallback) const {
    return has(name) ? number(name, most) : fallback;
  }
  [[nodiscard]] double seconds_or(const char* name, double most, double fallback) const {
    if (!has(name)) return fallback;
    const nlohmann::json& value = at(name);
    if (!value.is_number()) wrong(name, "a number of seconds");
    const auto out = value.get<double>();
    if (!std::isfinite(out) || out < 0) wrong(name, "a number of seconds");
    return std::min(out, most);
  }
  [[nodiscard]] bool truth_or(const char* name, bool fallback) const {
    if (!has(name)) return fallback;
    if (!at(name).is_boolean()) wrong(name, "true or false");
    return at(name).get<bool>();
  }
  [[nodiscard]] std::vector<std::string> texts(const char* name, std::size_t longest,
                                               std::size_t most) const {
    const nlohmann::json& value = at(name);
    if (!value.is_array() || value.size() > most)
      wrong(name, fmt::format("a list of at most {} texts", most));
    std::vector<std::string> out;
    for (const nlohmann::json& each : value) {
      if (!each.is_string()) wrong(name, "a list of texts");
      out.push_back(each.get<std::string>());
      if (out.back().empty() || out.back().size() > longest)
        wrong(name, fmt::format("a list of texts of 1 to {} bytes", longest));
    }
    return out;
  }
  [[nodiscard]] bool has(const char* name) const {
    const auto found = json_.find(name);
    return found != json_.end() && !found->is_null();
  }
  [[nodiscard]] const nlohmann::json& at(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end())
      throw Refusal{400, fmt::format("'{}' is missing", name), "ValueError"};
    return *found;
  }
  [[noreturn]] static void wrong(const char* name, const std::string& expected) {
    throw Refusal{400, fmt::format("'{}' must be {}", name, expected), "ValueError"};
  }

 private:
  const nlohmann::json& json_;  ///< of the question, which lives longer
};

}  // namespace muster::service
