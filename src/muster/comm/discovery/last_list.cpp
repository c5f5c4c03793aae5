#include "muster/comm/discovery/last_list.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace muster::comm {
namespace {

/// Adds those of names that are not among `entries`.
void add_missing(std::vector<Entry>& entries, const std::vector<Entry>& more) {
  const std::size_t count = entries.size();
  for (const Entry& one : more) {
    const auto end = entries.begin() + static_cast<std::ptrdiff_t>(count);
    if (std::none_of(entries.begin(), end, [&](const Entry& e) { return e.name == one.name; }))
      entries.push_back(one);
  }
}

}  // namespace

void LastList::note(std::string version, std::string begun, std::vector<Entry>& entries,
                    Duration lease, TimePoint now) {
  if (begun_ != begun) {
    remembered_ = std::move(entries_);
    remembered_until_ = now + lease;
  }
  if (now < remembered_until_) {
    add_missing(entries, remembered_);
  } else {
    remembered_.clear();
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  version_ = std::move(version);
  begun_ = std::move(begun);
  entries_ = entries;
}

}  // namespace muster::comm
