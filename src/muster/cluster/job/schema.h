#pragma once

#include <string>

namespace muster::cluster {

/// A JSON Schema of job descriptions, for editors: made from the fields that the reader knows.
std::string job_schema();

/// The same fields as Markdown, for docs/reference/job.md.
std::string job_reference();

}  // namespace muster::cluster
