#pragma once

#include <new>
#include <stdexcept>
#include <sys/mman.h>

namespace muster::test {

/// A value that a test shares with the children that it forks. Made of atomics; zero at first.
template <class T>
class SharedValue {
 public:
  SharedValue() {
    void* const at =
        ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("mmap failed");
    value_ = new (at) T();
  }
  SharedValue(const SharedValue&) = delete;
  SharedValue& operator=(const SharedValue&) = delete;
  ~SharedValue() { ::munmap(value_, sizeof(T)); }

  T* operator->() const { return value_; }
  T& operator*() const { return *value_; }

 private:
  T* value_;
};

}  // namespace muster::test
