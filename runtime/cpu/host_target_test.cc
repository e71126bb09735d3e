#include "runtime/cpu/host_target.h"

#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(HostTargetTest, AgreesWithTheCompilersOwnDetection) {
  Target expected = Target::Cpu(1);
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")) {
    expected = Target::Cpu(2);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("fma")) {
    expected = Target::Cpu(3);
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512cd")) {
    expected = Target::Cpu(4);
  }
  EXPECT_EQ(HostTarget().text(), expected.text());
}

}  // namespace
}  // namespace kiln
