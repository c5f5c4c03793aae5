#include "muster/service/worker/chunk_source.h"

#include <thread>

#include <fmt/format.h>

#include "muster/comm/errc.h"
#include "muster/engine/errors.h"
#include "muster/service/errc.h"
#include "muster/service/protocol/tags.h"

namespace muster::service {

namespace {

/// Between two looks for a holder that is not there yet.
constexpr Duration kPause = std::chrono::milliseconds(10);

bool may_come(const Error& error) {
  return error.is(comm::Errc::peers_missing) || error.is(comm::Errc::pending) ||
         error.is(comm::Errc::rejoin_timeout) || error.is(comm::Errc::peer_connection);
}

}  // namespace

/// The reply must not come before somebody waits for it, or it would be taken for a request:
/// sending and waiting are one call.
Result<comm::Replies> PeerChunks::ask(const std::string& holder,
                                      const std::vector<engine::ChunkId>& chunks) {
  const TimePoint until = SteadyClock().now() + patience_.meet;
  for (;;) {
    comm::Message message;
    message.tag = kGetTag;
    message.destination = holder;
    message.body = encode(GetChunks{chunks});
    auto replies = proxy_.send(std::move(message), patience_.answer);
    if (replies || !may_come(replies.error()) || SteadyClock().now() >= until) return replies;
    std::this_thread::sleep_for(kPause);
  }
}

Result<GotChunks> PeerChunks::get(const std::string& holder,
                                  const std::vector<engine::ChunkId>& chunks) {
  for (int tries = 0; tries < patience_.tries; ++tries) {
    const auto replies = ask(holder, chunks);
    if (!replies) return fail(replies.error());
    if (!replies->lost.empty())
      return fail(Errc::unreachable, fmt::format("worker '{}' went away before it sent {} chunks",
                                                 holder, chunks.size()));
    if (replies->messages.empty()) continue;
    try {
      return read_got(replies->messages.front().body, chunks.size());
    } catch (const engine::ArrayError& error) {
      return fail(Errc::malformed, fmt::format("worker '{}': {}", holder, error.what()));
    }
  }
  return fail(
      Errc::timeout,
      fmt::format("worker '{}' did not send {} chunks in {} s, {} times", holder, chunks.size(),
                  patience_.answer / std::chrono::seconds(1), patience_.tries));
}

}  // namespace muster::service
