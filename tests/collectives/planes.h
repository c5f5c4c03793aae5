#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "muster/comm/collective/choice.h"
#include "muster/comm/collective/shared/plane.h"

namespace muster::comm::collective::shared {

inline FileDescriptor segment_for(int ranks) {
  auto fd = Segment::create(ranks);
  if (!fd) throw std::runtime_error(fd.error().message());
  return *std::move(fd);
}

/// One rank's plane of a segment; ranks may be threads, and then lie beside each other.
inline std::shared_ptr<SharedPlane> plane_of(int fd, int rank, int ranks,
                                             SharedPlane::Options options,
                                             std::shared_ptr<const Segment> beside = nullptr) {
  auto segment = Segment::map(FileDescriptor(::dup(fd)), rank, ranks, std::move(beside));
  if (!segment) throw std::runtime_error(segment.error().message());
  options.group = "test";
  return std::make_shared<SharedPlane>(*segment, std::move(options));
}

inline std::shared_ptr<SharedPlane> plane_of(int fd, int rank, int ranks, bool lends = false,
                                             std::function<void()> at_step = {}) {
  SharedPlane::Options options;
  options.lends = lends;
  options.at_step = std::move(at_step);
  return plane_of(fd, rank, ranks, std::move(options));
}

/// Where all large blocks go in this way, by the table.
inline Ways ways_by_table(std::string_view way) {
  std::string text;
  for (const collective::Operation operation : kOperations)
    if (operation != collective::Operation::barrier)
      text += fmt::format("{}/host:16k-:{} ", name(operation), way);
  return ChoiceTable::parse(text).value().ways();
}

/// Those who give to this rank do so in this way until it knows better, which may be after the next
/// call.
inline void wish_for(const SharedPlane& plane, Way way) {
  const Segment& segment = plane.segment();
  for (ChannelControl& channel : segment.control(segment.rank()).channels)
    for (std::size_t kind = 0; kind < kLoanKinds; ++kind)
      channel.wishes.way[kind] = static_cast<std::uint8_t>(way) + 1;
}

}  // namespace muster::comm::collective::shared
