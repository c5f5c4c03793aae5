// Any bytes in a ring or a handshake of the shared-memory driver are read or refused as malformed.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "muster/comm/driver/shm/frame_reader.h"
#include "muster/comm/driver/shm/packets.h"
#include "muster/comm/errc.h"

namespace {

using namespace muster;
using namespace muster::comm;

// One block of 64 bytes, wherever a frame says that it is.
class OneBlock final : public shm::BlockSource {
 public:
  Result<Piece> piece(const shm::BlockReference& reference) override {
    if (reference.bytes > block_.size()) return fail(Errc::malformed, "no such block");
    return Piece{ByteSpan(block_).first(reference.bytes), nullptr};
  }

 private:
  std::vector<std::byte> block_ = std::vector<std::byte>(64);
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan input(reinterpret_cast<const std::byte*>(data), size);
  OneBlock blocks;
  shm::FrameReader reader(InstanceId(1));
  Message message;
  for (ByteSpan rest = input; !rest.empty();) {
    const auto read = reader.read(rest, blocks, message);
    if (!read) {
      if (!read.error().is(Errc::malformed)) std::abort();
      break;
    }
    if (*read == 0 || *read > rest.size()) std::abort();
    rest = rest.subspan(*read);
  }
  Packet packet;
  packet.bytes.assign(input.begin(), input.end());
  const auto read = shm::read_packet(std::move(packet));
  if (!read && !read.error().is(Errc::malformed)) std::abort();
  return 0;
}
