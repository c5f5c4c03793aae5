#include "session_enums.h"

#include <array>
#include <string>

#include "errors.h"
#include "muster/comm/errc.h"

namespace muster::python {
namespace {

using comm::SessionStage;
using comm::SessionType;

// Members in the order of the C++ enumerations. Registered once, by muster.communication.message;
// they live as long as the interpreter.
std::array<nb::handle, 2> types;
std::array<std::array<nb::handle, 3>, 2> stages;

std::size_t index(SessionType type) { return static_cast<std::size_t>(type); }

bool same(nb::handle value, nb::handle member) {
  if (!member.is_valid()) return false;
  return value.is(member) || (PyUnicode_Check(value.ptr()) && value.equal(member.attr("value")));
}

[[noreturn]] void unsupported(const char* what, nb::handle value, const char* right) {
  const std::string text = std::string("Unsupported session ") + what + " " +
                           nb::repr(value).c_str() + "; use a member of " + right;
  raise(Error(make_error_code(comm::Errc::session_type), text));
}

}  // namespace

nb::object to_python(SessionType type) { return nb::borrow(types[index(type)]); }

nb::object to_python(SessionType type, SessionStage stage) {
  const nb::handle member = stages[index(type)][static_cast<std::size_t>(stage)];
  return member.is_valid() ? nb::borrow(member) : nb::none();
}

SessionType session_type_of(nb::handle member) {
  for (const SessionType type : {SessionType::task, SessionType::notification}) {
    if (same(member, types[index(type)])) return type;
  }
  unsupported("type", member, "SessionType, such as SessionType.TASK");
}

SessionStage session_stage_of(SessionType type, nb::handle member) {
  if (member.is_none()) return SessionStage::request;
  for (const SessionStage stage :
       {SessionStage::request, SessionStage::receive, SessionStage::complete}) {
    if (same(member, stages[index(type)][static_cast<std::size_t>(stage)])) return stage;
  }
  if (type == SessionType::task) unsupported("stage for a task", member, "TaskSessionStage");
  unsupported("stage for a notification", member, "NotificationSessionStage");
}

void bind_session_enums(nb::module_& module) {
  module.def(
      "register_session_enums",
      [](nb::handle type, nb::handle task_stage, nb::handle notification_stage) {
        const auto member = [](nb::handle of, const char* name) {
          return nb::object(of.attr(name)).release();
        };
        types = {member(type, "TASK"), member(type, "NOTIFICATION")};
        stages[0] = {member(task_stage, "REQUEST"), member(task_stage, "RECEIVE"),
                     member(task_stage, "COMPLETE")};
        stages[1] = {member(notification_stage, "REQUEST"), member(notification_stage, "RECEIVE"),
                     nb::handle()};
      },
      nb::arg("session_type"), nb::arg("task_stage"), nb::arg("notification_stage"),
      "Sets the Enums of session types and stages.");
}

}  // namespace muster::python
