#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "muster/service/protocol/orders.h"
#include "muster/service/python/pickled_function.h"

namespace muster::service {

inline const engine::SessionId kSession(1);
inline engine::ChunkId chunk(std::uint32_t index) { return {kSession, index}; }
inline engine::TaskId task(std::uint32_t index) { return {kSession, index}; }

/// Task `index` makes chunk `index`.
inline RunOrder run(std::uint32_t index, const TaskBody& body,
                    std::vector<OrderInput> inputs = {}) {
  return {task(index), index + 1000, index, std::move(inputs), encode(body)};
}

/// `count` numbers from `first` on.
inline TaskBody arange(std::int64_t first, engine::Index count) {
  return {"arange",
          "arange",
          "test.py:1",
          {{"start", engine::Scalar(static_cast<double>(first))},
           {"next", engine::Scalar(static_cast<double>(first) + 1)},
           {"first", engine::Ints{0}},
           {"shape", engine::Ints{count}}},
          {{engine::Type::f64, {count}}}};
}

inline TaskBody add_up(engine::Index count) {
  return {"add_up", "sum", "test.py:2", {}, {{engine::Type::f64, {count}}}};
}

inline TaskBody function(const std::string& name, engine::Index count = 1) {
  const std::shared_ptr<const engine::PythonFunction> function =
      std::make_shared<PickledFunction>(name, Buffer::copy_of(as_bytes("x")));
  return {"function",
          name,
          "test.py:3",
          {{"function", function}, {"dtypes", engine::List{{engine::DType(engine::Type::f64)}}}},
          {{engine::Type::f64, {count}}}};
}

}  // namespace muster::service
