#include "muster/runtime/process_memory.h"

#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

std::uint64_t address_of(const void* place) { return reinterpret_cast<std::uint64_t>(place); }

TEST(ProcessMemory, IsReadWhereTheProcessSaysItIs) {
  const MemoryProof proof;
  const std::string text = "what another process has";
  std::vector<std::byte> copy(text.size());
  ASSERT_TRUE(read_memory(proof.memory(), address_of(text.data()), copy));
  EXPECT_EQ(std::memcmp(copy.data(), text.data(), text.size()), 0);
  EXPECT_TRUE(read_memory(proof.memory(), address_of(text.data()), {}));
}

TEST(ProcessMemory, IsNotReadFromAProcessThatIsNotTheOneThatWasMeant) {
  const MemoryProof proof;
  std::vector<std::byte> copy(8);
  ProcessMemory other = proof.memory();
  other.proof ^= 1;
  EXPECT_FALSE(read_memory(other, other.proof_at, copy));
  other = proof.memory();
  other.proof_at = 8;  // where this process has nothing
  const auto read = read_memory(other, address_of(&other), copy);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), std::errc::no_such_process);
  for (const std::uint64_t pid : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    other = proof.memory();
    other.pid = pid;
    EXPECT_FALSE(read_memory(other, other.proof_at, copy));
  }
}

TEST(ProcessMemory, IsNotReadWhereThereIsNone) {
  const MemoryProof proof;
  const auto page = static_cast<std::size_t>(::getpagesize());
  void* const pages =
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ::munmap(static_cast<std::byte*>(pages) + page, page);
  std::vector<std::byte> copy(2 * page);
  EXPECT_FALSE(read_memory(proof.memory(), address_of(pages), copy));
  EXPECT_FALSE(read_memory(proof.memory(), 8, copy));
  EXPECT_TRUE(read_memory(proof.memory(), address_of(pages), std::span(copy).first(page)));
  ::munmap(pages, page);
}

}  // namespace
}  // namespace muster
