#include "common/artifact/cpu_level.h"

#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(CpuLevel, NamesRoundTrip) {
  for (int i = proto::X86_64_V1; i <= proto::X86_64_V4; ++i) {
    const auto level = static_cast<proto::CpuLevel>(i);
    EXPECT_EQ(*ParseCpuLevel(CpuLevelName(level)), level);
  }
  EXPECT_EQ(*ParseCpuLevel("x86-64-v1"), proto::X86_64_V1);
  for (const char* bad : {"", "x86-64-v5", "native", "none"}) {
    EXPECT_FALSE(ParseCpuLevel(bad).ok()) << bad;
  }
}

TEST(CpuLevel, HostAgreesWithTheCompilersOwnDetection) {
  proto::CpuLevel expected = proto::X86_64_V1;
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")) {
    expected = proto::X86_64_V2;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("fma")) {
    expected = proto::X86_64_V3;
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512cd")) {
    expected = proto::X86_64_V4;
  }
  EXPECT_EQ(HostCpuLevel(), expected);
}

TEST(CpuLevel, AreNested) {
  EXPECT_TRUE(CpuLevelIncludes(proto::X86_64_V3, proto::X86_64_V2));
  EXPECT_TRUE(CpuLevelIncludes(proto::X86_64_V3, proto::X86_64_V3));
  EXPECT_FALSE(CpuLevelIncludes(proto::X86_64_V3, proto::X86_64_V4));
}

}  // namespace
}  // namespace kiln
