#include "muster/service/protocol/failure.h"

#include <array>
#include <utility>

namespace muster::service {
namespace {

using engine::Wrong;

constexpr std::array<std::pair<Wrong, std::string_view>, 10> kKinds{{
    {Wrong::value, "ValueError"},
    {Wrong::type, "TypeError"},
    {Wrong::index, "IndexError"},
    {Wrong::zero_division, "ZeroDivisionError"},
    {Wrong::linalg, "LinAlgError"},
    {Wrong::memory, "MemoryError"},
    {Wrong::overflow, "OverflowError"},
    {Wrong::cancelled, "CancelledError"},
    {Wrong::timeout, "TimeoutError"},
    {Wrong::other, "RuntimeError"},
}};

/// How long the kind and its colon at the beginning of a text are; 0 if there is none.
std::size_t kind_length(std::string_view text) {
  for (const auto& [wrong, kind] : kKinds)
    if (text.starts_with(kind) && text.substr(kind.size()).starts_with(": "))
      return kind.size() + 2;
  return 0;
}

}  // namespace

std::string_view kind_of(Wrong wrong) {
  for (const auto& [each, kind] : kKinds)
    if (each == wrong) return kind;
  return "RuntimeError";
}

Wrong wrong_of(std::string_view kind) {
  for (const auto& [wrong, each] : kKinds)
    if (each == kind) return wrong;
  return Wrong::other;
}

std::string failure_text(Wrong wrong, std::string_view text) {
  return std::string(kind_of(wrong)).append(": ").append(text);
}

Failure read_failure(std::string_view report) {
  constexpr std::string_view kFailed = " failed on worker ";
  std::size_t at = 0;
  if (const std::size_t failed = report.find(kFailed); failed != std::string_view::npos)
    if (const std::size_t colon = report.find(": ", failed); colon != std::string_view::npos)
      at = colon + 2;
  const std::size_t length = kind_length(report.substr(at));
  if (length == 0) return {Wrong::other, std::string(report)};
  const Wrong wrong = wrong_of(report.substr(at, length - 2));
  if (at == 0) return {wrong, std::string(report.substr(length))};
  // What went wrong comes first, then where.
  std::string text(report.substr(at + length));
  return {wrong, text.append("\n  in ").append(report.substr(0, at - 2))};
}

}  // namespace muster::service
