#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "muster/base/buffer.h"
#include "muster/base/result.h"

namespace muster::net {

/// All that `read` gives until it gives 0. `Errc::too_large` if that is more than `most`. Memory is
/// used as the bytes come, whatever length was announced.
[[nodiscard]] Result<Buffer> read_whole_body(
    std::optional<std::uint64_t> length, std::size_t most,
    const std::function<Result<std::size_t>(std::span<std::byte>)>& read);

}  // namespace muster::net
