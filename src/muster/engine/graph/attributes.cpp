#include "muster/engine/graph/attributes.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/engine/errors.h"

namespace muster::engine {

namespace {
const Attributes::Pairs kNone;
}

Attributes::Attributes(Pairs pairs) {
  std::sort(pairs.begin(), pairs.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  if (!pairs.empty()) pairs_ = std::make_shared<const Pairs>(std::move(pairs));
}

const Attributes::Pairs& Attributes::pairs() const { return pairs_ ? *pairs_ : kNone; }

const Attribute::Value* Attributes::find(std::string_view name) const {
  for (const auto& [key, value] : pairs())
    if (key == name) return std::holds_alternative<std::monostate>(value) ? nullptr : &value;
  return nullptr;
}

bool Attributes::has(std::string_view name) const { return find(name) != nullptr; }

Ints Attributes::ints(std::string_view name) const {
  const auto* found = find(name);
  if (found == nullptr) missing(name);
  if (const auto* one = std::get_if<std::int64_t>(found)) return {*one};
  return as<Ints>(name, *found);
}

Attributes Attributes::with(std::string name, Attribute::Value value) const {
  Pairs pairs = this->pairs();
  std::erase_if(pairs, [&](const auto& pair) { return pair.first == name; });
  pairs.emplace_back(std::move(name), std::move(value));
  return Attributes(std::move(pairs));
}

void Attributes::missing(std::string_view name) {
  wrong_type(fmt::format("the parameter '{}' is missing", name));
}

void Attributes::mistyped(std::string_view name) {
  wrong_type(fmt::format("the parameter '{}' has the wrong type", name));
}

}  // namespace muster::engine
