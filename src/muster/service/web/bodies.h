#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "muster/base/buffer.h"
#include "muster/base/result.h"

namespace muster::service {

// What clients send to the web role, checked. Everything fails with `Errc::malformed` and a message
// for people that names what is wrong and what would be right.

using Query = std::multimap<std::string, std::string, std::less<>>;

/// Names of tensors and executions: letters, digits, '.', '_' and '-', up to 128 of them.
Result<void> check_name(std::string_view what, std::string_view name);
/// Several names separated by commas, up to 1,000.
[[nodiscard]] Result<std::vector<std::string>> read_names(std::string_view what,
                                                          std::string_view list);
/// A whole number between 0 and `most`.
[[nodiscard]] Result<std::uint64_t> read_number(std::string_view what, std::string_view text,
                                                std::uint64_t most);

/// JSON of a request: at most `kMostJson` bytes, nested at most 16 deep, an object.
inline constexpr std::size_t kMostJson = 16u << 20;
[[nodiscard]] Result<nlohmann::json> read_object(std::string_view text);

struct OpenBody {
  std::string name;      ///< for lists
  std::string nonce;     ///< random, so that asking twice opens one session
  double timeout = 120;  ///< seconds after which a silent client counts as gone
};
[[nodiscard]] Result<OpenBody> read_open(std::string_view text);

/// A line of JSON, then the graph.
struct SubmitBody {
  std::string execution;
  std::vector<std::string> keys;  ///< of the results
  nlohmann::json options;
  ByteSpan graph;
};
[[nodiscard]] Result<SubmitBody> read_submit(ByteSpan body);

struct UploadBody {
  std::string dtype;
  std::vector<std::vector<std::int64_t>> splits;
};
[[nodiscard]] Result<UploadBody> read_upload(std::string_view text);

/// Where a client has the items of a chunk: what it says of its process, which nobody has looked
/// at yet.
struct MemoryBody {
  std::string host;
  std::uint64_t pid = 0;
  std::uint64_t proof = 0;
  std::uint64_t proof_at = 0;
  std::uint64_t address = 0;
};
[[nodiscard]] Result<MemoryBody> read_memory_place(std::string_view text);

struct ProgressQuery {
  double wait = 0;  ///< seconds, at most `kLongestWait`
  std::uint64_t seen = 0;
};
inline constexpr double kLongestWait = 30;
[[nodiscard]] Result<ProgressQuery> read_progress(const Query& query);

/// The value of a parameter; `fallback` if it is not there. Fails when it comes twice.
[[nodiscard]] Result<std::string> read_parameter(const Query& query, const std::string& name,
                                                 std::string_view fallback = {});

}  // namespace muster::service
