#include "muster/service/web/rest.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/base/random.h"
#include "muster/base/utf8.h"
#include "muster/net/errc.h"
#include "muster/runtime/process_memory.h"
#include "muster/service/errc.h"
#include "muster/service/protocol/tags.h"
#include "muster/service/token.h"
#include "muster/service/web/bodies.h"
#include "muster/service/web/pages.h"
#include "muster/service/web/replies.h"

namespace muster::service {

namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// How long the scheduler may stay away before a client is told so; clients then ask again.
constexpr Duration kAnswerWithin = 10s;
constexpr std::size_t kMostGraph = std::size_t{256} << 20;
constexpr std::size_t kMostLines = 1000;
constexpr std::string_view kWebName = "web";

// For what the workers say about themselves: without it lists show less.
constexpr Duration kWorkersWithin = 1s;

TimePoint from_now(Duration time) { return std::chrono::steady_clock::now() + time; }
TimePoint soon() { return from_now(kAnswerWithin); }

Answer wrong_request(const Error& error) { return refusal(400, error.message(), "ValueError"); }

int status_of(const Error& body_error) {
  if (body_error.is(net::Errc::too_large)) return 413;
  return body_error.is(net::Errc::timeout) ? 408 : 400;
}

/// Lists also have those that were lost, or that the scheduler has not seen since it started.
bool is_there(const json& worker) {
  const std::string state = worker.value("state", "");
  return state != "lost" && state != "away";
}

/// A session's name as others may see it: what makes asking twice harmless is cut off.
std::string shown_name(const std::string& name) { return name.substr(0, name.rfind('#')); }

}  // namespace

Rest::Rest(RestOptions options, ClusterLink& link, EventHub& events)
    : options_(std::move(options)),
      link_(link),
      events_(events),
      transfers_(link),
      tickets_(options_.ticket_key),
      started_(std::chrono::steady_clock::now()) {}

void Rest::handle(net::HttpExchange& exchange) {
  ++requests_;
  const net::HttpRequest& request = exchange.request();
  std::string_view path = request.path;
  const bool below = path.starts_with(options_.prefix);
  if (below) path.remove_prefix(options_.prefix.size());
  if (below && path.empty()) path = "/";
  const RouteLookup lookup = below ? find_route(request.method, path) : RouteLookup();
  if (!lookup.match && lookup.path_known)
    return send(exchange, refusal(405, fmt::format("'{}' cannot be done here", request.method)));
  if (!lookup.match)
    return send(exchange, refusal(404, fmt::format("there is nothing here; {}/ lists what there is",
                                                   options_.prefix)));
  Call call{exchange, *lookup.match};
  if (const Answer answer = admit(request, call); answer.status != 200) {
    if (answer.status == 401) {
      ++refused_;
      log(LogLevel::warning, "web", "{} {} from {}: no token, or not the right one", request.method,
          lookup.match->route->pattern, request.peer);
    }
    return send(exchange, answer);
  }
  dispatch(call);
}

bool Rest::shows_token(const net::HttpRequest& request) const {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string* const shown = request.header("Authorization");
  return !options_.token.empty() && shown != nullptr && shown->starts_with(kScheme) &&
         same_token(std::string_view(*shown).substr(kScheme.size()), options_.token);
}

Answer Rest::admit(const net::HttpRequest& request, Call& call) const {
  const Access access = call.match.route->access;
  if (access == Access::anybody) return {};
  if (!options_.token.empty() && !shows_token(request))
    return refusal(401,
                   fmt::format("{}: give it to new_session(token=...), set MUSTER_TOKEN, or send "
                               "'Authorization: Bearer TOKEN'",
                               request.header("Authorization") == nullptr
                                   ? "a token is needed"
                                   : "this is not the token that is needed"));
  if (access == Access::token) return {};
  const std::string& ticket = call.parameter("session");
  if (const auto found = tickets_.read(ticket)) {
    call.session = *found;
    call.owner = true;
    return {};
  }
  if (access == Access::viewer)
    if (const auto number = read_number("the session", ticket, UINT32_MAX)) {
      call.session = engine::SessionId(static_cast<std::uint32_t>(*number));
      return {};
    }
  return refusal(404, "there is no such session: it was closed, or its client was silent too long");
}

void Rest::dispatch(const Call& call) {
  net::HttpExchange& out = call.exchange;
  switch (call.match.route->id) {
    case RouteId::index: return index(call);
    case RouteId::metrics: return metrics(call);
    case RouteId::open_session: return open_session(call);
    case RouteId::submit: return submit(call);
    case RouteId::declare_upload: return declare_upload(call);
    case RouteId::get_chunk:
    case RouteId::put_chunk: return chunk(call);
    case RouteId::take_chunk: return take_chunk(call);
    case RouteId::events: return events(call);
    case RouteId::health: return send(out, health());
    case RouteId::worker_count: return send(out, worker_count(call));
    case RouteId::cluster: return send(out, cluster());
    case RouteId::workers: return send(out, workers());
    case RouteId::list_sessions: return send(out, list_sessions());
    case RouteId::close_session: return send(out, close_session(call));
    case RouteId::keep_alive:
      return send(out,
                  link_.ask_scheduler({"alive", {{"session", call.session.value()}}, {}}, soon()));
    case RouteId::progress: return send(out, progress(call));
    case RouteId::cancel: return send(out, execution_verb(call, "cancel"));
    case RouteId::tasks: return send(out, tasks(call));
    case RouteId::graph: return send(out, execution_verb(call, "graph"));
    case RouteId::tensor: return send(out, tensor(call));
    case RouteId::release: return send(out, release(call));
    case RouteId::logs: return send(out, logs(call));
  }
}

void Rest::index(const Call& call) const {
  (void)call.exchange.answer(200, "text/html; charset=utf-8", index_page(options_.prefix),
                             {{"Content-Security-Policy", "default-src 'none'"}});
}

Answer Rest::health() const {
  if (link_.sees_scheduler()) return {200, {{"status", "ok"}}, {}};
  return refusal(503, "the scheduler cannot be reached");
}

Answer Rest::worker_count(const Call& call) const {
  const auto action = read_parameter(call.exchange.request().query, "action");
  if (!action || *action != "count")
    return refusal(400, "what can be asked here is ?action=count; see /api/workers", "ValueError");
  const Answer answer = cluster();
  if (answer.status != 200) return answer;
  std::size_t count = 0;
  for (const json& worker : answer.body.value("workers", json::array()))
    count += is_there(worker) ? 1 : 0;
  return {200, count, {}};
}

Answer Rest::cluster() const {
  return link_.ask_scheduler({"cluster", json::object(), {}}, soon());
}

Answer Rest::workers() const {
  Answer answer = cluster();
  if (answer.status != 200) return answer;
  answer.body = {{"workers", answer.body.value("workers", json::array())}};
  // The scheduler does not know what only they do.
  const auto told = link_.ask_workers({"status", json::object(), {}}, from_now(kWorkersWithin));
  for (json& worker : answer.body["workers"]) {
    const auto found = told.find(worker.value("name", ""));
    if (found != told.end() && found->second.body.contains("python"))
      worker["python"] = found->second.body["python"];
  }
  return answer;
}

Answer Rest::list_sessions() const {
  Answer answer = link_.ask_scheduler({"sessions", json::object(), {}}, soon());
  const auto sessions = answer.body.find("sessions");
  if (answer.status != 200 || sessions == answer.body.end() || !sessions->is_array()) return answer;
  for (json& each : *sessions)
    if (each.is_object() && each.contains("name") && each["name"].is_string())
      each["name"] = shown_name(each["name"].get<std::string>());
  return answer;
}

void Rest::open_session(const Call& call) {
  auto text = call.exchange.whole_body(kMostJson);
  if (!text) return send(call.exchange, refusal(status_of(text.error()), text.error().message()));
  auto body = read_open(text->text());
  if (!body) return send(call.exchange, wrong_request(body.error()));
  const std::string nonce =
      body->nonce.empty() ? fmt::format("{:016x}{:016x}", secure_random_u64(), secure_random_u64())
                          : body->nonce;
  const std::string name = fmt::format(
      "{}#{}", body->name.empty() ? call.exchange.request().peer : body->name, fingerprint(nonce));
  Answer answer = link_.ask_scheduler({"open",
                                       {{"timeout", body->timeout},
                                        {"name", name},
                                        {"trusted", shows_token(call.exchange.request())}},
                                       {}},
                                      soon());
  if (answer.status == 200) {
    const auto number = answer.body.find("session");
    if (number == answer.body.end() || !number->is_number_unsigned() ||
        number->get<std::uint64_t>() > UINT32_MAX)
      return send(call.exchange, refusal(502, "the scheduler opened no session"));
    const engine::SessionId session(number->get<std::uint32_t>());
    answer = {200,
              {{"session", tickets_.make(session)},
               {"number", session.value()},
               {"timeout", body->timeout}},
              {}};
  }
  send(call.exchange, answer);
}

Answer Rest::close_session(const Call& call) {
  transfers_.forget(call.session);
  return link_.ask_scheduler({"close", {{"session", call.session.value()}}, {}}, soon());
}

void Rest::submit(const Call& call) {
  auto bytes = call.exchange.whole_body(kMostGraph);
  if (!bytes)
    return send(call.exchange,
                refusal(status_of(bytes.error()), bytes.error().message(), "ValueError"));
  auto body = read_submit(bytes->bytes());
  if (!body) return send(call.exchange, wrong_request(body.error()));
  transfers_.forget(call.session, body->keys);
  const Ask ask{
      "submit",
      {{"session", call.session.value()},
       {"execution", body->execution},
       {"keys", body->keys},
       {"options", body->options}},
      bytes->owner() ? Buffer::share(body->graph, bytes->owner()) : Buffer::copy_of(body->graph)};
  send(call.exchange, link_.ask_scheduler(ask, soon() + 50s));
}

Result<json> Rest::execution_arguments(const Call& call) {
  const std::string& execution = call.parameter("execution");
  if (auto ok = check_name("the execution", execution); !ok) return fail(ok.error());
  json arguments = {{"session", call.session.value()}, {"execution", execution}};
  // Whoever only looks does not keep the session of a client alive that is gone.
  if (!call.owner) arguments["looks"] = true;
  return arguments;
}

Answer Rest::execution_verb(const Call& call, std::string verb) const {
  auto arguments = execution_arguments(call);
  if (!arguments) return wrong_request(arguments.error());
  return link_.ask_scheduler({std::move(verb), *std::move(arguments), {}}, soon());
}

Answer Rest::progress(const Call& call) const {
  const auto query = read_progress(call.exchange.request().query);
  if (!query) return wrong_request(query.error());
  auto arguments = execution_arguments(call);
  if (!arguments) return wrong_request(arguments.error());
  arguments->update({{"wait", query->wait}, {"seen", query->seen}});
  return link_.ask_scheduler(
      {"progress", *std::move(arguments), {}},
      soon() + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(query->wait)));
}

Answer Rest::tasks(const Call& call) const {
  auto arguments = execution_arguments(call);
  if (!arguments) return wrong_request(arguments.error());
  const auto& query = call.exchange.request().query;
  const auto limit_text = read_parameter(query, "limit", "1000");
  if (!limit_text) return wrong_request(limit_text.error());
  const auto limit = read_number("limit", *limit_text, 100'000);
  if (!limit) return wrong_request(limit.error());
  (*arguments)["limit"] = *limit;
  const auto state = read_parameter(query, "state");
  if (!state) return wrong_request(state.error());
  if (!state->empty()) {
    if (auto ok = check_name("the state", *state); !ok) return wrong_request(ok.error());
    (*arguments)["state"] = *state;
  }
  return link_.ask_scheduler({"tasks", *std::move(arguments), {}}, soon());
}

void Rest::declare_upload(const Call& call) {
  const std::string& key = call.parameter("tensor");
  if (auto ok = check_name("the key", key); !ok)
    return send(call.exchange, wrong_request(ok.error()));
  auto text = call.exchange.whole_body(kMostJson);
  if (!text) return send(call.exchange, refusal(status_of(text.error()), text.error().message()));
  const auto body = read_upload(text->text());
  if (!body) return send(call.exchange, wrong_request(body.error()));
  Answer answer = transfers_.declare(call.session, key, body->dtype, body->splits, soon());
  if (answer.status == 200 && shows_token(call.exchange.request()))
    answer.body["host"] = memory_host();
  send(call.exchange, answer);
}

/// Who shows the token may run Python functions on the workers, and so read what they can read;
/// nobody else may point at memory.
void Rest::take_chunk(const Call& call) {
  if (!shows_token(call.exchange.request()))
    return send(call.exchange, refusal(403, "only with a token: send the items instead"));
  const std::string& key = call.parameter("tensor");
  if (auto ok = check_name("the key", key); !ok)
    return send(call.exchange, wrong_request(ok.error()));
  const auto number = read_number("the chunk", call.parameter("chunk"), UINT32_MAX);
  if (!number) return send(call.exchange, wrong_request(number.error()));
  auto text = call.exchange.whole_body(kMostJson);
  if (!text) return send(call.exchange, refusal(status_of(text.error()), text.error().message()));
  auto body = read_memory_place(text->text());
  if (!body) return send(call.exchange, wrong_request(body.error()));
  send(call.exchange,
       transfers_.take(
           call.session, key, *number,
           {std::move(body->host), {body->pid, body->proof, body->proof_at}, body->address}));
}

Answer Rest::tensor(const Call& call) const {
  const std::string& key = call.parameter("tensor");
  if (auto ok = check_name("the key", key); !ok) return wrong_request(ok.error());
  const auto chunks = read_parameter(call.exchange.request().query, "chunks", "1");
  if (!chunks || (*chunks != "0" && *chunks != "1"))
    return refusal(400, "chunks is 0 or 1", "ValueError");
  Answer answer = link_.ask_scheduler(
      {"tensor", {{"session", call.session.value()}, {"key", key}, {"chunks", *chunks == "1"}}, {}},
      soon());
  if (answer.status == 200 && *chunks == "0") answer.body.erase("chunks");
  return answer;
}

Answer Rest::release(const Call& call) {
  const auto keys = read_names("the key", call.parameter("tensor"));
  if (!keys) return wrong_request(keys.error());
  transfers_.forget(call.session, *keys);
  return link_.ask_scheduler({"release", {{"session", call.session.value()}, {"keys", *keys}}, {}},
                             soon());
}

void Rest::chunk(const Call& call) {
  const std::string& key = call.parameter("tensor");
  if (auto ok = check_name("the key", key); !ok)
    return send(call.exchange, wrong_request(ok.error()));
  const auto number = read_number("the chunk", call.parameter("chunk"), UINT32_MAX);
  if (!number) return send(call.exchange, wrong_request(number.error()));
  if (call.match.route->id == RouteId::get_chunk)
    transfers_.download(call.exchange, call.session, key, *number);
  else
    transfers_.upload(call.exchange, call.session, key, *number);
}

Result<std::string> Rest::named_role(const Call& call, std::string_view fallback) const {
  const auto& query = call.exchange.request().query;
  auto worker = read_parameter(query, "worker");
  if (!worker) return worker;
  auto role = read_parameter(query, "role", fallback);
  if (!role) return role;
  if (worker->empty()) {
    if (*role == kWebName || *role == kSchedulerName) return role;
    return fail(Errc::malformed, "role is 'scheduler' or 'web'; for a worker use ?worker=NAME");
  }
  const auto there = link_.workers();
  if (std::find(there.begin(), there.end(), *worker) != there.end()) return worker;
  return fail(Errc::not_found, "there is no such worker; /api/workers lists them");
}

Answer Rest::logs(const Call& call) const {
  const auto role = named_role(call, kWebName);
  if (!role) return refusal(role.error().is(Errc::not_found) ? 404 : 400, role.error().message());
  const auto text = read_parameter(call.exchange.request().query, "lines", "200");
  if (!text) return wrong_request(text.error());
  const auto lines = read_number("lines", *text, kMostLines);
  if (!lines) return wrong_request(lines.error());
  const Ask ask{"logs", {{"lines", *lines}}, {}};
  return *role == kWebName ? asked(ask) : link_.ask(*role, ask, soon());
}

void Rest::metrics(const Call& call) const {
  const auto role = named_role(call, kWebName);
  if (!role)
    return send(call.exchange,
                refusal(role.error().is(Errc::not_found) ? 404 : 400, role.error().message()));
  const Ask ask{"metrics", json::object(), {}};
  const Answer answer = *role == kWebName ? asked(ask) : link_.ask(*role, ask, soon());
  if (answer.status != 200) return send(call.exchange, answer);
  (void)call.exchange.answer(200, "text/plain; version=0.0.4; charset=utf-8",
                             answer.payload.bytes());
}

Answer Rest::asked(const Ask& ask) const {
  if (ask.verb == "metrics")
    return {200, json::object(), Buffer::copy_of(as_bytes(metrics_text()))};
  if (ask.verb != "logs")
    return refusal(404, fmt::format("the web role cannot be asked '{}'", ask.verb));
  const auto lines = ask.arguments.find("lines");
  const std::size_t most = lines != ask.arguments.end() && lines->is_number_unsigned()
                               ? lines->get<std::size_t>()
                               : kMostLines;
  return {200, {{"lines", recent_log_lines(most)}}, {}};
}

std::string Rest::metrics_text() const {
  const auto up = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_);
  return metrics_page({{"muster_web_uptime_seconds", "gauge", "since the role started", up.count()},
                       {"muster_web_requests_total", "counter", "requests that came",
                        static_cast<double>(requests_)},
                       {"muster_web_refused_total", "counter", "requests without the right token",
                        static_cast<double>(refused_)},
                       {"muster_web_downloaded_bytes_total", "counter", "items sent to clients",
                        static_cast<double>(transfers_.bytes_down())},
                       {"muster_web_uploaded_bytes_total", "counter", "items taken from clients",
                        static_cast<double>(transfers_.bytes_up())},
                       {"muster_web_listeners", "gauge", "open streams of events",
                        static_cast<double>(events_.listeners())},
                       {"muster_web_workers", "gauge", "workers that can be reached",
                        static_cast<double>(link_.workers().size())},
                       {"muster_web_scheduler_up", "gauge", "whether the scheduler can be reached",
                        link_.sees_scheduler() ? 1.0 : 0.0}});
}

void Rest::events(const Call& call) {
  auto socket = call.exchange.upgrade();
  if (!socket) {
    log(LogLevel::info, "web", "{}: {}", call.exchange.request().peer, socket.error().message());
    return;
  }
  const auto listening = events_.listen();
  std::jthread sending([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && !listening->stopped())
      for (const auto& line : listening->take(from_now(1s)))
        if (is_utf8(*line) && !(*socket)->send_text(*line)) return;
  });
  // What the client says does not matter, but that it is there does.
  while (!listening->stopped() && !call.exchange.stopping())
    if (!(*socket)->receive(from_now(500ms))) break;
  listening->stop();
  (*socket)->close();
}

}  // namespace muster::service
