#pragma once

#include <csignal>
#include <cstdio>
#include <functional>
#include <spawn.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "muster/muster.h"

namespace example {

/// A part in a distributed program: a function that takes the group to join and returns the exit
/// status of its process.
struct Role {
  std::string name;
  std::function<int(const std::string& group)> run;
  int processes = 1;
  int killed = 0;  ///< as many of them are killed on the way
};

/// Ends the role with what went wrong.
inline void check(const muster::Result<void>& done) {
  if (!done) throw tl::bad_expected_access<muster::Error>(done.error());
}

inline int play(const Role& role, const std::string& group) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody is left when the program is interrupted
  try {
    return role.run(group);
  } catch (const tl::bad_expected_access<muster::Error>& failure) {
    fmt::print(stderr, "{}: {}\n", role.name, failure.error().message());
  } catch (const std::exception& failure) {
    fmt::print(stderr, "{}: {}\n", role.name, failure.what());
  }
  return 1;
}

/// A copy of this program with a role and a group as its arguments.
inline pid_t start(std::string program, std::string role, std::string group) {
  char* const arguments[] = {program.data(), role.data(), group.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments, environ);
  if (error != 0) throw std::system_error(error, std::generic_category(), "posix_spawn");
  return pid;
}

/// `PROGRAM` starts all roles in processes of their own and returns 0 if all of them did, except
/// those that were to be killed;
/// `PROGRAM ROLE GROUP` plays one role in this process, to try it in several terminals.
inline int run_roles(int argc, char** argv, const std::vector<Role>& roles) {
  if (argc == 3) {
    for (const Role& role : roles) {
      if (role.name == argv[1]) return play(role, argv[2]);
    }
  }
  if (argc != 1) {
    fmt::print(stderr, "usage: {} [ROLE GROUP]\n", argv[0]);
    return 2;
  }
  const std::string group = fmt::format("example-{}", getpid());
  std::vector<pid_t> processes;
  int to_be_killed = 0;
  for (const Role& role : roles) {
    to_be_killed += role.killed;
    for (int i = 0; i < role.processes; ++i) processes.push_back(start(argv[0], role.name, group));
  }
  bool well = true;
  for (const pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
      --to_be_killed;
    else
      well = well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return well && to_be_killed == 0 ? 0 : 1;
}

}  // namespace example
