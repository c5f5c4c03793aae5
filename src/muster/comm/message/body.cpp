#include "muster/comm/message/body.h"

#include <atomic>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/base/assert.h"

namespace muster::comm {

std::string_view to_string(BodyType type) {
  switch (type) {
    case BodyType::bytes: return "bytes";
    case BodyType::text: return "text";
    case BodyType::json: return "json";
    case BodyType::array: return "array";
    case BodyType::python: return "python";
  }
  return "unknown";
}

std::optional<std::size_t> array_bytes(const DType& dtype, std::span<const std::int64_t> shape) {
  std::size_t bytes = dtype.item_size();
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes))
      return std::nullopt;
  }
  return bytes;
}

Body Body::array(DType dtype, std::vector<std::int64_t> shape, Buffer elements) {
  if (array_bytes(dtype, shape) != elements.size()) {
    throw std::invalid_argument(
        fmt::format("[Body::array] an array of {} with shape ({}) does not have {} bytes",
                    dtype.str(), fmt::join(shape, ", "), elements.size()));
  }
  Body body(BodyType::array, std::move(elements));
  body.extra_ = std::make_shared<const Extra>(Extra{std::move(dtype), std::move(shape), {}});
  return body;
}

Body Body::python(Buffer pickle, std::vector<Buffer> out_of_band) {
  Body body(BodyType::python, std::move(pickle));
  if (!out_of_band.empty())
    body.extra_ = std::make_shared<const Extra>(Extra{{}, {}, std::move(out_of_band)});
  return body;
}

std::size_t Body::size_of_all() const {
  std::size_t total = main_.size();
  for (std::size_t i = 1; i < buffer_count(); ++i) total += buffer(i).size();
  return total;
}

std::string_view Body::text() const {
  if (type_ != BodyType::text && type_ != BodyType::json) {
    throw std::invalid_argument(
        fmt::format("[Body::text] the body is {}, not text or json", to_string(type_)));
  }
  return main_.text();
}

const DType& Body::dtype() const {
  if (type_ != BodyType::array)
    throw std::invalid_argument(
        fmt::format("[Body::dtype] the body is {}, not an array", to_string(type_)));
  return extra_->dtype;
}

const std::vector<std::int64_t>& Body::shape() const {
  if (type_ != BodyType::array)
    throw std::invalid_argument(
        fmt::format("[Body::shape] the body is {}, not an array", to_string(type_)));
  return extra_->shape;
}

void Body::require_array(const DType& dtype) const {
  if (this->dtype() != dtype) {
    throw std::invalid_argument(fmt::format("[Body::elements] the array holds {}, not {}",
                                            this->dtype().str(), dtype.str()));
  }
}

bool Body::exclusive(std::size_t index) const {
  const auto& owner = buffer(index).owner();
  if (!buffer(index).given() || (extra_ && extra_.use_count() > 1)) return false;
  long mine = 0;
  for (std::size_t i = 0; i < buffer_count(); ++i) mine += buffer(i).owner() == owner ? 1 : 0;
  if (owner.use_count() != mine) return false;
  std::atomic_thread_fence(std::memory_order_acquire);  // others have read before they let go
  return true;
}

bool Body::lent() const {
  for (std::size_t i = 0; i < buffer_count(); ++i) {
    if (buffer(i).lent()) return true;
  }
  return false;
}

Body Body::kept() const {
  if (!lent()) return *this;
  Body body(type_, main_.kept());
  if (!extra_) return body;
  Extra extra = *extra_;
  for (Buffer& buffer : extra.out_of_band) buffer = buffer.kept();
  body.extra_ = std::make_shared<const Extra>(std::move(extra));
  return body;
}

bool operator==(const Body& a, const Body& b) {
  if (a.type_ != b.type_ || a.buffer_count() != b.buffer_count()) return false;
  for (std::size_t i = 0; i < a.buffer_count(); ++i) {
    if (a.buffer(i) != b.buffer(i)) return false;
  }
  return a.type_ != BodyType::array || (a.dtype() == b.dtype() && a.shape() == b.shape());
}

}  // namespace muster::comm
