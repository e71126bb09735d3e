#include "common/base/file_limit.h"

#include <errno.h>
#include <sys/resource.h>

#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(FileLimit, NamesTheLimitThatIsAtFault) {
  EXPECT_EQ(WriteError(ENOSPC, "f").message(), "f: No space left on device");
  EXPECT_EQ(TooSmallFiles(), "");
  // For this process, so it is the last test.
  const rlimit limit = {4096, 8192};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_EQ(
      WriteError(EFBIG, "f").message(),
      "f: File too large (this process may write files of at most 4096 bytes, see ulimit -f)");
  EXPECT_EQ(WriteError(ENOSPC, "f").message(), "f: No space left on device");
  EXPECT_EQ(TooSmallFiles(),
            "; it may write files of at most 8192 bytes (ulimit -f), which is too few to compile");
}

}  // namespace
}  // namespace kiln
