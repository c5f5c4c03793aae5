#include "muster/engine/ops/random/batch.h"

#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/random/batch.cpp"
#include <algorithm>

#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After Highway's own headers: it is compiled once per target too.
#include <hwy/contrib/math/math-inl.h>

#include "muster/engine/ops/random/philox.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::random::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<std::uint64_t>;
using DF = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using VF = hn::Vec<DF>;

struct Keys {
  explicit Keys(std::uint64_t key) {
    auto key0 = static_cast<std::uint32_t>(key);
    auto key1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < kPhiloxRounds; ++round) {
      of[round][0] = key0;
      of[round][1] = key1;
      key0 += kPhiloxWeyl0;
      key1 += kPhiloxWeyl1;
    }
  }
  std::uint64_t of[kPhiloxRounds][2];
};

/// The low halves of the lanes, multiplied.
HWY_INLINE V multiply(V a, V b) {
#if HWY_TARGET == HWY_SCALAR
  constexpr std::uint64_t kLow = 0xffff'ffff;
  return hn::Set(D(), (hn::GetLane(a) & kLow) * (hn::GetLane(b) & kLow));
#else
  const hn::Repartition<std::uint32_t, D> halves;
  return hn::MulEven(hn::BitCast(halves, a), hn::BitCast(halves, b));
#endif
}

/// Both words of the counters `pair`, one per lane. Each word of a counter lies in the low half of
/// a lane of its own; what gathers in the high halves is ignored by the multiplication.
HWY_INLINE void blocks(V pair, std::uint32_t draw, const Keys& keys, V& word0, V& word1) {
  const D d;
  V c0 = pair;
  V c1 = hn::ShiftRight<32>(pair);
  V c2 = hn::Set(d, draw);
  V c3 = hn::Set(d, static_cast<std::uint64_t>(Domain::pairs));
  const V m0 = hn::Set(d, kPhiloxMultiply0);
  const V m1 = hn::Set(d, kPhiloxMultiply1);
  HWY_UNROLL(10)
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const V a = multiply(m0, c0);
    const V b = multiply(m1, c2);
    c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(b), c1), hn::Set(d, keys.of[round][0]));
    c1 = b;
    c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(a), c3), hn::Set(d, keys.of[round][1]));
    c3 = a;
  }
  const V low = hn::Set(d, 0xffff'ffff);
  word0 = hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1));
  word1 = hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3));
}

HWY_INLINE VF unit(V word) {
  const DF d;
  const auto whole = hn::BitCast(hn::RebindToSigned<D>(), hn::ShiftRight<11>(word));
  return hn::Mul(hn::ConvertTo(d, whole), hn::Set(d, 0x1p-53));
}

/// `make(word0, word1, out0, out1)` turns the words of a pair of elements into their numbers.
template <class T, class Make>
HWY_INLINE void fill(std::uint64_t key, std::uint64_t first, std::size_t count, std::uint32_t draw,
                     T* out, const Make& make) {
  const D d;
  const hn::ScalableTag<T> dt;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN T buffer[2 * hn::MaxLanes(D())];
  const Keys keys(key);
  V pair = hn::Add(hn::Iota(d, 0), hn::Set(d, first / 2));
  const V step = hn::Set(d, lanes);
  std::size_t skip = first % 2;
  while (count > 0) {
    V word0;
    V word1;
    blocks(pair, draw, keys, word0, word1);
    pair = hn::Add(pair, step);
    hn::Vec<decltype(dt)> out0;
    hn::Vec<decltype(dt)> out1;
    make(word0, word1, out0, out1);
    if (skip == 0 && count >= 2 * lanes) {
      hn::StoreInterleaved2(out0, out1, dt, out);
      out += 2 * lanes;
      count -= 2 * lanes;
      continue;
    }
    hn::StoreInterleaved2(out0, out1, dt, buffer);
    const std::size_t taken = std::min(count, 2 * lanes - skip);
    std::copy_n(buffer + skip, taken, out);
    out += taken;
    count -= taken;
    skip = 0;
  }
}

void fill_words(std::uint64_t key, std::uint64_t first, std::size_t count, std::uint32_t draw,
                std::uint64_t* out) {
  fill(key, first, count, draw, out, [](V word0, V word1, V& out0, V& out1) HWY_ATTR {
    out0 = word0;
    out1 = word1;
  });
}

void fill_uniforms(std::uint64_t key, std::uint64_t first, std::size_t count, double low,
                   double range, double* out) {
  fill(key, first, count, 0, out, [&](V word0, V word1, VF& out0, VF& out1) HWY_ATTR {
    const VF from = hn::Set(DF(), low);
    const VF by = hn::Set(DF(), range);
    out0 = hn::Add(from, hn::Mul(by, unit(word0)));
    out1 = hn::Add(from, hn::Mul(by, unit(word1)));
  });
}

void fill_normals(std::uint64_t key, std::uint64_t first, std::size_t count, double* out) {
  fill(key, first, count, 0, out, [](V word0, V word1, VF& out0, VF& out1) HWY_ATTR {
    const DF d;
    const VF u = hn::Sub(hn::Set(d, 1.0), unit(word0));  // in (0, 1]
    const VF radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0), hn::Log(d, u)));
    const VF angle = hn::Mul(hn::Set(d, 6.283185307179586), unit(word1));
    out0 = hn::Mul(radius, hn::Cos(d, angle));
    out1 = hn::Mul(radius, hn::Sin(d, angle));
  });
}

void fill_exponentials(std::uint64_t key, std::uint64_t first, std::size_t count, double* out) {
  fill(key, first, count, 0, out, [](V word0, V word1, VF& out0, VF& out1) HWY_ATTR {
    const DF d;
    const VF one = hn::Set(d, 1.0);
    out0 = hn::Neg(hn::Log(d, hn::Sub(one, unit(word0))));
    out1 = hn::Neg(hn::Log(d, hn::Sub(one, unit(word1))));
  });
}

}  // namespace muster::engine::random::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine::random {
namespace {
HWY_EXPORT(fill_words);
HWY_EXPORT(fill_uniforms);
HWY_EXPORT(fill_normals);
HWY_EXPORT(fill_exponentials);
}  // namespace

void words(std::uint64_t key, std::uint64_t first, std::size_t count, std::uint32_t draw,
           std::uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(fill_words)(key, first, count, draw, out);
}

void uniforms(std::uint64_t key, std::uint64_t first, std::size_t count, double low, double range,
              double* out) {
  HWY_DYNAMIC_DISPATCH(fill_uniforms)(key, first, count, low, range, out);
}

void normals(std::uint64_t key, std::uint64_t first, std::size_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(fill_normals)(key, first, count, out);
}

void exponentials(std::uint64_t key, std::uint64_t first, std::size_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(fill_exponentials)(key, first, count, out);
}

}  // namespace muster::engine::random
#endif
