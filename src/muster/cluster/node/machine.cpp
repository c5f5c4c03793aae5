#include "muster/cluster/node/machine.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "muster/runtime/host.h"
#include "muster/runtime/resources.h"

namespace muster::cluster {
namespace {

std::vector<std::string> visible_devices(const char* set) {
  std::vector<std::string> devices;
  std::istringstream words(set);
  for (std::string word; std::getline(words, word, ',') && word != "-1";) {
    if (!word.empty()) devices.push_back(word);
  }
  return devices;
}

}  // namespace

std::vector<std::string> nvidia_devices(const std::filesystem::path& folder) {
  std::vector<std::string> devices;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const std::string number = name.starts_with("nvidia") ? name.substr(6) : "";
    const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
    if (!number.empty() && std::ranges::all_of(number, digit))
      devices.push_back(std::to_string(devices.size()));
  }
  return devices;
}

Machine Machine::detect() {
  const char* const set = std::getenv("CUDA_VISIBLE_DEVICES");
  Machine machine{.name = host_name(),
                  .resources = {.cpu_milli = usable_processors() * 1000, .memory = usable_memory()},
                  .gpus = set != nullptr ? visible_devices(set) : nvidia_devices("/dev")};
  machine.resources.gpu = machine.gpus.size();
  return machine;
}

}  // namespace muster::cluster
