#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace muster::service {

/// A page for people that lists the routes.
[[nodiscard]] std::string index_page(std::string_view prefix);

struct Metric {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  double value = 0;
};
/// In the text format of Prometheus.
[[nodiscard]] std::string metrics_page(std::initializer_list<Metric> metrics);

/// `text` with what HTML would take for its own replaced.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace muster::service
