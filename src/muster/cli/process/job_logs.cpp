#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cli/process/commands.h"
#include "muster/cli/process/mode.h"
#include "muster/cluster/launch/process/line_prefixer.h"
#include "muster/cluster/launch/process/log_reader.h"

namespace muster::cli {
namespace {

using cluster::InstanceState;
using cluster::JobState;

constexpr Duration kLookAgain = std::chrono::milliseconds(100);

struct Options {
  std::string job;
  std::string component;
  std::optional<std::size_t> tail;
  bool follow = false;
};

std::vector<const InstanceState*> chosen(const JobState& job, const std::string& component) {
  std::vector<const InstanceState*> instances;
  for (const auto& instance : job.instances) {
    if (component.empty() || instance.component == component || instance.name() == component)
      instances.push_back(&instance);
  }
  return instances;
}

std::string no_component(const JobState& job, const std::string& component) {
  std::vector<std::string> names;
  for (const auto& each : job.spec.components) names.push_back(each.name);
  const std::string known = fmt::format("{}", fmt::join(names, ", "));
  for (const auto& each : job.instances) names.push_back(each.name());
  return fmt::format("{}; job '{}' has {}", no_such("component", component, names), job.name(),
                     known);
}

// What is wrong with a number of lines. CLI11 takes -1 for a very large one.
std::string not_a_number(const std::string& text) {
  const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (!text.empty() && text.size() < 19 && std::ranges::all_of(text, digit)) return {};
  return fmt::format("'{}' is not a number of lines", text);
}

// The logs of several instances as one stream, each line behind its name if there are several.
class Logs {
 public:
  Logs(const cluster::ClusterLayout& layout, const Options& options, const Io& io)
      : layout_(layout), options_(options), io_(io) {}

  // Prints what is new. True if something was.
  bool print(const JobState& job) {
    const auto instances = chosen(job, options_.component);
    bool some = false;
    for (const InstanceState* instance : instances) {
      const std::string prefix =
          instances.size() > 1 ? fmt::format("[{}] ", instance->name()) : std::string();
      // With --tail, of the last attempt only.
      const std::uint32_t first = options_.tail ? std::max(instance->attempt, 1u) : 1u;
      for (std::uint32_t attempt = first; attempt <= instance->attempt; ++attempt)
        some = print(layout_.attempt(job.id, instance->name(), attempt), prefix) || some;
    }
    io_.out << std::flush;
    return some;
  }

  void finish() {
    for (auto& [folder, stream] : streams_) io_.out << stream.lines.finish();
    io_.out << std::flush;
  }

 private:
  struct Stream {
    cluster::LogFollower log;
    cluster::LinePrefixer lines;
  };

  bool print(const std::string& folder, const std::string& prefix) {
    auto place = streams_.find(folder);
    bool some = false;
    if (place == streams_.end()) {
      if (options_.tail && !options_.follow) {
        for (const auto& line : cluster::last_log_lines(folder, *options_.tail))
          io_.out << prefix << line << '\n';
      }
      const bool skip = options_.tail.has_value();
      cluster::LogFollower log =
          skip ? cluster::LogFollower(folder, options_.follow ? *options_.tail : 0)
               : cluster::LogFollower(folder);
      place = streams_.emplace(folder, Stream{std::move(log), cluster::LinePrefixer(prefix)}).first;
    }
    const std::string piece = place->second.log.take();
    some = !piece.empty();
    io_.out << place->second.lines.take(piece);
    return some;
  }

  const cluster::ClusterLayout& layout_;
  const Options& options_;
  Io io_;
  std::map<std::string, Stream> streams_;
};

int show(cluster::ProcessMode& mode, const Options& options, const Io& io) {
  Logs logs(mode.layout(), options, io);
  for (;;) {
    const auto job = mode.job(options.job);
    if (!job) return report(io, job.error());
    if (chosen(*job, options.component).empty())
      return report(io, no_component(*job, options.component));
    const bool some = logs.print(*job);
    if (!options.follow || (job->final() && !some)) break;
    if (!some) mode.wait_for_change(kLookAgain);
  }
  logs.finish();
  return kDone;
}

}  // namespace

Action set_up_job_logs(CLI::App& parser, Io io) {
  auto options = std::make_shared<Options>();
  parser.add_option("NAME", options->job, "The job")->required()->type_name("");
  parser.add_option("-c,--component", options->component, "Only this component or instance of it")
      ->type_name("NAME");
  parser.add_option("-n,--tail", options->tail, "Only the last lines of each")
      ->check([](const std::string& text) { return not_a_number(text); }, "")
      ->type_name("N");
  parser.add_flag("-f,--follow", options->follow, "Go on until the job is over");
  return [options, io] {
    return with_process_mode(io,
                             [&](cluster::ProcessMode& mode) { return show(mode, *options, io); });
  };
}

}  // namespace muster::cli
