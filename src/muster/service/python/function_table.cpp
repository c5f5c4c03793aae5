#include "muster/service/python/function_table.h"

#include <functional>
#include <string_view>
#include <utility>

namespace muster::service {

std::shared_ptr<const SharedFunction> FunctionTable::shared(std::string name, Buffer pickled) {
  const std::size_t hash = std::hash<std::string_view>()(pickled.text());
  const std::lock_guard lock(mutex_);
  const auto [first, last] = known_.equal_range(hash);
  for (auto each = first; each != last; ++each)
    if (auto function = each->second.lock(); function && function->pickled == pickled)
      return function;
  auto function = std::make_shared<const SharedFunction>(
      SharedFunction{.id = next_++, .name = std::move(name), .pickled = pickled.kept()});
  known_.emplace(hash, function);
  if (known_.size() >= look_again_) forget_unused();
  return function;
}

void FunctionTable::forget_unused() {
  std::erase_if(known_, [](const auto& each) { return each.second.expired(); });
  look_again_ = 2 * known_.size() + 64;
}

}  // namespace muster::service
