#pragma once

#include <string_view>

namespace muster::service {

/// The group in which the roles of a cluster meet, and what they call themselves.
inline constexpr std::string_view kGroup = "muster-engine";
inline constexpr std::string_view kSchedulerType = "scheduler";
inline constexpr std::string_view kSchedulerName = "scheduler";
inline constexpr std::string_view kWorkerType = "worker";
inline constexpr std::string_view kWebType = "web";

/// Tags of messages between roles. Notifications stay in order; asks, gets and puts are task
/// sessions with one reply.
inline constexpr std::string_view kBeatTag = "engine.beat";  ///< scheduler → worker: Beat
inline constexpr std::string_view kRegisterTag =
    "engine.join";  ///< worker → scheduler: Registration
inline constexpr std::string_view kReportsTag = "engine.reports";  ///< worker → scheduler: Reports
inline constexpr std::string_view kOrdersTag = "engine.orders";    ///< scheduler → worker: Orders
inline constexpr std::string_view kNewsTag = "engine.news";        ///< scheduler → web: JSON lines
inline constexpr std::string_view kAskTag = "engine.ask";          ///< anybody → any role: Ask
inline constexpr std::string_view kGetTag = "engine.get";          ///< anybody → worker: GetChunks
inline constexpr std::string_view kPutTag = "engine.put";          ///< web → worker: PutChunk
inline constexpr std::string_view kTakeTag = "engine.take";        ///< web → worker: TakeChunk

}  // namespace muster::service
