#include "muster/runtime/byte_ring.h"

#include <cstring>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "muster/runtime/mapping.h"

namespace muster {
namespace {

constexpr std::size_t kPage = 4096;

// Both ends of a ring of one page, each through a mapping of its own, as two processes have it.
struct Ring {
  FileDescriptor file = create_memory_file("muster-test", 2 * kPage).value();
  Mapping writing = Mapping::map_ring(file.get(), kPage, kPage).value();
  Mapping reading = Mapping::map_ring(file.get(), kPage, kPage).value();
  RingIndices& indices = *reinterpret_cast<RingIndices*>(writing.data());
  RingWriter writer{indices, writing.data() + kPage, kPage};
  RingReader reader{*reinterpret_cast<RingIndices*>(reading.data()), reading.data() + kPage, kPage};

  bool write(std::string_view text) {
    std::byte* const out = writer.reserve(text.size());
    if (out == nullptr) return false;
    std::memcpy(out, text.data(), text.size());
    writer.commit(text.size());
    return true;
  }
  std::string read(std::size_t bytes) {
    std::string text(as_text(reader.readable().first(bytes)));
    reader.consume(bytes);
    reader.release();
    return text;
  }
};

TEST(ByteRing, KeepsInOnePieceWhatWrapsAround) {
  Ring ring;
  for (int i = 0; i < 100; ++i) {
    const std::string text(1000 + static_cast<std::size_t>(i), static_cast<char>('a' + i % 26));
    ASSERT_TRUE(ring.write(text));
    ASSERT_EQ(ring.read(text.size()), text);
  }
  EXPECT_TRUE(ring.reader.empty());
}

TEST(ByteRing, IsFullUntilTheReaderReleases) {
  Ring ring;
  ASSERT_TRUE(ring.write(std::string(kPage, 'x')));
  EXPECT_FALSE(ring.write("y"));
  ring.reader.consume(ring.reader.readable().size());
  EXPECT_FALSE(ring.write("y"));
  ring.reader.release();
  EXPECT_TRUE(ring.write("y"));
  EXPECT_FALSE(ring.writer.broken());
}

TEST(ByteRing, TellsAWaitingWriterOnceWhenAGoodPartIsFree) {
  Ring ring;
  ASSERT_TRUE(ring.write(std::string(kPage, 'x')));
  EXPECT_FALSE(ring.reader.writer_to_be_told());
  ring.writer.await_room();
  static_cast<void>(ring.read(8));
  EXPECT_FALSE(ring.reader.writer_to_be_told());
  static_cast<void>(ring.read(kPage / 2));
  EXPECT_TRUE(ring.reader.writer_to_be_told());
  EXPECT_EQ(ring.writer.progress(), 1u);
  EXPECT_FALSE(ring.reader.writer_to_be_told());
}

TEST(ByteRing, KnowsWhatAReaderHasNotTaken) {
  Ring ring;
  ASSERT_TRUE(ring.write("taken"));
  ASSERT_TRUE(ring.write("left"));
  ASSERT_EQ(ring.reader.readable().size(), 9u);
  ring.reader.consume(5);
  EXPECT_EQ(as_text(ring.writer.untaken()), "left");
  ring.indices.taken.store(~std::uint64_t{0});
  EXPECT_EQ(as_text(ring.writer.untaken()), "takenleft") << "a lie is not believed";
}

TEST(ByteRing, SurvivesAWriterThatLies) {
  for (const std::uint64_t lie : {std::uint64_t{kPage + 1}, ~std::uint64_t{0}}) {
    Ring ring;
    ring.indices.written.store(lie);
    EXPECT_FALSE(ring.reader.empty());
    EXPECT_TRUE(ring.reader.readable().empty());
    EXPECT_TRUE(ring.reader.broken());
  }
}

TEST(ByteRing, SurvivesAReaderThatLies) {
  for (const std::uint64_t lie : {std::uint64_t{kPage + 1}, ~std::uint64_t{0}}) {
    Ring ring;
    ASSERT_TRUE(ring.write(std::string(kPage, 'x')));
    ring.indices.read.store(lie);
    EXPECT_FALSE(ring.write("y"));
    EXPECT_TRUE(ring.writer.broken());
  }
}

TEST(ByteRing, CarriesAStreamBetweenThreads) {
  Ring ring;
  constexpr std::uint64_t kCount = 200'000;
  std::jthread writer([&ring] {
    for (std::uint64_t i = 0; i < kCount;) {
      std::byte* const out = ring.writer.reserve(sizeof i);
      if (out == nullptr) {
        std::this_thread::yield();
        continue;
      }
      std::memcpy(out, &i, sizeof i);
      ring.writer.commit(sizeof i);
      ++i;
    }
  });
  for (std::uint64_t i = 0; i < kCount;) {
    const ByteSpan readable = ring.reader.readable();
    if (readable.empty()) {
      std::this_thread::yield();
      continue;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, readable.data(), sizeof value);
    ASSERT_EQ(value, i);
    ring.reader.consume(sizeof value);
    ring.reader.release();
    ++i;
  }
}

}  // namespace
}  // namespace muster
