#include "tests/integration/collective/seeming_hosts.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "muster/comm/discovery/open_store.h"
#include "tests/integration/collective/demand.h"

namespace muster::comm {
namespace {

/// A file store that says that other hosts reach it, too: else "auto" opens nothing that does.
class SharedFolder final : public Store {
 public:
  explicit SharedFolder(std::unique_ptr<Store> folder) : folder_(std::move(folder)) {}

  [[nodiscard]] std::string description() const override { return folder_->description(); }
  Result<void> put(const std::string& group, const Entry& entry, Duration lease) override {
    return folder_->put(group, entry, lease);
  }
  Result<void> remove(const std::string& group, const Name& name, InstanceId instance) override {
    return folder_->remove(group, name, instance);
  }
  [[nodiscard]] Result<std::vector<Entry>> list(const std::string& group) override {
    return folder_->list(group);
  }
  Result<void> wait_for_change(const std::string& group, TimePoint deadline) override {
    return folder_->wait_for_change(group, deadline);
  }
  void interrupt() override { folder_->interrupt(); }

 private:
  std::unique_ptr<Store> folder_;
};

}  // namespace

void go_to_host(int number, GroupOptions& options) {
  ::setenv("MUSTER_HOST_ID", fmt::format("host{}", number).c_str(), 1);
  if (options.driver == "shm") {
    options.driver = "auto";
    options.store =
        std::make_shared<SharedFolder>(demand(open_store(options.discovery), "open the store"));
  }
  // Nobody connects to another host's 127.0.0.1.
  options.driver_options["zmq.advertise"] = "localhost";
  // Without a secret ucx reaches its own host only.
  options.driver_options["ucx.devices"] = "lo";
  options.security.secret = "of the hosts";
}

}  // namespace muster::comm
