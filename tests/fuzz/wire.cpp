// Any bytes that come over the network are either a frame whose messages can be encoded again, or
// malformed. The first byte says where the input is cut into the parts of one frame.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "muster/comm/errc.h"
#include "muster/comm/link/frame.h"
#include "muster/comm/link/hello.h"

namespace {

using muster::Buffer;
using muster::ByteSpan;
using namespace muster::comm;

void check(const muster::Error& error) {
  if (!error.is(Errc::malformed)) std::abort();
}

void read_frame(const Frame& frame) {
  const auto decoded = decode_frame(frame);
  if (!decoded) return check(decoded.error());
  for (const Message& message : decoded->messages) {
    if (!check_encodable(message)) std::abort();
    std::vector<std::byte> bytes(record_bytes(message, decoded->header.source));
    encode_record(message, decoded->header.source, bytes.data());
    Record again;
    if (!RecordDecoder(decoded->header.source).decode(bytes, again)) std::abort();
  }
}

void read_hello(ByteSpan bytes) {
  const auto hello = decode_hello(bytes);
  if (!hello) return check(hello.error());
  const std::string text = encode_hello(hello->group, hello->entry);
  if (!decode_hello(muster::as_bytes(text))) std::abort();
}

void read_record(ByteSpan bytes) {
  Record record;
  const auto decoded = RecordDecoder(InstanceId(1)).decode(bytes, record);
  if (!decoded) return check(decoded.error());
  if (record.total_bytes() > kMaxBodyBytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const ByteSpan input(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const std::size_t cut = std::min<std::size_t>(std::size_t{data[0]} * 4, input.size());
  Frame frame;
  frame.head = Buffer::copy_of(input.first(data[0] == 0 ? input.size() : cut));
  if (data[0] != 0) frame.parts.push_back(Buffer::copy_of(input.subspan(cut)));
  read_frame(frame);
  read_hello(input);
  read_record(input);
  return 0;
}
