#include "muster/service/python/function_call.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace muster::service {

using engine::Array;
using engine::ArrayError;
using engine::Index;
using engine::Wrong;
using nlohmann::json;

namespace {

constexpr std::size_t kMostAxes = 64;

/// The bytes between the first and the last that an array with items refers to.
ByteSpan extent_of(const Array& array) {
  Index low = 0;
  Index high = static_cast<Index>(array.item_size());
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    const Index reach = (array.shape()[axis] - 1) * array.strides()[axis];
    (reach < 0 ? low : high) += reach;
  }
  return {array.data() + low, static_cast<std::size_t>(high - low)};
}

bool lies_in(const Array& array, ByteSpan memory) {
  if (array.size() == 0) return false;
  const ByteSpan own = extent_of(array);
  return own.data() >= memory.data() && own.data() + own.size() <= memory.data() + memory.size();
}

json described(const Array& array) {
  return {{"dtype", name(array.dtype())}, {"shape", array.shape()}, {"strides", array.strides()}};
}

tl::unexpected<Error> malformed_call(std::string_view what) {
  return fail(std::errc::bad_message, fmt::format("it answered with {}", what));
}

std::string text_of(const json& head, const char* key) {
  const auto found = head.find(key);
  return found != head.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Wrong wrong_of(std::string_view kind) {
  constexpr std::array<std::pair<std::string_view, Wrong>, 8> kKinds = {{
      {"ValueError", Wrong::value},
      {"TypeError", Wrong::type},
      {"IndexError", Wrong::index},
      {"ZeroDivisionError", Wrong::zero_division},
      {"LinAlgError", Wrong::linalg},
      {"MemoryError", Wrong::memory},
      {"OverflowError", Wrong::overflow},
      {"TimeoutError", Wrong::timeout},
  }};
  for (const auto& [each, wrong] : kKinds)
    if (each == kind) return wrong;
  return Wrong::other;
}

ArrayError raised_in(const json& head, const std::string& name) {
  std::string text = fmt::format("{}: {}\n", text_of(head, "type"), text_of(head, "message"));
  if (const std::string trace = text_of(head, "traceback"); !trace.empty())
    text += fmt::format("in '{}', which ran on a worker:\n{}", name, trace);
  while (text.ends_with('\n')) text.pop_back();
  return {wrong_of(text_of(head, "kind")), text};
}

/// The number of bytes; nothing where the extents are no shape, or one of more than `most` bytes.
std::optional<std::size_t> bytes_of(const json& shape, std::size_t item_size, std::size_t most) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  if (!shape.is_array() || shape.size() > kMostAxes) return std::nullopt;
  std::uint64_t bytes = item_size;  // as if extents of 0 were 1: their product must fit, too
  bool empty = false;
  for (const json& extent : shape) {
    if (!extent.is_number_unsigned()) return std::nullopt;
    const auto items = extent.get<std::uint64_t>();
    empty = empty || items == 0;
    if (items > kMost / bytes) return std::nullopt;
    if (items > 0) bytes *= items;
  }
  if (empty) return 0;
  return bytes <= most ? std::optional<std::size_t>(bytes) : std::nullopt;
}

Result<Array> read_output(const json& output, const Frame& frame) {
  if (!output.is_object()) return malformed_call("an output that is no object");
  const auto dtype = engine::dtype_named(text_of(output, "dtype"));
  if (!dtype) return malformed_call(fmt::format("items of dtype '{}'", text_of(output, "dtype")));
  const auto shape = output.find("shape");
  const auto at = output.find("at");
  if (shape == output.end() || at == output.end() || !at->is_number_unsigned())
    return malformed_call("an output without a shape or a place");
  const auto start = at->get<std::uint64_t>();
  const std::size_t left = start <= frame.extra.size() ? frame.extra.size() - start : 0;
  const auto bytes = bytes_of(*shape, item_size(*dtype), left);
  if (!bytes) return malformed_call(fmt::format("an output of shape {}", shape->dump()));
  auto extents = shape->get<engine::Shape>();
  if (*bytes == 0) return Array::copy_of(*dtype, std::move(extents), nullptr);
  const std::byte* const items = frame.extra.data() + start;
  // Short answers lie in a packet, where items have no proper place.
  if (reinterpret_cast<std::uintptr_t>(items) % kFrameAlignment != 0)
    return Array::copy_of(*dtype, std::move(extents), items);
  const engine::Strides strides = engine::c_strides(extents, item_size(*dtype));
  return Array::share(*dtype, std::move(extents), strides, items, frame.owner);
}

}  // namespace

Result<PackedFrame> pack_call(const SharedFunction& function, engine::KernelContext& context,
                              const CallOptions& options) {
  std::vector<ByteSpan> parts;
  std::vector<Array> kept;
  if (options.with_function) parts.push_back(function.pickled.bytes());
  json inputs = json::array();
  std::vector<std::size_t> sent;  // numbers of the inputs that are not in the arena
  for (std::size_t i = 0; i < context.inputs().size(); ++i) {
    const Array& input = context.input(i);
    const bool there = lies_in(input, options.arena);
    kept.push_back(there ? input : input.contiguous(context.memory()));
    const bool seen = there || lies_in(kept.back(), options.arena);
    json each = described(kept.back());
    each["inline"] = !seen;
    if (seen) {
      each["at"] = kept.back().data() - options.arena.data();
    } else {
      sent.push_back(i);
      parts.emplace_back(kept.back().data(), kept.back().nbytes());
    }
    inputs.push_back(std::move(each));
  }
  const std::vector<std::size_t> starts = part_starts(parts);
  for (std::size_t i = 0; i < sent.size(); ++i)
    inputs[sent[i]]["at"] = starts[i + (options.with_function ? 1 : 0)];
  json head = {{"function", function.id},
               {"name", function.name},
               {"pickled", options.with_function ? function.pickled.size() : 0},
               {"forget", options.forget},
               {"inputs", std::move(inputs)},
               {"index", nullptr},
               {"outputs", context.outputs().size()},
               {"most", options.most_output}};
  if (context.attributes().has("chunk_index"))
    head["index"] = context.attributes().get<engine::Ints>("chunk_index");
  return pack_frame(head, parts);
}

Result<CallReply> read_reply(const Frame& frame, const std::string& name, std::size_t outputs) {
  const auto ok = frame.head.find("ok");
  if (ok == frame.head.end() || !ok->is_boolean())
    return malformed_call("neither results nor an error");
  CallReply reply;
  if (!ok->get<bool>()) {
    reply.raised = raised_in(frame.head, name);
    return reply;
  }
  const auto list = frame.head.find("outputs");
  if (list == frame.head.end() || !list->is_array() || list->size() != outputs)
    return malformed_call(fmt::format("other than {} outputs", outputs));
  for (const json& output : *list) {
    auto array = read_output(output, frame);
    if (!array) return fail(array.error());
    reply.outputs.push_back(std::move(*array));
  }
  return reply;
}

}  // namespace muster::service
