#include "tag.h"

#include <string>
#include <unordered_map>

#include <nanobind/stl/string.h>

#include "modules.h"
#include "muster/base/log.h"
#include "names.h"

namespace muster::python {
namespace {

// Tags are few and come again and again. A program that makes Enums without end starts these anew.
constexpr std::size_t kMaxKnown = 4096;

struct Known {
  Tag tag;
  nb::object member;  // keeps its address from being used again
};
using KnownMembers = std::unordered_map<PyObject*, Known>;
using KnownOrigins = std::unordered_map<Name, nb::object, NameHash, NameEqual>;

// Never destroyed: the interpreter is gone before statics are.
KnownMembers& known_members() {
  static auto* const members = std::make_unique<KnownMembers>().release();
  return *members;
}

KnownOrigins& known_origins() {
  static auto* const origins = std::make_unique<KnownOrigins>().release();
  return *origins;
}

bool is_enum(nb::handle value) {
  const int answer = PyObject_IsInstance(value.ptr(), Modules::get().enum_class.ptr());
  if (answer < 0) throw nb::python_error();
  return answer == 1;
}

nb::object text_form(const nb::object& value) {
  nb::object text = nb::steal(PyObject_Str(value.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

Tag describe(nb::handle member) {
  const nb::object type = nb::borrow(member.type());
  const auto text = [](const nb::object& value) { return std::string(text_of(text_form(value))); };
  return {Name(text(member.attr("value"))),
          Name(text(type.attr("__module__")) + ":" + text(type.attr("__qualname__")) + "." +
               text(member.attr("name")))};
}

nb::object find_member(std::string_view origin) {
  const std::size_t colon = origin.find(':');
  if (colon == std::string_view::npos) return {};
  nb::object found = nb::module_::import_(std::string(origin.substr(0, colon)).c_str());
  std::string_view path = origin.substr(colon + 1);
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    found = nb::getattr(found, to_str(path.substr(0, dot)));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return is_enum(found) ? found : nb::object();
}

nb::object restore(const Name& text, const Name& origin) {
  try {
    if (nb::object member = find_member(origin); member.is_valid()) return member;
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_ImportError) && !error.matches(PyExc_AttributeError)) throw;
  }
  log(LogLevel::warning, "comm",
      "the tag '{}' is a member of {}, which cannot be found here; it stays text", text.view(),
      origin.view());
  return to_str(text);
}

}  // namespace

Tag encode_tag(nb::handle tag) {
  if (PyUnicode_CheckExact(tag.ptr())) return {Name(text_of(tag)), {}};
  auto& known = known_members();
  if (const auto it = known.find(tag.ptr()); it != known.end()) return it->second.tag;
  if (!is_enum(tag)) {
    if (PyUnicode_Check(tag.ptr())) return {Name(text_of(tag)), {}};
    throw nb::type_error(
        ("a tag is a str or a member of an Enum, not " + std::string(nb::repr(tag).c_str()))
            .c_str());
  }
  if (known.size() >= kMaxKnown) known.clear();
  return known.emplace(tag.ptr(), Known{describe(tag), nb::borrow(tag)}).first->second.tag;
}

nb::object decode_tag(const Name& text, const Name& origin) {
  if (origin.empty()) return to_str(text);
  auto& known = known_origins();
  if (const auto it = known.find(origin); it != known.end()) return it->second;
  if (known.size() >= kMaxKnown) known.clear();
  return known.emplace(origin, restore(text, origin)).first->second;
}

}  // namespace muster::python
