#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "muster/cluster/job/resources.h"

namespace muster::cluster {

/// What this machine has for jobs.
struct Machine {
  std::string name{};
  Resources resources{};
  std::vector<std::string> gpus{};  ///< as CUDA_VISIBLE_DEVICES names them

  /// The processors we may use, the memory of the machine, and its NVIDIA devices: those that
  /// CUDA_VISIBLE_DEVICES leaves us, if it is set.
  [[nodiscard]] static Machine detect();
};

/// A name for each NVIDIA device among the files of `folder`. CUDA counts those that it can open
/// from 0, whatever the numbers of their files: a container that was given /dev/nvidia3 alone has
/// device 0.
[[nodiscard]] std::vector<std::string> nvidia_devices(const std::filesystem::path& folder);

}  // namespace muster::cluster
