#include "runtime/cpu/glibc.h"

#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(GlibcTest, ReadsVersions) {
  EXPECT_EQ(ParseGlibc("2.36"), 36u);
  EXPECT_EQ(ParseGlibc("2.2.5"), 2u);
  EXPECT_EQ(ParseGlibc("2.41.9000"), 41u);
  for (const char* other : {"", "2", "2.", "3.1", "2.x", "2.3x", "2.-1", "musl 1.2"}) {
    EXPECT_FALSE(ParseGlibc(other).has_value()) << other;
  }
}

TEST(GlibcTest, ThisMachineHasTheMathFunctionsOfTheFirstVersion) { EXPECT_GE(HostGlibc(), 22u); }

TEST(GlibcTest, NamesWhatAnOlderOneLacks) {
  const LibraryVersions needs = {{"libm.so.6", "GLIBC_2.2.5"}, {"libmvec.so.1", "GLIBC_2.35"}};
  EXPECT_EQ(MissingFromGlibc(needs, 34), "libmvec.so.1 of glibc 2.35");
  EXPECT_EQ(MissingFromGlibc(needs, 35), "");
  EXPECT_EQ(MissingFromGlibc({}, 0), "");
  EXPECT_EQ(MissingFromGlibc({{"libother.so.1", "OTHER_9.9"}}, 34), "");
}

}  // namespace
}  // namespace kiln
