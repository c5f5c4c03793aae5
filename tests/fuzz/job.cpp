// Any text is either a description of jobs, which is then stored and read back equal, or has
// problems that can be told.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "muster/cluster/job/json.h"
#include "muster/cluster/job/read.h"

using namespace muster::cluster;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const SpecReading reading = read_spec(text, "fuzz.yml");
  for (const SpecProblem& problem : reading.problems) {
    if (problem.message.empty() || problem.str().find('\n') != std::string::npos) std::abort();
  }
  if (!reading.ok()) return 0;
  if (const auto* job = std::get_if<JobSpec>(&reading.spec)) {
    const auto again = job_from_json(to_json(*job));
    if (!again || *again != *job || job->start_order().size() != job->components.size()) {
      std::abort();
    }
  } else {
    const auto& schedule = std::get<ScheduleSpec>(reading.spec);
    const auto again = schedule_from_json(to_json(schedule));
    if (!again || *again != schedule) std::abort();
  }
  return 0;
}
