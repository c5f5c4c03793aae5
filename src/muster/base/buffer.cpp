#include "muster/base/buffer.h"

namespace muster {

Buffer Buffer::large_copy_of(ByteSpan bytes) {
  auto owner = std::make_shared_for_overwrite<std::byte[]>(bytes.size());
  std::memcpy(owner.get(), bytes.data(), bytes.size());
  const std::span<std::byte> view(owner.get(), bytes.size());
  return give(view, std::move(owner));
}

Buffer Buffer::take(std::vector<std::byte> bytes) {
  if (bytes.size() <= kInline) return copy_of(bytes);
  auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  const std::span<std::byte> view(*owner);
  return give(view, std::move(owner));
}

Buffer Buffer::share(ByteSpan bytes, std::shared_ptr<const void> owner) {
  if (!owner) return copy_of(bytes);
  Buffer buffer;
  buffer.size_ = bytes.size();
  buffer.owner_ = std::move(owner);
  buffer.data_ = bytes.data();
  return buffer;
}

Buffer Buffer::lend(ByteSpan bytes, std::shared_ptr<const void> owner) {
  Buffer buffer = share(bytes, std::move(owner));
  if (buffer.owner_) buffer.terms_ = Terms::lent;
  return buffer;
}

Buffer Buffer::give(std::span<std::byte> bytes, std::shared_ptr<const void> owner) {
  Buffer buffer = share(bytes, std::move(owner));
  if (buffer.owner_) buffer.terms_ = Terms::given;
  return buffer;
}

}  // namespace muster
