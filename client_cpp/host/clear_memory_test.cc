#include "client_cpp/host/clear_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/storage.h"

namespace kiln {
namespace {

constexpr uint64_t kBytes = uint64_t{64} << 20;

std::unique_ptr<RootBuffer> Allocated() {
  Result<std::unique_ptr<RootBuffer>> buffer = RootBuffer::Allocate(kBytes);
  return buffer.ok() ? *std::move(buffer) : nullptr;
}

uint64_t PagesInMemory(const RootBuffer& buffer) {
  std::vector<unsigned char> pages(kBytes / 4096);
  EXPECT_EQ(mincore(buffer.data(), kBytes, pages.data()), 0);
  return std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; });
}

bool IsZero(const RootBuffer& buffer) {
  return std::all_of(buffer.data(), buffer.data() + kBytes, [](uint8_t byte) { return byte == 0; });
}

TEST(ClearMemoryTest, ClearsWhatWasWrittenAndTouchesNoOtherPage) {
  const std::unique_ptr<RootBuffer> buffer = Allocated();
  ASSERT_NE(buffer, nullptr);
  // Beyond the batches in which the pages are read, and at both ends.
  for (const uint64_t at : {uint64_t{0}, kBytes / 2 - 1, kBytes / 2, kBytes - 1}) {
    buffer->data()[at] = 1;
  }
  const uint64_t pages = PagesInMemory(*buffer);
  EXPECT_LT(pages, kBytes / 4096);
  ClearMemory(buffer->data(), kBytes);
  EXPECT_EQ(PagesInMemory(*buffer), pages);
  EXPECT_TRUE(IsZero(*buffer));
}

TEST(ClearMemoryTest, LeavesTheBytesAroundIt) {
  const std::unique_ptr<RootBuffer> buffer = Allocated();
  ASSERT_NE(buffer, nullptr);
  std::fill_n(buffer->data(), kBytes, uint8_t{7});
  constexpr uint64_t kBegin = 4096 + 5, kEnd = kBytes - 4096 - 3;
  ClearMemory(buffer->data() + kBegin, kEnd - kBegin);
  for (uint64_t i = 0; i < kBytes; ++i) {
    ASSERT_EQ(buffer->data()[i], i < kBegin || i >= kEnd ? 7 : 0) << i;
  }
}

TEST(ClearMemoryTest, ClearsSmallMemory) {
  std::vector<uint8_t> bytes(100, 7);
  ClearMemory(bytes.data() + 1, 98);
  EXPECT_EQ(bytes[0], 7);
  EXPECT_EQ(bytes[99], 7);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 0), 98);
}

}  // namespace
}  // namespace kiln
