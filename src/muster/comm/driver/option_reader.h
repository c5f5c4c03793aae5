#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/result.h"

namespace muster::comm {

/// Options of drivers as text: {"zmq.host", "10.0.0.5"}.
using DriverOptionTexts = std::map<std::string, std::string>;

/// Reads one driver's options. What is wrong is said by `finish`, with the option's name and value,
/// and so are options that nobody asked for.
class OptionReader {
 public:
  /// `texts` outlives the reader.
  OptionReader(std::string_view driver, const DriverOptionTexts& texts);

  void text(std::string_view key, std::string& value);
  void number(std::string_view key, std::size_t& value);
  [[nodiscard]] Result<void> finish() const;

 private:
  const std::string* find(std::string_view key);

  std::string prefix_;
  const DriverOptionTexts& texts_;
  std::vector<std::string> known_;
  std::string complaint_;
};

}  // namespace muster::comm
