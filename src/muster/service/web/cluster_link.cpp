#include "muster/service/web/cluster_link.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/comm/errc.h"
#include "muster/service/errc.h"
#include "muster/service/join_cluster.h"
#include "muster/service/protocol/chunks.h"
#include "muster/service/protocol/tags.h"

namespace muster::service {

namespace {

using namespace std::chrono_literals;

// How often those that wait look whether the role was stopped.
constexpr Duration kLook = 100ms;

Duration until(TimePoint deadline) {
  return std::max<Duration>(deadline - std::chrono::steady_clock::now(), 0ms);
}

Answer away(int status, std::string message) {
  return {status, {{"error", std::move(message)}, {"kind", "RuntimeError"}}, {}};
}

}  // namespace

Result<std::unique_ptr<ClusterLink>> ClusterLink::join(const RoleOptions& role,
                                                       comm::ProxyOptions options,
                                                       Listener listener) {
  auto proxy = join_cluster(role, std::move(options));
  if (!proxy) return fail(proxy.error());
  std::unique_ptr<ClusterLink> link(new ClusterLink(*std::move(proxy), std::move(listener)));
  link->listening_ = std::thread([self = link.get()] { self->listen(); });
  return link;
}

ClusterLink::ClusterLink(comm::Proxy proxy, Listener listener)
    : proxy_(std::move(proxy)), listener_(std::move(listener)) {}

ClusterLink::~ClusterLink() { stop(); }

void ClusterLink::stop() {
  stopping_ = true;
  proxy_.close();
  if (listening_.joinable()) listening_.join();
}

Result<comm::Message> ClusterLink::send_once(std::string_view to, std::string_view tag,
                                             const comm::Body& body, TimePoint deadline) {
  comm::Message message;
  message.tag = tag;
  message.destination = to;
  message.body = body;
  auto replies = proxy_.send(std::move(message), until(deadline));
  if (!replies) {
    const bool closed = replies.error().is(comm::Errc::closed);
    return fail(closed ? Errc::closed : Errc::unreachable, replies.error().message());
  }
  if (!replies->messages.empty()) return std::move(replies->messages.front());
  if (!replies->lost.empty())
    return fail(Errc::unreachable, fmt::format("'{}' went away before it answered", to));
  return fail(Errc::timeout, fmt::format("'{}' did not answer in time", to));
}

Answer ClusterLink::ask(std::string_view role, const Ask& ask, TimePoint deadline) {
  const comm::Body body = encode(ask);
  while (true) {
    auto reply = send_once(role, kAskTag, body, deadline);
    if (reply) {
      auto answer = read_answer(reply->body);
      if (answer) return *std::move(answer);
      return away(502, fmt::format("'{}' gave an answer to '{}' that cannot be read: {}", role,
                                   ask.verb, answer.error().message()));
    }
    if (stopping_ || reply.error().is(Errc::closed)) return away(503, "the web role is stopping");
    if (reply.error().is(Errc::timeout)) return away(504, reply.error().message());
    if (std::chrono::steady_clock::now() >= deadline)
      return away(503, fmt::format("'{}' cannot be reached: {}", role, reply.error().message()));
    wait_for_change(deadline);
  }
}

Answer ClusterLink::ask_scheduler(const Ask& question, TimePoint deadline) {
  return ask(kSchedulerName, question, deadline);
}

std::map<std::string, Answer> ClusterLink::ask_workers(const Ask& question, TimePoint deadline) {
  std::map<std::string, Answer> answers;
  const auto replies = proxy_.broadcast(kWorkerType, comm::Tag(kAskTag), comm::SessionType::task,
                                        encode(question), until(deadline));
  if (!replies) return answers;
  for (const comm::Message& message : replies->messages)
    if (auto answer = read_answer(message.body); answer && answer->status == 200)
      answers.insert_or_assign(message.source.str(), *std::move(answer));
  return answers;
}

Result<Buffer> ClusterLink::get_chunk(std::string_view worker, engine::ChunkId chunk,
                                      TimePoint deadline) {
  auto reply = send_once(worker, kGetTag, encode(GetChunks{{chunk}}), deadline);
  if (!reply) return fail(reply.error());
  return reply->body.buffer().kept();
}

Result<Answer> ClusterLink::give_chunk(std::string_view worker, std::string_view tag,
                                       const comm::Body& body, TimePoint deadline) {
  auto reply = send_once(worker, tag, body, deadline);
  if (!reply) return fail(reply.error());
  return read_answer(reply->body);
}

Result<comm::WritableBuffer> ClusterLink::allocate(std::size_t bytes) {
  return proxy_.allocate(bytes);
}

std::vector<std::string> ClusterLink::workers() const {
  std::vector<std::string> names;
  const auto peers = proxy_.peers();
  if (const auto found = peers.find(kWorkerType); found != peers.end())
    for (const Name& name : found->second) names.push_back(name.str());
  return names;
}

bool ClusterLink::sees_scheduler() const {
  const auto peers = proxy_.peers();
  const auto found = peers.find(kSchedulerType);
  return found != peers.end() && !found->second.empty();
}

void ClusterLink::wait_for_change(TimePoint deadline) {
  const std::uint64_t before = proxy_.peers_version();
  const TimePoint end = std::min(deadline, TimePoint(std::chrono::steady_clock::now() + kLook));
  while (!stopping_ && proxy_.peers_version() == before && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::min<Duration>(10ms, until(end)));
}

void ClusterLink::listen() {
  while (!stopping_) {
    auto message = proxy_.receive_once(kLook);
    if (message && *message) {
      take(**message);
    } else if (!message) {
      if (stopping_ || message.error().is(comm::Errc::closed)) return;
      log(LogLevel::warning, "web", "{}", message.error().message());
      std::this_thread::sleep_for(kLook);
    }
  }
}

void ClusterLink::take(const comm::Message& message) {
  if (message.tag == kNewsTag) {
    if (listener_.news) listener_.news(message.body.buffer().text());
    return;
  }
  // Anything else is a reply for which nobody waits any more.
  if (message.tag != kAskTag || message.session_stage != comm::SessionStage::request) return;
  auto ask = read_ask(message.body);
  Answer answer = ask && listener_.asked
                      ? listener_.asked(*ask)
                      : away(400, ask ? "nothing can be asked here" : ask.error().message());
  if (auto sent = proxy_.reply(message, {}, encode(answer)); !sent)
    log(LogLevel::debug, "web", "{}", sent.error().message());
}

}  // namespace muster::service
