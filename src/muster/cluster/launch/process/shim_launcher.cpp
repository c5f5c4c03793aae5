#include "muster/cluster/launch/process/shim_launcher.h"

#include <cerrno>
#include <filesystem>
#include <signal.h>
#include <utility>

#include <fmt/format.h>

#include "muster/cluster/launch/process/claim.h"
#include "muster/runtime/unix_socket.h"

namespace muster::cluster {
namespace {

constexpr int kLostCode = 125;  // ours: nobody knows how it ended

ExitRecord lost(std::string why) {
  return {.status = {.code = kLostCode}, .failure = std::move(why)};
}

Result<void> make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(system_error(error.value(), fmt::format("make '{}'", folder)));
  return {};
}

}  // namespace

Result<void> ShimLauncher::start(const LaunchOrder& order) {
  if (auto made = make_folder(order.folder); !made) return made;
  auto options = prepare(order);
  if (!options) return fail(options.error());
  auto child = ChildProcess::spawn(*options);
  if (!child) return fail(child.error());
  return watch({.order = order, .child = std::move(*child), .pidfd = {}});
}

Result<void> ShimLauncher::watch(Watched watched) {
  const std::uint64_t key = next_key_++;
  const int fd = watched.child ? watched.child->fd() : watched.pidfd.get();
  if (auto added = epoll_.add(fd, key); !added) return added;
  keys_[watched.order.folder] = key;
  watched_.emplace(key, std::move(watched));
  return {};
}

Result<Adoption> ShimLauncher::adopt(const LaunchOrder& order) {
  if (auto made = make_folder(order.folder); !made) return fail(made.error());
  for (;;) {
    const auto claim = read_claim(order.folder);
    if (!claim) {
      const auto taken = take_claim(order.folder, "void\n");
      if (!taken) return fail(taken.error());
      if (*taken) return Adoption::not_started;
      continue;  // its shim was quicker
    }
    if (claim->shim == 0) return Adoption::not_started;
    if (claim->held) {
      auto pidfd = watch_process(claim->shim);
      // While the claim is held, the pid is still that of its owner.
      if (!pidfd || !read_claim(order.folder)->held) continue;
      if (auto watching = watch({.order = order, .child = {}, .pidfd = std::move(*pidfd)});
          !watching)
        return fail(watching.error());
      return Adoption::runs;
    }
    Watched gone{.order = order, .child = {}, .pidfd = {}};
    ended_.push_back({.folder = order.folder, .record = end_of(gone)});
    return Adoption::runs;
  }
}

void ShimLauncher::stop(const std::string& folder) {
  const auto key = keys_.find(folder);
  if (key == keys_.end()) return;
  const Watched& watched = watched_.at(key->second);
  if (watched.child) {
    watched.child->signal(SIGTERM);
  } else {
    signal_process(watched.pidfd, SIGTERM);
  }
}

std::vector<LaunchEnd> ShimLauncher::take_ended() {
  std::vector<LaunchEnd> ended = std::exchange(ended_, {});
  for (const std::uint64_t key : epoll_.ready()) {
    const auto place = watched_.find(key);
    if (place == watched_.end()) continue;
    Watched& watched = place->second;
    if (watched.child && !watched.child->try_wait()) continue;
    epoll_.remove(watched.child ? watched.child->fd() : watched.pidfd.get());
    ended.push_back({.folder = watched.order.folder, .record = end_of(watched)});
    keys_.erase(watched.order.folder);
    watched_.erase(place);
  }
  return ended;
}

ExitRecord ShimLauncher::end_of(Watched& watched) {
  if (auto record = read_exit_record(watched.order.folder)) return *record;
  sweep(watched.order);
  const auto status = watched.child ? watched.child->try_wait() : std::nullopt;
  if (!status) return lost("the program that watched over it is gone");
  return lost(fmt::format("the program that watched over it ended with {}", status->description()));
}

}  // namespace muster::cluster
