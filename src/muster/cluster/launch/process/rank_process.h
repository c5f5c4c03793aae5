#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/base/result.h"
#include "muster/cluster/launch/process/exit_record.h"
#include "muster/cluster/launch/process/shim_order.h"
#include "muster/runtime/child_process.h"
#include "muster/runtime/fd.h"

namespace muster::cluster {

/// One rank under its shim, with the reading ends of what it prints. It ends when the `watch` pipe
/// does, that is at the latest with this process. Not thread-safe.
class RankProcess {
 public:
  struct Options {
    std::string shim;
    ShimOrder order;  ///< its descriptors are set here
    std::vector<std::string> environment;
    const FileDescriptor& watch;  ///< the reading end
    bool reads_stdin = false;
  };
  [[nodiscard]] static Result<RankProcess> start(Options options);

  /// Readable when the rank and everything below it have ended.
  [[nodiscard]] int ended_fd() const { return shim_.fd(); }
  [[nodiscard]] FileDescriptor& output() { return output_; }
  [[nodiscard]] FileDescriptor& errors() { return errors_; }

  /// SIGTERM ends it with the grace time; others are passed on.
  void signal(int number) const { shim_.signal(number); }
  /// How it ended, if it has.
  [[nodiscard]] std::optional<ExitRecord> try_end();

 private:
  RankProcess(ChildProcess shim, FileDescriptor output, FileDescriptor errors,
              FileDescriptor report)
      : shim_(std::move(shim)),
        output_(std::move(output)),
        errors_(std::move(errors)),
        report_(std::move(report)) {}

  ChildProcess shim_;
  FileDescriptor output_;
  FileDescriptor errors_;
  FileDescriptor report_;
};

}  // namespace muster::cluster
