// A rank of a group, for tests that trouble its host: calls an operation again and again until told
// by an error that a rank is lost, then shrinks and goes on. Every item of every call is compared;
// one that is wrong ends the program. Every line it prints is one thing that happened.
//
// usage: muster_rank KEY=VALUE… with discovery, driver, size, rank, lease_ms, operation, count,
//        calls (0: for ever), and any driver option such as ucx.transports

#include <chrono>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/comm/collective/group.h"
#include "muster/comm/errc.h"
#include "tests/integration/collective/checked_calls.h"

using namespace muster;
using namespace muster::comm;

namespace {

void say(const std::string& line) { std::cout << line << std::endl; }

std::string kind_of(const Error& error) {
  if (error.is(Errc::rank_lost)) return "rank_lost";
  if (error.is(Errc::expelled)) return "expelled";
  return "error";
}

collective::Operation operation_of(const std::string& text) {
  for (const collective::Operation operation : collective::kOperations)
    if (collective::name(operation) == text) return operation;
  throw std::invalid_argument("no operation " + text);
}

// As time.monotonic() of Python, in milliseconds.
long clock_ms() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::milliseconds(1);
}

struct Work {
  collective::Operation operation;
  Form form;
  long calls;
};

/// Calls until it is enough, or an error.
Result<void> call(Group& group, const Work& work) {
  CheckedCalls calls(group, work.operation, work.form);
  for (long i = 0; work.calls == 0 || i < work.calls; ++i) {
    if (auto ok = calls.next(); !ok) return ok;
    if (i % 20 == 0) say(fmt::format("call {} of {} right", i, group.size()));
  }
  // Nobody leaves while another still needs it.
  return group.barrier();
}

int run(Group group, const Work& work) {
  say(fmt::format("joined rank {} of {}", group.rank(), group.size()));
  while (true) {
    const auto result = call(group, work);
    if (result) break;
    say(fmt::format("{} at {}: {}", kind_of(result.error()), clock_ms(), result.error().message()));
    auto shrunk = group.shrink(std::chrono::seconds(20));
    if (!shrunk) {
      say(fmt::format("no shrink, {}: {}", kind_of(shrunk.error()), shrunk.error().message()));
      return 3;
    }
    say(fmt::format("shrunk to {}, without {}, after {} calls", shrunk->group.size(),
                    fmt::join(shrunk->lost, " "), shrunk->finished));
    group = std::move(shrunk->group);
  }
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
  options.member = fmt::format("rank {}", *options.rank);
  options.discovery = words["discovery"];
  if (words.contains("driver")) options.driver = words["driver"];
  for (const auto& [key, value] : words)
    if (key.find('.') != std::string::npos) options.driver_options[key] = value;
  options.lease = std::chrono::milliseconds(number("lease_ms", 3000));
  options.join_timeout = std::chrono::seconds(30);
  auto group = Group::join(options);
  if (!group) {
    say(group.error().message());
    return 1;
  }
  const Form form{"", static_cast<std::size_t>(number("count", 1000))};
  const std::string operation = words.contains("operation") ? words["operation"] : "allreduce";
  return run(*std::move(group), {operation_of(operation), form, number("calls", 0)});
}
