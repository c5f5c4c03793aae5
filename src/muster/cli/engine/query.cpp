#include "muster/cli/engine/query.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/base/clock.h"
#include "muster/cli/failure.h"
#include "muster/cluster/job/quantity.h"
#include "muster/net/http/http_client.h"
#include "muster/net/http/http_url.h"
#include "muster/service/token.h"

namespace muster::cli {
namespace {

constexpr Duration kPatience = std::chrono::seconds(20);

std::string url_of(const WebFlags& flags) {
  if (!flags.url.empty()) return flags.url;
  const char* const url = std::getenv("MUSTER_WEB");
  if (url == nullptr || *url == '\0')
    throw UsageError("which cluster? Give -u URL of its web role, or set MUSTER_WEB");
  return url;
}

// What the server says about a failure: {"error": "…"} or text.
std::string complaint(std::string_view body) {
  const auto document = nlohmann::json::parse(body, nullptr, false);
  if (document.is_object() && document.contains("error") && document["error"].is_string())
    return document["error"];
  return std::string(body.substr(0, 500));
}

}  // namespace

void add_web_flags(CLI::App& parser, WebFlags& flags) {
  parser
      .add_option("-u,--url", flags.url, "The web role: http://HOST:PORT; MUSTER_WEB if not given")
      ->type_name("URL");
  parser
      .add_option("--tls-ca", flags.tls_ca,
                  "A PEM file of those who may vouch for an https server; else the system's")
      ->type_name("FILE");
}

Result<nlohmann::ordered_json> ask_web(const WebFlags& flags, const std::string& path) {
  const std::string url = url_of(flags);
  const auto address = net::parse_http_url(url);
  if (!address) throw UsageError(address.error().message());
  const auto client = net::HttpClient::make(
      url, {.token = service::token_for(address->host, address->port), .tls_ca = flags.tls_ca});
  if (!client) return fail(client.error());
  const auto reply = client->get(path, SteadyClock().now() + kPatience);
  if (!reply)
    return fail(Error(reply.error().code(),
                      fmt::format("{}; is 'muster web' running there?", reply.error().message())));
  const std::string_view body = as_text(reply->body.bytes());
  if (reply->status == 401 || reply->status == 403)
    return fail(std::errc::permission_denied,
                fmt::format("{} wants its token: set MUSTER_TOKEN, or MUSTER_SECRET as the cluster "
                            "has it",
                            url));
  if (!reply->ok())
    return fail(std::errc::io_error,
                fmt::format("{}{}: status {}: {}", url, path, reply->status, complaint(body)));
  auto document = nlohmann::ordered_json::parse(body, nullptr, false);
  if (document.is_discarded())
    return fail(std::errc::bad_message,
                fmt::format("{}{} is not JSON; is it a web role?", url, path));
  return document;
}

std::string field(const nlohmann::ordered_json& object, const char* name) {
  const auto place = object.find(name);
  if (place == object.end() || place->is_null()) return "";
  return place->is_string() ? place->get<std::string>() : place->dump();
}

std::string bytes_field(const nlohmann::ordered_json& object, const char* name) {
  const auto place = object.find(name);
  if (place == object.end() || !place->is_number()) return "";
  return cluster::size_text(place->get<std::uint64_t>());
}

}  // namespace muster::cli
