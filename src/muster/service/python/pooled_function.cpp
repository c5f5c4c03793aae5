#include "muster/service/python/pooled_function.h"

#include <string>
#include <utility>

#include "muster/engine/graph/python_function.h"

namespace muster::service {

namespace {

class PooledFunction final : public engine::PythonFunction {
 public:
  PooledFunction(std::shared_ptr<PythonPool> pool, std::shared_ptr<const SharedFunction> function)
      : pool_(std::move(pool)), function_(std::move(function)) {}

  [[nodiscard]] std::string name() const override { return function_->name; }
  [[nodiscard]] Buffer pickled() const override { return function_->pickled; }
  void call(engine::KernelContext& context) const override { pool_->call(*function_, context); }

 private:
  std::shared_ptr<PythonPool> pool_;
  std::shared_ptr<const SharedFunction> function_;
};

}  // namespace

engine::MakeFunction pooled_function(std::shared_ptr<PythonPool> pool) {
  return [pool = std::move(pool)](std::string name, Buffer pickled) {
    auto function = pool->functions().shared(std::move(name), std::move(pickled));
    return std::make_shared<const PooledFunction>(pool, std::move(function));
  };
}

}  // namespace muster::service
