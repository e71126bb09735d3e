#include "runtime/cpu_device.h"

#include <cstring>

#include "gtest/gtest.h"
#include "runtime/test_artifact.h"

namespace kiln {
namespace {

TEST(CpuDeviceTest, LoadsAndLaunches) {
  KernelInfo info = TestInfo();
  AddSerial(&info, "add_one");
  EXPECT_EQ(CpuDevice().target(), info.target);
  auto from_bytes = CpuDevice().LoadBytes(TestKernelBytes(), info, {});
  ASSERT_TRUE(from_bytes.ok());
  uint64_t argument = 41, result = 0;
  EXPECT_TRUE((*from_bytes)->Launch(&argument, &result));
  EXPECT_EQ(result, 42u);
  info.target = Target::Cuda(90);
  EXPECT_EQ(CpuDevice().LoadBytes(TestKernelBytes(), info, {}).error().code,
            ErrorCode::kFailedPrecondition);
}

TEST(CpuDeviceTest, CopiesAndFills) {
  auto buffer = CpuDevice().Allocate(64);
  ASSERT_TRUE(buffer.ok());
  uint8_t* const data = (*buffer)->data();
  uint8_t seen[64], expected[64] = {};
  CpuDevice().CopyOut(seen, data, 64);
  EXPECT_EQ(std::memcmp(seen, expected, 64), 0) << "not zeroed";
  const uint64_t value = 0x0807060504030201;
  for (const uint32_t bytes : {1u, 2u, 4u, 8u}) {
    CpuDevice().Fill(data, &value, bytes, 64 / bytes);
    for (uint32_t i = 0; i < 64; ++i) expected[i] = static_cast<uint8_t>(i % bytes + 1);
    CpuDevice().CopyOut(seen, data, 64);
    EXPECT_EQ(std::memcmp(seen, expected, 64), 0) << bytes;
  }
  std::memset(expected, 9, 64);
  CpuDevice().CopyIn(data, expected, 64);
  EXPECT_EQ(std::memcmp(data, expected, 64), 0);
  EXPECT_EQ(CpuDevice().Allocate(uint64_t{1} << 60).error().code, ErrorCode::kResourceExhausted);
}

TEST(CpuDeviceTest, EventsAreInOrder) {
  const Device::Event before = CpuDevice().Record();
  EXPECT_TRUE(CpuDevice().Synchronize().ok());
  EXPECT_GE(CpuDevice().Seconds(before, CpuDevice().Record()), 0);
}

}  // namespace
}  // namespace kiln
