#include "common/artifact/target.h"

#include "common/artifact/target_proto.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(TargetTest, TextsRoundTrip) {
  for (const char* text :
       {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "sm_75", "sm_100", "compute_80"}) {
    ASSERT_TRUE(Target::Parse(text).has_value()) << text;
    EXPECT_EQ(Target::Parse(text)->text(), text);
  }
  EXPECT_EQ(Target::Parse("x86-64-v1"), Target::Cpu(1));
  EXPECT_EQ(Target::Parse("x86-64-v3"), Target::Cpu(3));
  EXPECT_EQ(Target::Parse("sm_90"), Target::Cuda(90));
  EXPECT_EQ(Target::Parse("compute_80"), Target::CudaPtx(80));
  EXPECT_NE(Target::Cuda(80), Target::CudaPtx(80));
  EXPECT_EQ(Target().text(), "");
}

TEST(TargetTest, RefusesOtherTexts) {
  for (const char* bad :
       {"", "none", "native", "x86-64-v5", "X86_64_V3", "x86-64-v3 ", "sm_", "sm_9", "sm_09",
        "sm_9000", "sm_90a", "sm_-9", "SM_90", "compute_", "compute_80a", "compute80", "ptx_80"}) {
    EXPECT_FALSE(Target::Parse(bad).has_value()) << bad;
  }
}

TEST(TargetTest, HigherLevelsRunCodeOfLowerOnes) {
  EXPECT_TRUE(Target::Cpu(3).Runs(Target::Cpu(2)));
  EXPECT_TRUE(Target::Cpu(3).Runs(Target::Cpu(3)));
  EXPECT_FALSE(Target::Cpu(3).Runs(Target::Cpu(4)));
  EXPECT_FALSE(Target::Cpu(3).Runs(Target::Cuda(90)));
  EXPECT_FALSE(Target::Cpu(3).Runs(Target()));
  EXPECT_FALSE(Target().Runs(Target()));
}

TEST(TargetTest, DevicesRunMachineCodeOfTheirGenerationAndOlderPtx) {
  EXPECT_TRUE(Target::Cuda(89).Runs(Target::Cuda(89)));
  EXPECT_TRUE(Target::Cuda(89).Runs(Target::Cuda(80)));
  EXPECT_FALSE(Target::Cuda(86).Runs(Target::Cuda(89)));
  EXPECT_FALSE(Target::Cuda(90).Runs(Target::Cuda(89)));
  EXPECT_FALSE(Target::Cuda(120).Runs(Target::Cuda(103)));
  EXPECT_TRUE(Target::Cuda(121).Runs(Target::Cuda(120)));
  EXPECT_TRUE(Target::Cuda(120).Runs(Target::CudaPtx(90)));
  EXPECT_FALSE(Target::Cuda(75).Runs(Target::CudaPtx(80)));
  EXPECT_FALSE(Target::CudaPtx(80).Runs(Target::Cuda(80)));
  EXPECT_TRUE(Target::CudaPtx(80).Runs(Target::CudaPtx(80)));
  EXPECT_FALSE(Target::Cuda(90).Runs(Target::Cpu(3)));
}

TEST(TargetTest, NewDevicesHaveTheNewestPtxOfLlvm) {
  EXPECT_EQ(Target::Cuda(75).virtual_arch(), 75u);
  EXPECT_EQ(Target::Cuda(120).virtual_arch(), 90u);
  EXPECT_EQ(Target::CudaPtx(80).virtual_arch(), 80u);
}

TEST(TargetTest, LevelsThatDoNotBelongTogetherAreNone) {
  const auto target = [](uint32_t virtual_arch, uint32_t real_arch) {
    proto::Target message;
    message.mutable_cuda()->set_virtual_arch(virtual_arch);
    message.mutable_cuda()->set_real_arch(real_arch);
    return TargetOf(message);
  };
  EXPECT_EQ(target(90, 120), Target::Cuda(120));
  EXPECT_EQ(target(80, 0), Target::CudaPtx(80));
  EXPECT_TRUE(target(0, 0).empty());
  EXPECT_TRUE(target(80, 90).empty());
  EXPECT_TRUE(target(120, 120).empty());
}

TEST(TargetTest, MessagesRoundTrip) {
  for (const Target target : {Target::Cpu(1), Target::Cpu(4), Target::Cuda(75), Target::Cuda(90),
                              Target::Cuda(120), Target::CudaPtx(80)}) {
    proto::Target message;
    message.set_runtime_abi(7);
    SetTarget(target, &message);
    EXPECT_EQ(TargetOf(message), target);
    EXPECT_EQ(message.runtime_abi(), 7u);
  }
  EXPECT_TRUE(TargetOf(proto::Target()).empty());
}

// The numbers on the wire must not change: keys, entries and units of earlier builds contain them.
TEST(TargetTest, ReadsWhatEarlierBuildsWrote) {
  const std::string level[] = {"\x08\x01", "\x08\x02", "\x08\x03", "\x08\x04"};
  const std::string texts[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  for (int i = 0; i < 4; ++i) {
    proto::Target message;
    ASSERT_TRUE(message.ParseFromString(level[i]));
    EXPECT_EQ(TargetOf(message).text(), texts[i]);
    proto::Target written;
    SetTarget(*Target::Parse(texts[i]), &written);
    EXPECT_EQ(written.SerializeAsString(), level[i]);
  }
}

// A level that only another build knows is not a target here.
TEST(TargetTest, UnknownLevelsAreNone) {
  proto::Target message;
  for (const int level : {0, 5, -1}) {
    message.set_cpu(static_cast<proto::CpuLevel>(level));
    EXPECT_TRUE(TargetOf(message).empty()) << level;
  }
}

TEST(TargetTest, CompiledTargetsAreListedForMessages) {
  EXPECT_EQ(CompiledTargetTexts(), "x86-64-v2, x86-64-v3, x86-64-v4");
  EXPECT_EQ(CompiledCudaTargetTexts(),
            "sm_75, sm_80, sm_86, sm_87, sm_89, sm_90, sm_100, sm_103, sm_110, sm_120, sm_121, "
            "compute_75, compute_80, compute_86, compute_87, compute_89, compute_90");
}

}  // namespace
}  // namespace kiln
