#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "muster/engine/graph/tensor.h"
#include "muster/service/client/connection.h"

namespace muster::service {

/// A computed tensor on a cluster. When the last handle goes, it is released there. Thread-safe.
class RemoteStored final : public engine::Stored {
 public:
  RemoteStored(std::shared_ptr<Connection> connection, std::string key, engine::DType dtype,
               engine::Splits splits)
      : connection_(std::move(connection)),
        key_(std::move(key)),
        dtype_(dtype),
        splits_(std::move(splits)) {}
  RemoteStored(const RemoteStored&) = delete;
  RemoteStored& operator=(const RemoteStored&) = delete;
  ~RemoteStored() override { connection_->release_later(key_); }

  [[nodiscard]] const engine::Splits& splits() const override { return splits_; }
  [[nodiscard]] engine::DType dtype() const override { return dtype_; }
  /// Downloads it. Throws ArrayError where that fails.
  [[nodiscard]] engine::Array chunk(std::size_t number) const override;
  [[nodiscard]] engine::Array chunk_here(std::size_t) const override { return {}; }
  /// Downloads the chunk into memory for `extents` without gaps in C order.
  void download(std::size_t number, const engine::Shape& extents, std::span<std::byte> into,
                const std::stop_token& stop) const;

  [[nodiscard]] const Connection& connection() const { return *connection_; }
  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  std::shared_ptr<Connection> connection_;
  std::string key_;
  engine::DType dtype_;
  engine::Splits splits_;
};

/// The position of the chunk with this number.
[[nodiscard]] engine::Shape position_of(std::size_t number, const engine::Shape& grid);

}  // namespace muster::service
