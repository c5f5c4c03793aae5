// A rank of a group, for tests that trouble its host: adds up ones until told by an error that a
// rank is lost, then shrinks and goes on. Every line it prints is one thing that happened.
//
// usage: muster_rank KEY=VALUE… with discovery, size, rank, lease_ms, calls (0: for ever), count

#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/comm/collective/group.h"
#include "muster/comm/errc.h"

using namespace muster;
using namespace muster::comm;

namespace {

void say(const std::string& line) { std::cout << line << std::endl; }

std::string kind_of(const Error& error) {
  if (error.is(Errc::rank_lost)) return "rank_lost";
  if (error.is(Errc::expelled)) return "expelled";
  return "error";
}

int work(Group group, long calls, std::size_t count) {
  say(fmt::format("joined rank {} of {}", group.rank(), group.size()));
  std::vector<int> ones(count);
  for (long i = 0; calls == 0 || i < calls; ++i) {
    ones.assign(count, 1);
    const auto result = group.allreduce(ones);
    if (result) {
      const bool right = ones.front() == group.size() && ones.back() == group.size();
      if (!right || i % 100 == 0)
        say(fmt::format("call {} of {} {}", i, group.size(), right ? "right" : "WRONG"));
      continue;
    }
    say(fmt::format("{}: {}", kind_of(result.error()), result.error().message()));
    auto shrunk = group.shrink(std::chrono::seconds(20));
    if (!shrunk) {
      say(fmt::format("no shrink, {}: {}", kind_of(shrunk.error()), shrunk.error().message()));
      return 3;
    }
    say(fmt::format("shrunk to {}, without {}", shrunk->group.size(),
                    fmt::join(shrunk->lost, " ")));
    group = std::move(shrunk->group);
    i = -1;
  }
  // Nobody leaves while another still needs it.
  static_cast<void>(group.barrier());
  say("done");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    words[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  const auto number = [&](const std::string& key, long otherwise) {
    return words.contains(key) ? std::stol(words[key]) : otherwise;
  };
  GroupOptions options;
  options.name = "ranks";
  options.size = static_cast<int>(number("size", 1));
  options.rank = static_cast<int>(number("rank", 0));
  options.discovery = words["discovery"];
  options.lease = std::chrono::milliseconds(number("lease_ms", 3000));
  options.join_timeout = std::chrono::seconds(30);
  auto group = Group::join(options);
  if (!group) {
    say(group.error().message());
    return 1;
  }
  return work(*std::move(group), number("calls", 0),
              static_cast<std::size_t>(number("count", 1000)));
}
