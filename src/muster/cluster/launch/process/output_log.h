#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "muster/runtime/fd.h"

namespace muster::cluster {

/// What a component prints, in files of a limited size: `log` is the newest, `log.1` the one before
/// it, and so on. Never blocks and never fails: what cannot be written is counted, and said in the
/// log when it can be written again. Not thread-safe.
class OutputLog {
 public:
  static constexpr char kName[] = "log";

  OutputLog(std::string folder, std::uint64_t max_bytes, unsigned keep);

  void write(std::string_view bytes);

 private:
  void open();
  void rotate();
  void append(std::string_view bytes);
  [[nodiscard]] std::string name(unsigned age) const;

  const std::string folder_;
  const std::uint64_t max_bytes_;
  const unsigned keep_;
  FileDescriptor file_;
  std::uint64_t size_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace muster::cluster
