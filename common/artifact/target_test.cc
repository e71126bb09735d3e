#include "common/artifact/target.h"

#include "common/artifact/target_proto.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(TargetTest, TextsRoundTrip) {
  for (const char* text : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "sm_75", "sm_100"}) {
    ASSERT_TRUE(Target::Parse(text).has_value()) << text;
    EXPECT_EQ(Target::Parse(text)->text(), text);
  }
  EXPECT_EQ(Target::Parse("x86-64-v1"), Target::Cpu(1));
  EXPECT_EQ(Target::Parse("x86-64-v3"), Target::Cpu(3));
  EXPECT_EQ(Target::Parse("sm_90"), Target::Cuda(90));
  EXPECT_EQ(Target().text(), "");
}

TEST(TargetTest, RefusesOtherTexts) {
  for (const char* bad : {"", "none", "native", "x86-64-v5", "X86_64_V3", "x86-64-v3 ", "sm_",
                          "sm_9", "sm_09", "sm_9000", "sm_90a", "sm_-9", "SM_90"}) {
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

TEST(TargetTest, MessagesRoundTrip) {
  for (const Target target : {Target::Cpu(1), Target::Cpu(4), Target::Cuda(90)}) {
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
}

}  // namespace
}  // namespace kiln
