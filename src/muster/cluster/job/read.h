#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "muster/base/result.h"
#include "muster/cluster/job/spec.h"

namespace muster::cluster {

/// Something wrong with a description.
struct SpecProblem {
  std::string file;
  std::size_t line = 0;  ///< from 1; 0 when it belongs to no line
  std::string field;     ///< `components.actor.num`; empty for the whole file
  std::string message;   ///< what is wrong, with the value and what is allowed

  /// "train.yml:7: components.actor.num: 'five' is not a whole number from 1 to 100000"
  [[nodiscard]] std::string str() const;
  friend bool operator==(const SpecProblem&, const SpecProblem&) = default;
};

/// A file is a schedule if it has `job_names`, otherwise a job.
using Spec = std::variant<JobSpec, ScheduleSpec>;

/// What reading a description gives: a value, or all that is wrong with it.
struct SpecReading {
  Spec spec;                          ///< only if there are no problems
  std::vector<SpecProblem> problems;  ///< in the order of the file

  [[nodiscard]] bool ok() const { return problems.empty(); }
};

/// Reads YAML; `file` is only for messages. Never fails otherwise, whatever the text is: size,
/// depth and aliases are limited.
SpecReading read_spec(std::string_view text, const std::string& file);

/// The text of a file that somebody named, a byte more than `read_spec` takes at most. Fails with
/// Errc::unreadable, also when it is a folder.
Result<std::string> spec_file_text(const std::filesystem::path& file);

/// What reading a file gives; one that cannot be read is a problem like others.
struct SpecFileReading : SpecReading {
  std::string file;
  bool unreadable = false;
};

/// The same for a file; in process mode, working folders are made absolute, starting from that of
/// the file.
SpecFileReading check_spec_file(const std::filesystem::path& file);

/// The same as a result: fails with Errc::unreadable, or Errc::invalid_spec with one line per
/// problem.
Result<Spec> read_spec_file(const std::filesystem::path& file);
/// Fails also with Errc::invalid_spec when the file is a schedule, and says how to start one.
Result<JobSpec> read_job_file(const std::filesystem::path& file);
Result<ScheduleSpec> read_schedule_file(const std::filesystem::path& file);

}  // namespace muster::cluster
