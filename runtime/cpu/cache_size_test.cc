#include "runtime/cpu/cache_size.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace kiln {
namespace {

// What the kernel says of a cache, as "32768K". 0: nothing.
uint64_t SizeIn(const std::filesystem::path& file) {
  std::ifstream in(file);
  uint64_t kib = 0;
  in >> kib;
  return kib << 10;
}

TEST(CacheSizeTest, AgreesWithTheOperatingSystem) {
  uint64_t largest = 0;
  for (int i = 0; i < 8; ++i) {
    const std::string index = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i);
    largest = std::max(largest, SizeIn(index + "/size"));
  }
  if (largest == 0) GTEST_SKIP() << "the system does not tell";
  EXPECT_EQ(LargestCacheBytes(), largest);
}

}  // namespace
}  // namespace kiln
