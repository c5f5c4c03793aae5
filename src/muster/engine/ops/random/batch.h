#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::engine::random {

// One number for each of the elements `first` to `first + count` of an array, by vector
// instructions. Elements 2i and 2i+1 share the counter (i, draw), so the number of an element
// depends on the key and its place alone.

/// 64 random bits each.
void words(std::uint64_t key, std::uint64_t first, std::size_t count, std::uint32_t draw,
           std::uint64_t* out);
/// `low + u * range` with u in [0, 1), a multiple of 2^-53.
void uniforms(std::uint64_t key, std::uint64_t first, std::size_t count, double low, double range,
              double* out);
/// From the normal distribution with mean 0 and deviation 1, by Box and Muller.
void normals(std::uint64_t key, std::uint64_t first, std::size_t count, double* out);
/// From the exponential distribution with mean 1.
void exponentials(std::uint64_t key, std::uint64_t first, std::size_t count, double* out);

}  // namespace muster::engine::random
