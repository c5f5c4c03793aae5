#include "muster/service/scheduler/asks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "muster/service/scheduler/ask_arguments.h"

// What clients ask for. What people look at is in asks_status.cpp.

namespace muster::service {
namespace {

using engine::Index;
using engine::SessionId;

constexpr double kLongestWait = 60;
constexpr double kLongestTimeout = 30 * 24 * 3600.0;

Answer accepted(nlohmann::json body = nlohmann::json::object()) {
  return {200, std::move(body), {}};
}

engine::Splits read_splits(const nlohmann::json& json, std::size_t item_size) {
  constexpr std::size_t kMostAxes = 32;
  constexpr double kMostChunks = 1'000'000;
  if (!json.is_array() || json.size() > kMostAxes)
    Arguments::wrong("splits",
                     fmt::format("a list of extents for each of at most {} axes", kMostAxes));
  engine::Splits splits;
  double chunks = 1;
  double bytes = static_cast<double>(item_size);
  for (const nlohmann::json& axis : json) {
    if (!axis.is_array() || axis.empty())
      Arguments::wrong("splits", "a list of extents for each axis");
    std::vector<Index>& extents = splits.emplace_back();
    double extent = 0;
    for (const nlohmann::json& each : axis) {
      if (!each.is_number_integer() || each.get<Index>() < 0)
        Arguments::wrong("splits", "whole numbers");
      extents.push_back(each.get<Index>());
      extent += static_cast<double>(extents.back());
    }
    chunks *= static_cast<double>(extents.size());
    bytes *= std::max(extent, 1.0);
  }
  if (chunks > kMostChunks)
    throw Refusal{400, fmt::format("{} chunks, but {} are the limit", chunks, kMostChunks),
                  "ValueError"};
  if (bytes > 0x1p62) throw Refusal{400, "no memory is that large", "ValueError"};
  return splits;
}

}  // namespace

Asks::Verb Asks::verb(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, Verb>, 15> kVerbs{{
      {"open", &Asks::open},
      {"alive", &Asks::alive},
      {"close", &Asks::close},
      {"submit", &Asks::submit},
      {"progress", &Asks::progress},
      {"cancel", &Asks::cancel},
      {"tensor", &Asks::tensor},
      {"upload", &Asks::upload},
      {"release", &Asks::release},
      {"cluster", &Asks::cluster},
      {"sessions", &Asks::sessions},
      {"tasks", &Asks::tasks},
      {"graph", &Asks::graph},
      {"logs", &Asks::logs},
      {"metrics", &Asks::metrics},
  }};
  for (const auto& [each, verb] : kVerbs)
    if (each == name) return verb;
  return nullptr;
}

std::optional<Answer> Asks::answer(const Ask& ask, const comm::Message& question) {
  const auto failed = [](int status, const std::string& text, const std::string& kind) {
    Answer answer{status, {{"error", text}}, {}};
    if (!kind.empty()) answer.body["kind"] = kind;
    return answer;
  };
  try {
    const Verb found = verb(ask.verb);
    if (found == nullptr)
      return failed(404, fmt::format("the scheduler has no verb '{}'", ask.verb), {});
    if (!ask.arguments.is_object()) return failed(400, "the arguments are no object", {});
    return (this->*found)(ask, question);
  } catch (const Refusal& refusal) {
    return failed(refusal.status, refusal.text, refusal.kind);
  } catch (const std::exception& error) {
    return failed(500, error.what(), "RuntimeError");
  }
}

std::shared_ptr<Session> Asks::session_of(const Ask& ask) {
  const auto id = Arguments(ask.arguments).number("session", 0xFFFFFFFFu);
  const bool looks = Arguments(ask.arguments).truth_or("looks", false);
  return or_refuse(sessions_.find(SessionId(static_cast<std::uint32_t>(id)),
                                  looks ? Sessions::Heard::no : Sessions::Heard::yes));
}

std::shared_ptr<Execution> Asks::execution_of(const std::shared_ptr<Session>& session,
                                              const Ask& ask) {
  return or_refuse(sessions_.execution(session, Arguments(ask.arguments).text("execution")));
}

std::optional<Answer> Asks::open(const Ask& ask, const comm::Message&) {
  const Arguments arguments(ask.arguments);
  const auto session = or_refuse(sessions_.open(arguments.text_or("name", {}),
                                                arguments.seconds_or("timeout", kLongestTimeout, 0),
                                                arguments.truth_or("trusted", false)));
  return accepted({{"session", session.value()}});
}

std::optional<Answer> Asks::alive(const Ask& ask, const comm::Message&) {
  (void)session_of(ask);
  return accepted();
}

std::optional<Answer> Asks::close(const Ask& ask, const comm::Message&) {
  sessions_.close(session_of(ask), "its client closed it");
  return accepted();
}

std::optional<Answer> Asks::submit(const Ask& ask, const comm::Message&) {
  const auto session = session_of(ask);
  const Arguments arguments(ask.arguments);
  Execution::Order order;
  order.session = session->id;
  order.name = arguments.text("execution", 512);
  order.keys = arguments.texts("keys", 512, 100'000);
  if (arguments.has("options")) {
    if (!arguments.at("options").is_object()) Arguments::wrong("options", "an object");
    order.options = arguments.at("options").dump();
    if (order.options.size() > 16 * 1024)
      throw Refusal{400, "the options take more than 16 KiB", "ValueError"};
  }
  order.graph = ask.payload.kept();
  or_refuse(sessions_.submit(session, std::move(order)));
  return accepted();
}

std::optional<Answer> Asks::progress(const Ask& ask, const comm::Message& question) {
  const auto execution = execution_of(session_of(ask), ask);
  const Arguments arguments(ask.arguments);
  const double wait = arguments.seconds_or("wait", kLongestWait, 0);
  const std::uint64_t seen = arguments.number_or("seen", ~std::uint64_t{0} >> 1, 0);
  if (wait > 0) {
    Execution::Waiter waiter{
        question, seen,
        std::chrono::steady_clock::now() +
            std::chrono::duration_cast<Duration>(std::chrono::duration<double>(wait))};
    // The answer needs to know whom, not what.
    waiter.question.body = {};
    if (execution->park(waiter)) return std::nullopt;
  }
  return accepted(execution->status());
}

std::optional<Answer> Asks::cancel(const Ask& ask, const comm::Message&) {
  const auto session = session_of(ask);
  sessions_.cancel(session, execution_of(session, ask));
  return accepted();
}

std::optional<Answer> Asks::tensor(const Ask& ask, const comm::Message&) {
  const auto session = session_of(ask);
  const Arguments arguments(ask.arguments);
  const auto tensor = or_refuse(sessions_.tensor(session, arguments.text("key")));
  nlohmann::json found = {{"dtype", engine::name(tensor->dtype())}, {"splits", tensor->splits()}};
  // There may be a million of them.
  if (arguments.truth_or("chunks", true)) found["chunks"] = chunks_of(session->id, *tensor);
  return accepted(std::move(found));
}

nlohmann::json Asks::chunks_of(SessionId session, const ClusterStored& tensor) const {
  auto chunks = nlohmann::json::array();
  core_.look([&](const Core::View& view) {
    for (const std::uint32_t number : tensor.chunks()) {
      auto holders = nlohmann::json::array();
      std::uint64_t bytes = 0;
      bool lost = true;
      if (const auto chunk = view.scheduler.chunk({session, number})) {
        bytes = chunk->bytes;
        lost = chunk->holders.empty() && !chunk->coming;
        for (const engine::WorkerId id : chunk->holders)
          if (const WorkerEntry* const worker = view.workers.find(id))
            holders.push_back(worker->name);
      }
      chunks.push_back({{"chunk", number}, {"holders", std::move(holders)}, {"bytes", bytes}});
      if (lost) chunks.back()["lost"] = true;
    }
    return true;
  });
  return chunks;
}

std::optional<Answer> Asks::upload(const Ask& ask, const comm::Message&) {
  const auto session = session_of(ask);
  const Arguments arguments(ask.arguments);
  const std::string key = arguments.text("key", 512);
  const std::string type = arguments.text("dtype", 64);
  const auto dtype = engine::dtype_named(type);
  if (!dtype) throw Refusal{400, fmt::format("there is no dtype '{}'", type), "TypeError"};
  engine::Splits splits = read_splits(arguments.at("splits"), engine::item_size(*dtype));
  // Whoever has most room gets the next chunk.
  struct Room {
    double left;
    std::string name;
  };
  std::vector<Room> rooms = core_.look([](const Core::View& view) {
    std::vector<Room> out;
    for (const auto& [id, worker] : view.workers.all()) {
      const engine::WorkerView seen = view.scheduler.worker(worker.id);
      if (worker.state == WorkerEntry::State::registered &&
          seen.health == engine::WorkerHealth::well)
        out.push_back(
            {static_cast<double>(seen.budget) - static_cast<double>(seen.held), worker.name});
    }
    return out;
  });
  if (rooms.empty()) throw Refusal{503, "there is no worker to upload to", {}};
  const auto tensor = or_refuse(sessions_.upload(session, key, *dtype, splits));
  auto chunks = nlohmann::json::array();
  std::size_t at = 0;
  engine::for_each_position(engine::grid_of(splits), [&](const engine::Shape& position) {
    const auto most = std::max_element(
        rooms.begin(), rooms.end(), [](const Room& a, const Room& b) { return a.left < b.left; });
    most->left -= static_cast<double>(engine::volume(engine::extents_at(splits, position))) *
                  static_cast<double>(engine::item_size(*dtype));
    chunks.push_back({{"chunk", tensor->chunks()[at++]}, {"worker", most->name}});
  });
  return accepted({{"chunks", std::move(chunks)}});
}

std::optional<Answer> Asks::release(const Ask& ask, const comm::Message&) {
  const auto session = session_of(ask);
  sessions_.release(session, Arguments(ask.arguments).texts("keys", 512, 1'000'000));
  return accepted();
}

}  // namespace muster::service
