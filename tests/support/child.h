#pragma once

#include <functional>
#include <sys/types.h>

namespace muster::test {

/// A forked process that runs a function and ends. It is killed and reaped with the object, and
/// dies with the test.
class Child {
 public:
  /// The function runs in the child, which has no threads but its own: it may not use what needs
  /// others.
  explicit Child(const std::function<void()>& body);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Kills with SIGKILL and reaps.
  void kill();
  /// Whether it has ended by itself.
  [[nodiscard]] bool ended() const;
  /// Waits for the end; the exit status, or minus the signal.
  int wait();

 private:
  pid_t pid_ = -1;
};

/// A pipe on which a child says "I have come this far".
class Milestone {
 public:
  Milestone();
  Milestone(const Milestone&) = delete;
  Milestone& operator=(const Milestone&) = delete;
  ~Milestone();

  void reach() const;
  /// False if nobody reached it within ten seconds.
  [[nodiscard]] bool wait() const;

 private:
  int fds_[2] = {-1, -1};
};

}  // namespace muster::test
