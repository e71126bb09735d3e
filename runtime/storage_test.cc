#include "runtime/storage.h"

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

TEST(RootBufferTest, RefusesImpossibleSizes) {
  for (uint64_t bytes : {uint64_t{1} << 46, uint64_t{1} << 60, ~uint64_t{0}}) {
    auto buffer = RootBuffer::Allocate(bytes);
    EXPECT_EQ(buffer.error().code, ErrorCode::kResourceExhausted) << buffer.error().text;
  }
}

}  // namespace
}  // namespace kiln
