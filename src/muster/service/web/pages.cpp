#include "muster/service/web/pages.h"

#include <fmt/format.h>

#include "muster/service/web/routes.h"
#include "muster/version.h"

namespace muster::service {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += letter;
    }
  }
  return out;
}

std::string index_page(std::string_view prefix) {
  std::string page = fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Muster</title></head>"
      "<body><h1>Muster {}</h1><p>In Python: <code>muster.session.new_session(\"http://HOST:PORT{}"
      "\")</code>. Requests carry <code>Authorization: Bearer TOKEN</code> where the list does not "
      "say otherwise.</p><table>",
      kVersion, escaped(prefix));
  for (const Route& route : routes())
    page += fmt::format("<tr><td>{}</td><td><code>{}{}</code></td><td>{}{}</td></tr>", route.method,
                        escaped(prefix), escaped(route.pattern), escaped(route.summary),
                        route.access == Access::anybody ? " (without a token)" : "");
  return page + "</table></body></html>\n";
}

std::string metrics_page(std::initializer_list<Metric> metrics) {
  std::string page;
  for (const Metric& metric : metrics)
    page += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", metric.name, metric.help,
                        metric.type, metric.value);
  return page;
}

}  // namespace muster::service
