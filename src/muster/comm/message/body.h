#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/comm/message/dtype.h"

namespace muster::comm {

enum class BodyType : std::uint8_t { bytes, text, json, array, python };

[[nodiscard]] std::string_view to_string(BodyType type);

/// What a message carries: bytes, text, JSON, an array, or a pickled Python object with its
/// out-of-band buffers. Immutable and cheap to copy; large contents are shared, not copied.
/// Thread-safe to read.
class Body {
 public:
  Body() = default;

  [[nodiscard]] static Body bytes(Buffer contents) {
    return {BodyType::bytes, std::move(contents)};
  }
  [[nodiscard]] static Body bytes(ByteSpan contents) { return bytes(Buffer::copy_of(contents)); }
  [[nodiscard]] static Body text(Buffer contents) { return {BodyType::text, std::move(contents)}; }
  [[nodiscard]] static Body text(std::string_view contents) {
    return text(Buffer::copy_of(as_bytes(contents)));
  }
  /// `contents` is JSON text. It is not parsed here; a receiver that parses it finds mistakes.
  [[nodiscard]] static Body json(Buffer contents) { return {BodyType::json, std::move(contents)}; }
  [[nodiscard]] static Body json(std::string_view contents) {
    return json(Buffer::copy_of(as_bytes(contents)));
  }
  /// C order. Throws std::invalid_argument when the buffer does not hold exactly that many
  /// elements.
  [[nodiscard]] static Body array(DType dtype, std::vector<std::int64_t> shape, Buffer elements);
  template <class T>
  [[nodiscard]] static Body array(std::span<const T> elements) {
    return array(DType::of<T>(), {static_cast<std::int64_t>(elements.size())},
                 Buffer::copy_of(std::as_bytes(elements)));
  }
  /// Of a type that has nothing but its contents: bytes, text or JSON.
  [[nodiscard]] static Body plain(BodyType type, Buffer&& contents) {
    return {type, std::move(contents)};
  }
  /// Becomes such a body with a copy of `contents`; cheaper than assigning one.
  void assign_plain(BodyType type, ByteSpan contents) {
    type_ = type;
    main_.assign(contents);
    extra_.reset();
  }
  /// A pickle stream and the buffers that were kept out of it.
  [[nodiscard]] static Body python(Buffer pickle, std::vector<Buffer> out_of_band);

  [[nodiscard]] BodyType type() const { return type_; }
  /// The contents; of a Python object, its pickle stream.
  [[nodiscard]] const Buffer& buffer() const { return main_; }
  [[nodiscard]] std::size_t buffer_count() const {
    return 1 + (extra_ ? extra_->out_of_band.size() : 0);
  }
  /// The `index`-th buffer as it travels: the contents first, then those out of band.
  [[nodiscard]] const Buffer& buffer(std::size_t index) const {
    return index == 0 ? main_ : extra_->out_of_band[index - 1];
  }
  /// All bytes of all buffers.
  [[nodiscard]] std::size_t size() const { return extra_ ? size_of_all() : main_.size(); }

  /// The contents as text; throws std::invalid_argument unless the body is text or JSON.
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] const DType& dtype() const;
  [[nodiscard]] const std::vector<std::int64_t>& shape() const;
  /// The elements; throws std::invalid_argument unless the body is an array of `T`.
  template <class T>
  [[nodiscard]] std::span<const T> elements() const {
    require_array(DType::of<T>());
    return {reinterpret_cast<const T*>(main_.data()), main_.size() / sizeof(T)};
  }

  /// True when whoever holds this body may change its `index`-th buffer, because nobody else can
  /// see it.
  [[nodiscard]] bool exclusive(std::size_t index) const;
  /// True when one of the buffers is only lent.
  [[nodiscard]] bool lent() const;
  /// The same body, with copies of buffers that are only lent.
  [[nodiscard]] Body kept() const;

  friend bool operator==(const Body& a, const Body& b);

 private:
  struct Extra {
    DType dtype;
    std::vector<std::int64_t> shape;
    std::vector<Buffer> out_of_band;
  };

  Body(BodyType type, Buffer&& main) : type_(type), main_(std::move(main)) {}
  [[nodiscard]] std::size_t size_of_all() const;
  void require_array(const DType& dtype) const;

  BodyType type_ = BodyType::bytes;
  Buffer main_;
  std::shared_ptr<const Extra> extra_;  // only arrays and Python objects have one
};

/// How many bytes an array of this type and shape has; nothing when a size is negative or the
/// product overflows.
[[nodiscard]] std::optional<std::size_t> array_bytes(const DType& dtype,
                                                     std::span<const std::int64_t> shape);

}  // namespace muster::comm
