#include "common/base/plain_text.h"

#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(OneLine, EndsNoLineAndMovesNoCursor) {
  EXPECT_EQ(OneLine("k\n2026-01-01 kilnd[1] root\r\x1b[31m\x7f", 200),
            "k\\n2026-01-01 kilnd[1] root\\x0d\\x1b[31m\\x7f");
  EXPECT_EQ(OneLine("a\tb\xc2\x9b"
                    "31m",
                    200),
            "a\\tb\\xc2\\x9b31m");
  EXPECT_EQ(OneLine("größer 行 𝄞", 200), "größer 行 𝄞");
}

TEST(OneLine, IsUtf8) {
  EXPECT_EQ(OneLine("a\xff\xfe\xc3", 200), "a\\xff\\xfe\\xc3");
  EXPECT_EQ(OneLine("\xed\xa0\x80", 200), "\\xed\\xa0\\x80");
}

TEST(OneLine, IsCutBetweenCharacters) {
  EXPECT_EQ(OneLine("äää", 3), "ä... (4 bytes more)");
  EXPECT_EQ(OneLine(std::string(10'000'000, 'x'), 2), "xx... (9999998 bytes more)");
  EXPECT_EQ(CutText("äää", 6), "äää");
  EXPECT_EQ(CutText("𝄞", 3), "");
}

TEST(PlainText, KeepsLines) { EXPECT_EQ(PlainText("a\n\tb\x1b", 200), "a\n\tb\\x1b"); }

}  // namespace
}  // namespace kiln
