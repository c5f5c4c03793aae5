#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/integration/collective/demand.h"
#include "tests/support/child.h"

namespace muster::comm {

/// Runs a function as every rank, each in a process of its own.
inline void as_processes(int size, const std::function<void(int)>& body) {
  std::vector<std::unique_ptr<test::Child>> children;
  for (int rank = 0; rank < size; ++rank)
    children.push_back(
        std::make_unique<test::Child>([&, rank] { as_process([&] { body(rank); }); }));
  for (int rank = 0; rank < size; ++rank)
    EXPECT_EQ(children[static_cast<std::size_t>(rank)]->wait(), 0) << "rank " << rank;
}

}  // namespace muster::comm
