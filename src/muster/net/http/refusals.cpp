#include "muster/net/http/refusals.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <sys/socket.h>
#include <utility>

namespace muster::net {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMost = 64;
constexpr Duration kTime = milliseconds(1000);
constexpr Duration kPause = milliseconds(20);
constexpr std::string_view kAnswer =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Type: text/plain\r\n"
    "Content-Length: 33\r\nConnection: close\r\n\r\nthe server has too many clients.\n";

// Drops what came; true at its end.
bool ended(const FileDescriptor& socket) {
  std::array<char, 16u << 10> dropped;
  const auto got = ::recv(socket.get(), dropped.data(), dropped.size(), MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace

void Refusals::add(FileDescriptor socket) {
  // The buffer of a new socket has room for it.
  ::send(socket.get(), kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(socket.get(), SHUT_WR);
  if (refused_.size() == kMost) refused_.pop_front();
  refused_.push_back({std::move(socket), SteadyClock().now() + kTime});
}

void Refusals::look() {
  const TimePoint now = SteadyClock().now();
  std::erase_if(refused_,
                [&](const Refused& one) { return now >= one.until || ended(one.socket); });
}

TimePoint Refusals::next_look() const {
  return refused_.empty() ? TimePoint::max() : SteadyClock().now() + kPause;
}

}  // namespace muster::net
