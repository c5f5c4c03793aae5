#pragma once

namespace muster {

/// The last look before a sleep, after `Doorbell::prepare`: whether there is work after all. Looks
/// for about 3 µs, longer than what was published takes to become visible, because ringers who use
/// `RemoteDoorbell::ring_lightly` may have looked at the doorbell before that.
template <class Stirs>
bool last_look(Stirs stirs) {
  constexpr int kLooks = 64;  // with a pause of about 50 ns after each
  for (int look = 0; look < kLooks; ++look) {
    if (stirs()) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  return false;
}

}  // namespace muster
