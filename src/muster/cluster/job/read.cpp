#include "muster/cluster/job/read.h"

#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/cluster/errc.h"
#include "muster/cluster/job/draft.h"
#include "muster/cluster/job/yaml.h"

namespace muster::cluster {
namespace {

std::string joined(const std::vector<SpecProblem>& problems) {
  std::vector<std::string> lines;
  for (const SpecProblem& problem : problems) lines.push_back(problem.str());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// A process of this machine runs in the folder of its description unless that names another, so
/// that it does not matter where the job is started.
void resolve_folders(JobSpec& job, const std::filesystem::path& file) {
  if (job.mode != "process") return;
  const auto folder = std::filesystem::absolute(file).parent_path();
  for (ComponentSpec& component : job.components) {
    if (!component.image.empty()) continue;
    auto path = (folder / component.working_dir).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();  // no slash at the end
    component.working_dir = path.string();
  }
}

}  // namespace

std::string SpecProblem::str() const {
  std::string text = file;
  if (line > 0) text += fmt::format("{}{}", text.empty() ? "line " : ":", line);
  if (!text.empty()) text += ": ";
  if (!field.empty()) text += field + ": ";
  return text + message;
}

SpecReading read_spec(std::string_view text, const std::string& file) {
  Problems problems(file);
  SpecReading reading;
  if (const auto value = read_yaml(text, problems)) reading.spec = spec_from(*value, problems);
  reading.problems = problems.sorted();
  return reading;
}

Result<std::string> spec_file_text(const std::filesystem::path& file) {
  const auto unreadable = [](std::string_view why) {
    return fail(Errc::unreadable, std::string(why));
  };
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) return unreadable("there is no such file");
  if (std::filesystem::is_directory(status)) return unreadable("is a folder, not a file");
  std::ifstream stream(file, std::ios::binary);
  std::string text(kMaxSpecBytes + 1, '\0');  // one more than read_spec takes
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || (!stream && !stream.eof())) return unreadable("cannot be read");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

SpecFileReading check_spec_file(const std::filesystem::path& file) {
  SpecFileReading reading;
  reading.file = file.string();
  const auto text = spec_file_text(file);
  if (!text) {
    reading.unreadable = true;
    reading.problems.push_back({reading.file, 0, "", text.error().message()});
    return reading;
  }
  static_cast<SpecReading&>(reading) = read_spec(*text, reading.file);
  if (!reading.ok()) return reading;
  if (auto* job = std::get_if<JobSpec>(&reading.spec)) resolve_folders(*job, file);
  if (auto* schedule = std::get_if<ScheduleSpec>(&reading.spec)) {
    resolve_folders(schedule->job, file);
  }
  return reading;
}

Result<Spec> read_spec_file(const std::filesystem::path& file) {
  SpecFileReading reading = check_spec_file(file);
  if (reading.ok()) return std::move(reading.spec);
  return fail(reading.unreadable ? Errc::unreadable : Errc::invalid_spec, joined(reading.problems));
}

Result<JobSpec> read_job_file(const std::filesystem::path& file) {
  auto spec = read_spec_file(file);
  if (!spec) return fail(std::move(spec.error()));
  if (auto* job = std::get_if<JobSpec>(&*spec)) return std::move(*job);
  return fail(Errc::invalid_spec,
              fmt::format("{}: describes a schedule (it has 'job_names'): use 'schedule start'",
                          file.string()));
}

Result<ScheduleSpec> read_schedule_file(const std::filesystem::path& file) {
  auto spec = read_spec_file(file);
  if (!spec) return fail(std::move(spec.error()));
  if (auto* schedule = std::get_if<ScheduleSpec>(&*spec)) return std::move(*schedule);
  return fail(Errc::invalid_spec,
              fmt::format("{}: describes a single job (it has no 'job_names'): use 'job start'",
                          file.string()));
}

}  // namespace muster::cluster
