#include "common/base/child_stderr.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(ChildStderr, IsTheLastLine) {
  const ChildStderr said;
  EXPECT_EQ(said.LastLine(), "");
  const std::string text = "first\nLLVM ERROR: \x1b[1mno\n";
  ASSERT_EQ(write(said.fd(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_EQ(said.LastLine(), "LLVM ERROR: \\x1b[1mno");
}

TEST(ChildStderr, DoesNotGrow) {
  const ChildStderr said;
  const std::string much(1 << 20, 'x');
  while (write(said.fd(), much.data(), much.size()) > 0) {
  }
  EXPECT_EQ(errno, EPERM);
  EXPECT_LT(ftruncate(said.fd(), 1 << 20), 0);
  EXPECT_EQ(lseek(said.fd(), 0, SEEK_END), 16 << 10);
  EXPECT_LT(said.LastLine().size(), 500u);
}

}  // namespace
}  // namespace kiln
