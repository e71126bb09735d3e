#include "client_py/native/python_source.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

absl::optional<PythonBlock> Read(const std::string& text, int first = 0, bool nested = false) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    lines.push_back(std::string(line) + "\n");
  }
  return ReadPythonBlock(
      [&](int i) -> absl::optional<absl::string_view> {
        if (i >= static_cast<int>(lines.size())) return absl::nullopt;
        return lines[i];
      },
      first, nested);
}

std::string Form(const std::string& text, int first = 0, bool nested = false) {
  const auto block = Read(text, first, nested);
  return block.has_value() ? block->normal_form : "nothing";
}

constexpr char kPlain[] = "@k\ndef f(a):\n    b = a + 1\n    return b\n";

TEST(PythonSource, CommentsAndBlankLinesVanish) {
  const std::string changed =
      "x = 1\n\n@k  # a kernel\n# one\ndef f(a):  # two\n\n# at the left\n    b = a + 1   \n"
      "        # deeper\n    return b  # 'quoted\n\n# after\n\ny = 2\n";
  EXPECT_EQ(Form(changed, 2), kPlain);
  EXPECT_EQ(Form(kPlain), kPlain);
  const auto block = Read(changed, 2);
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ(block->lines, (std::vector<int>{2, 4, 7, 9}));
  EXPECT_EQ(block->end, 13);
}

TEST(PythonSource, CodeAndStringsStay) {
  const std::string base = "def f():\n    s = 'a # b'\n    return s\n";
  EXPECT_EQ(Form(base), base);
  EXPECT_NE(Form("def f():\n    s = 'a # c'\n    return s\n"), base);
  EXPECT_NE(Form("def f():\n    s = 'a  # b'\n    return s\n"), base);
  EXPECT_NE(Form("def f():\n  s = 'a # b'\n  return s\n"), base);
  EXPECT_NE(Form("def f():\n    s = 'a # b'\n    if s:\n        return s\n"), base);
}

TEST(PythonSource, KeepsStringsOverSeveralLines) {
  const std::string text =
      "def f():\n    \"\"\"One # two  \n\n  # three\nnot indented \\\"\"\" still\n\"\"\"\n    "
      "g()\nh()\n";
  EXPECT_EQ(Form(text), text.substr(0, text.size() - 4));
  EXPECT_EQ(Form("def f():\n    s = 'a\\\n# b'\n    g()\nh()"),
            "def f():\n    s = 'a\\\n# b'\n    g()\n");
  EXPECT_EQ(Form("def f():\n    s = r'\\'# '\n    t = ''  # c\n    u = ''''''\n"),
            "def f():\n    s = r'\\'# '\n    t = ''\n    u = ''''''\n");
}

TEST(PythonSource, BracketsAndBackslashesJoinLines) {
  EXPECT_EQ(Form("def f(\na,  # first\n\nb):\n    c = (a +\nb)\n    d = a + \\\nb\nx = 1\n"),
            "def f(\na,\nb):\n    c = (a +\nb)\n    d = a + \\\nb\n");
  EXPECT_EQ(Form("    @k\n    def f(self): return 1\n    x = 1\n", 0),
            "    @k\n    def f(self): return 1\n");
}

TEST(PythonSource, NestedQuotesOfNewerPythonsKeepComments) {
  const std::string text = "def f():\n    s = f'{d['#']}'  # one\n";
  EXPECT_EQ(Form(text, 0, true), text);
  EXPECT_EQ(Form("def f():\n    s = 'a'  # one\n", 0, true), "def f():\n    s = 'a'\n");
}

TEST(PythonSource, NoFunction) {
  EXPECT_EQ(Form("x = 1\ny = 2\n"), "nothing");
  EXPECT_EQ(Form("def f():\n    x = (1,\n"), "nothing");
  EXPECT_EQ(Form("def f():\n    x = 'abc\n    y\n"), "nothing");
  EXPECT_EQ(Form("def f():\n    x = 1)\n"), "nothing");
  EXPECT_EQ(Form("", 5), "nothing");
}

}  // namespace
}  // namespace kiln
