#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace muster::engine {

/// An array that grows at its end; a page goes when all its items were retired, so that a session
/// may run for ever. Indices stay.
template <class T>
class Paged {
 public:
  std::uint32_t add(T item) {
    if (size_ % kItems == 0) pages_.push_back(std::make_unique<Page>());
    Page& page = *pages_.back();
    page.items[size_ % kItems] = std::move(item);
    ++page.live;
    ++live_;
    return size_++;
  }
  void retire(std::uint32_t index) {
    auto& page = pages_[index / kItems];
    --live_;
    if (--page->live == 0 && index / kItems < size_ / kItems) page.reset();
  }
  [[nodiscard]] T& operator[](std::uint32_t index) {
    return pages_[index / kItems]->items[index % kItems];
  }
  [[nodiscard]] const T& operator[](std::uint32_t index) const {
    return pages_[index / kItems]->items[index % kItems];
  }
  /// False where the whole page is gone; a retired item in a living page says so itself.
  [[nodiscard]] bool has(std::uint32_t index) const {
    return index < size_ && pages_[index / kItems] != nullptr;
  }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::uint32_t live() const { return live_; }

  /// Everything through an archive of snapshot.cpp, in either direction.
  template <class Archive>
  void archive(Archive& through) {
    through(size_, live_);
    pages_.resize((std::size_t{size_} + kItems - 1) / kItems);
    for (auto& page : pages_) {
      bool there = page != nullptr;
      through(there);
      if (!there) continue;
      if (!page) page = std::make_unique<Page>();
      through(page->live);
      through.items(std::span<T>(page->items));
    }
  }

 private:
  static constexpr std::uint32_t kItems = 1024;
  struct Page {
    std::array<T, kItems> items;
    std::uint32_t live = 0;
  };
  std::vector<std::unique_ptr<Page>> pages_;
  std::uint32_t size_ = 0;
  std::uint32_t live_ = 0;
};

/// Records that come and go; indices are used again.
template <class T>
class Pool {
 public:
  std::uint32_t add(T item) {
    ++live_;
    if (free_.empty()) {
      items_.push_back(std::move(item));
      return static_cast<std::uint32_t>(items_.size() - 1);
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    items_[index] = std::move(item);
    return index;
  }
  void remove(std::uint32_t index) {
    free_.push_back(index);
    --live_;
  }
  [[nodiscard]] T& operator[](std::uint32_t index) { return items_[index]; }
  [[nodiscard]] const T& operator[](std::uint32_t index) const { return items_[index]; }
  [[nodiscard]] std::uint32_t live() const { return live_; }

  template <class Archive>
  void archive(Archive& through) {
    through(items_, free_, live_);
  }

 private:
  std::vector<T> items_;
  std::vector<std::uint32_t> free_;
  std::uint32_t live_ = 0;
};

}  // namespace muster::engine
