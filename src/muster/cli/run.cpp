#include "muster/cli/run.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cli/walk.h"
#include "muster/cluster/job/quantity.h"
#include "muster/cluster/launch/process/line_prefixer.h"
#include "muster/cluster/launch/process/rank_run.h"

namespace muster::cli {
namespace {

using cluster::LinePrefixer;
using cluster::RankStream;

constexpr unsigned kMostRanks = 4096;

struct Options {
  cluster::RankRunOptions run;
  std::string grace = "5s";
  bool no_prefix = false;
};

// "[03] ", in a colour of the rank on a terminal.
std::string prefix(unsigned rank, unsigned ranks, bool colour) {
  const auto width = fmt::formatted_size("{}", ranks - 1);
  const std::string text = fmt::format("[{:>{}}] ", rank, width);
  constexpr unsigned kColours = 6;  // 31 to 36: those that can be read on black and on white
  return colour ? fmt::format("\033[{}m{}\033[0m", 31 + rank % kColours, text) : text;
}

// And as much may be done with both.
bool are_same_file(int one, int other) {
  struct stat first{};
  struct stat second{};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino &&
         (::fcntl(one, F_GETFL) & O_ACCMODE) == (::fcntl(other, F_GETFL) & O_ACCMODE);
}

// Writes what the ranks print: whole lines behind the number of the rank, or bytes as they come.
class Printer {
 public:
  Printer(const Options& options, const Io& io) : options_(options), io_(io) {
    if (io.out_fd < 0) return;
    queues_.emplace_back(io.out_fd);
    // Two would write into each other's lines.
    if (!are_same_file(io.out_fd, io.err_fd)) queues_.emplace_back(io.err_fd);
  }

  void take(unsigned rank, RankStream stream, std::string_view piece) {
    if (options_.no_prefix) return write(stream, piece);
    const auto [place, added] = prefixers_.try_emplace(
        {rank, stream}, LinePrefixer(prefix(rank, options_.run.ranks, io_.colour)));
    write(stream, piece.empty() ? place->second.finish() : place->second.take(piece));
  }

  [[nodiscard]] std::span<OutputQueue> queues() { return queues_; }

  /// A line about the run.
  void say(std::string_view message) {
    std::ostringstream text;
    report({.out = text, .err = text}, message);
    write(RankStream::err, text.str());
  }
  /// The run is over. Returns whether all that the ranks printed has arrived.
  [[nodiscard]] bool finish() {
    bool arrived = true;
    for (OutputQueue& queue : queues_) {
      queue.write();
      arrived = arrived && queue.empty();
      note_loss(queue.error_number());
    }
    return arrived && loss_ == 0;
  }

 private:
  void write(RankStream stream, std::string_view text) {
    if (!queues_.empty()) {
      OutputQueue& queue = stream == RankStream::out ? queues_.front() : queues_.back();
      queue.add(text);
      return note_loss(queue.error_number());
    }
    std::ostream& to = stream == RankStream::out ? io_.out : io_.err;
    errno = 0;
    if (!to.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) note_loss(errno);
  }
  // Said once, and soon: the run may take hours.
  void note_loss(int error_number) {
    if (error_number == 0 || loss_ != 0) return;
    loss_ = error_number;
    say(system_error(loss_, "cannot write what the ranks print").message());
  }

  const Options& options_;
  Io io_;
  std::vector<OutputQueue> queues_;  // of both streams or of each, where there are descriptors
  int loss_ = 0;                     // why something did not arrive, as errno has it
  std::map<std::pair<unsigned, RankStream>, LinePrefixer> prefixers_;
};

void check(Options& options) {
  if (options.run.command.empty()) throw UsageError("no program to run");
  for (const auto& variable : options.run.environment) {
    if (variable.find('=') == std::string::npos || variable.starts_with('=')) {
      throw UsageError(fmt::format("--env: '{}' is not NAME=VALUE", variable));
    }
  }
  const auto grace = cluster::parse_time(options.grace);
  if (!grace) throw UsageError(fmt::format("--grace: '{}' is not a time", options.grace));
  options.run.grace = *grace;
}

int run(Options& options, const Io& io) {
  check(options);
  Printer printer(options, io);
  const auto print = [&](unsigned rank, RankStream stream, std::string_view piece) {
    printer.take(rank, stream, piece);
  };
  const auto conclude = [&](const Result<cluster::RankRunResult>& result) {
    if (!result)
      printer.say(result.error().message());
    else if (result->failed_rank)
      printer.say(fmt::format("rank {} of {}: {}", *result->failed_rank, options.run.ranks,
                              result->record.description()));
  };
  const auto result = cluster::run_ranks(options.run, print, printer.queues(), conclude);
  const bool arrived = printer.finish();
  if (!result) return kFailed;
  return result->exit_code == 0 && !arrived ? kFailed : result->exit_code;
}

}  // namespace

Action set_up_run(CLI::App& parser, Io io) {
  auto options = std::make_shared<Options>();
  parser.add_option("-n,--ranks", options->run.ranks, "How many ranks")
      ->required()
      ->check(CLI::Range(1u, kMostRanks).description(""))
      ->type_name("N");
  parser.add_flag("--no-prefix", options->no_prefix,
                  "Print what ranks print as it comes, not line by line behind the rank; a line "
                  "of more than 64 KiB comes in several");
  parser
      .add_option("-e,--env", options->run.environment,
                  "Set a variable for all ranks; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  parser
      .add_option("--discovery", options->run.discovery,
                  "Where ranks find each other; a folder of this host if not given")
      ->type_name("ADDRESS");
  parser
      .add_option("--grace", options->grace,
                  "From SIGTERM to SIGKILL, and from INT, HUP or QUIT to SIGTERM. INT, TERM, HUP "
                  "and QUIT end all ranks; USR1, USR2, "
                  "ALRM, WINCH, TSTP and CONT go to them as well")
      ->type_name("TIME")
      ->capture_default_str();
  parser.add_flag("--keep-going", options->run.keep_going,
                  "Let the other ranks go on when one fails or is killed");
  parser.prefix_command();
  return [&parser, options, io] {
    options->run.command = given_rest(parser);
    return run(*options, io);
  };
}

}  // namespace muster::cli
