#include "muster/cluster/launch/process/shim_child.h"

#include <cerrno>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

#include "muster/runtime/fd.h"

namespace muster::cluster {
namespace {

enum class Step { nothing, cgroup, working_dir, program };

// What the child needs, made before it exists: between vfork(2) and exec(2) it shares our memory
// and may make system calls only.
struct Plan {
  std::vector<std::string> cgroup_files;
  const char* working_dir = nullptr;
  pid_t parent = -1;
  int output = -1;
  int report = -1;  // for a Failure; closed by exec(2)
  std::vector<char*> arguments;
};

struct Failure {
  Step step = Step::nothing;
  int error = 0;
};

bool join_cgroup(const char* file) {
  const int fd = ::open(file, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool joined = ::write(fd, "0", 1) == 1;
  const int error = errno;
  ::close(fd);
  errno = error;
  return joined;
}

[[noreturn]] void give_up(const Plan& plan, Step step) {
  const Failure failure{step, errno};
  static_cast<void>(!::write(plan.report, &failure, sizeof failure));
  ::_exit(127);
}

[[noreturn]] void become(const Plan& plan) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(127);  // it has just been killed
  ::setpgid(0, 0);
  for (const auto& file : plan.cgroup_files) {
    if (!join_cgroup(file.c_str())) give_up(plan, Step::cgroup);
  }
  if (plan.output >= 0) {
    ::dup2(plan.output, STDOUT_FILENO);
    ::dup2(plan.output, STDERR_FILENO);
  }
  if (plan.working_dir != nullptr && ::chdir(plan.working_dir) != 0) {
    give_up(plan, Step::working_dir);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(plan.arguments.front(), plan.arguments.data());
  give_up(plan, Step::program);
}

std::string doing(const ShimOrder& order, Step step) {
  switch (step) {
    case Step::cgroup: return "join the control groups";
    case Step::working_dir: return "enter working_dir '" + order.working_dir + "'";
    default: return "run '" + order.command.front() + "'";
  }
}

}  // namespace

Result<pid_t> start_component(const ShimOrder& order, int output) {
  Plan plan;
  for (const auto& folder : order.cgroups) plan.cgroup_files.push_back(folder + "/cgroup.procs");
  plan.working_dir = order.working_dir.empty() ? nullptr : order.working_dir.c_str();
  plan.output = output;
  plan.parent = ::getpid();
  for (const auto& word : order.command) plan.arguments.push_back(const_cast<char*>(word.c_str()));
  plan.arguments.push_back(nullptr);

  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(system_error(errno, "make a pipe"));
  const FileDescriptor reports(ends[0]);
  FileDescriptor report(ends[1]);
  plan.report = report.get();

  const pid_t pid = ::vfork();
  if (pid == 0) become(plan);
  if (pid < 0) return fail(system_error(errno, "fork"));
  report.reset();
  Failure failure;
  // Ends without a word when the program runs.
  if (::read(reports.get(), &failure, sizeof failure) == sizeof failure) {
    return fail(system_error(failure.error, doing(order, failure.step)));
  }
  return pid;
}

}  // namespace muster::cluster
