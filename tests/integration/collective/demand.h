#pragma once

#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <type_traits>
#include <unistd.h>
#include <utility>

#include "muster/base/result.h"

namespace muster::comm {

/// What a rank that is a process of its own checks: the first thing that is wrong ends it.
inline void demand(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "process " << ::getpid() << ": " << what << std::endl;
  ::_exit(1);
}

template <class T>
T demand(Result<T> result, const std::string& what) {
  demand(result.has_value(), what + (result ? "" : ": " + result.error().message()));
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// Runs what a rank does, to its end, or for too long.
inline void as_process(const std::function<void()>& body) {
  ::alarm(60);  // nothing hangs
  try {
    body();
  } catch (const std::exception& problem) {
    demand(false, problem.what());
  }
  ::_exit(0);
}

}  // namespace muster::comm
