#include "runtime/storage.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(RootBufferTest, ZeroedAndAligned) {
  for (uint64_t bytes : {0u, 1u, 100u, 65535u, 65536u, 1000000u, 2u << 20, 5000001u}) {
    auto buffer = RootBuffer::Allocate(bytes);
    ASSERT_TRUE(buffer.ok()) << buffer.error().text;
    EXPECT_EQ((*buffer)->size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*buffer)->data()) % 64, 0u);
    for (uint64_t i = 0; i < bytes; ++i) ASSERT_EQ((*buffer)->data()[i], 0);
    if (bytes > 0) (*buffer)->data()[bytes - 1] = 1;
  }
}

// Accesses like those of a stencil that reads and writes one row beyond a border.
TEST(RootBufferTest, StrayRowsReadZeros) {
  for (uint64_t bytes : {64u, 4096u, 100000u, 1u << 20, 16u << 20}) {
    auto buffer = RootBuffer::Allocate(bytes);
    auto other = RootBuffer::Allocate(bytes);
    ASSERT_TRUE(buffer.ok() && other.ok());
    const uint64_t row = bytes / 8;
    for (uint8_t* stray : {(*buffer)->data() - row, (*buffer)->data() + bytes + row - 1}) {
      EXPECT_EQ(*stray, 0);
      *stray = 1;
    }
    for (uint64_t i = 0; i < bytes; ++i) {
      ASSERT_EQ((*buffer)->data()[i], 0);
      ASSERT_EQ((*other)->data()[i], 0);
    }
  }
}

// Its margins, too.
TEST(RootBufferTest, MemoryThatIsUsedAgainIsZeroed) {
  constexpr uint64_t kBytes = 300'001, kRow = kBytes / 8;
  uint8_t* data = nullptr;
  for (int i = 0; i < 3; ++i) {
    auto buffer = RootBuffer::Allocate(kBytes);
    ASSERT_TRUE(buffer.ok());
    if (i > 0) {
      EXPECT_EQ((*buffer)->data(), data);
    }
    data = (*buffer)->data();
    uint8_t* const end = data + kBytes + kRow;
    for (uint8_t* at = data - kRow; at < end; ++at) ASSERT_EQ(*at, 0) << at - data;
    std::memset(data - kRow, 7, end - (data - kRow));
  }
  // Of another size, and of so many that some are given back.
  std::vector<std::unique_ptr<RootBuffer>> many;
  for (int i = 0; i < 20; ++i) {
    many.push_back(*RootBuffer::Allocate(kBytes + 4096 * (i % 12)));
    EXPECT_EQ(std::count(many.back()->data(), many.back()->data() + kBytes, 0), kBytes);
    std::memset(many.back()->data(), 7, kBytes);
    if (i == 10) many.clear();
  }
}

TEST(RootBufferTest, ThreadsShareIdleMemory) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong, t] {
      for (int i = 0; i < 500; ++i) {
        auto buffer = RootBuffer::Allocate(70'000 + 8192 * ((i * 7 + t) % 11));
        uint8_t* const data = (*buffer)->data();
        const uint64_t size = (*buffer)->size();
        if (static_cast<uint64_t>(std::count(data, data + size, 0)) != size) ++wrong;
        std::memset(data, t + 1, size);
        std::this_thread::yield();
        if (static_cast<uint64_t>(std::count(data, data + size, t + 1)) != size) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(RootBufferTest, RefusesImpossibleSizes) {
  for (uint64_t bytes : {uint64_t{1} << 46, uint64_t{1} << 60, ~uint64_t{0}}) {
    auto buffer = RootBuffer::Allocate(bytes);
    EXPECT_EQ(buffer.error().code, ErrorCode::kResourceExhausted) << buffer.error().text;
  }
}

}  // namespace
}  // namespace kiln
