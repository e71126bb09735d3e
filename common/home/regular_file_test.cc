#include "common/home/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

std::string PathOf(const std::string& name) { return ::testing::TempDir() + "/" + name; }

TEST(RegularFile, OpensFiles) {
  const std::string path = PathOf("file");
  const absl::StatusOr<Descriptor> made = OpenRegularFile(path, O_WRONLY | O_CREAT);
  ASSERT_TRUE(made.ok()) << made.status();
  struct stat info;
  ASSERT_EQ(fstat(made->get(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(write(made->get(), "417\n", 4), 4);
  EXPECT_EQ(NumberInFile(path), 417);
}

TEST(RegularFile, NamesWhatIsMissing) {
  const absl::Status status = OpenRegularFile(PathOf("missing"), O_RDONLY).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_NE(status.message().find("/missing"), std::string::npos) << status;
  EXPECT_EQ(NumberInFile(PathOf("missing")), 0);
}

TEST(RegularFile, DoesNotWaitForFifos) {
  const std::string path = PathOf("fifo");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  for (const int flags : {O_RDONLY, O_WRONLY | O_CREAT | O_TRUNC, O_RDWR}) {
    const absl::Status status = OpenRegularFile(path, flags).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_EQ(status.message(), path + " is not a regular file");
  }
  EXPECT_EQ(NumberInFile(path), 0);
}

TEST(RegularFile, RefusesDirectoriesAndDevices) {
  EXPECT_TRUE(absl::IsFailedPrecondition(
      OpenRegularFile(::testing::TempDir(), O_RDONLY | O_DIRECTORY).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenRegularFile("/dev/null", O_WRONLY).status()));
}

}  // namespace
}  // namespace kiln
