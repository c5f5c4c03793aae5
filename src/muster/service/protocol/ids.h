#pragma once

#include "muster/engine/schedule/ids.h"
#include "muster/engine/wire/byte_reader.h"
#include "muster/engine/wire/byte_writer.h"

namespace muster::service {

/// Chunks and tasks: both are a session and a number in it.
template <class Id>
void write_id(engine::ByteWriter& out, const Id& id) {
  out.number(id.session.value());
  out.number(id.index);
}

template <class Id>
[[nodiscard]] Id read_id(engine::ByteReader& in) {
  const auto session = in.number<std::uint32_t>();
  return {engine::SessionId(session), in.number<std::uint32_t>()};
}

template <class Id>
void write_ids(engine::ByteWriter& out, const std::vector<Id>& ids) {
  out.count(ids.size());
  for (const Id& id : ids) write_id(out, id);
}

template <class Id>
[[nodiscard]] std::vector<Id> read_ids(engine::ByteReader& in) {
  std::vector<Id> ids(in.count(8));
  for (Id& id : ids) id = read_id<Id>(in);
  return ids;
}

/// Every message ends where its last field ends.
inline void expect_end(const engine::ByteReader& in) {
  if (in.left() > 0) in.refuse(fmt::format("{} bytes too many", in.left()));
}

}  // namespace muster::service
