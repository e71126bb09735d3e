#include "server/cache/trim_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace kiln {
namespace {

constexpr uint64_t kFileBytes = 8192;

// A file of two blocks that was read `read` and written `written` seconds after the epoch.
// A name like those of clients' notes.
std::string Note(char digit) { return "/" + std::string(32, digit); }

std::string MakeFile(const std::string& path, time_t read, time_t written) {
  std::ofstream(path) << std::string(kFileBytes, 'x');
  const timespec times[2] = {{read, 0}, {written, 0}};
  EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  return path;
}

bool Exists(const std::string& path) {
  struct stat st;
  return lstat(path.c_str(), &st) == 0;
}

class TrimFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/trim-XXXXXX";
    dir_ = mkdtemp(&name[0]);
    ASSERT_EQ(mkdir((dir_ + "/sub").c_str(), 0700), 0);
  }
  std::string dir_;
};

TEST_F(TrimFilesTest, KeepsFilesWithinTheBudget) {
  const std::string a = MakeFile(dir_ + Note('a'), 1, 1),
                    b = MakeFile(dir_ + "/sub" + Note('b'), 2, 2);
  EXPECT_EQ(TrimFiles(dir_, 4 * kFileBytes), 0);
  EXPECT_TRUE(Exists(a) && Exists(b));
  EXPECT_EQ(TrimFiles(dir_ + "/absent", 0), 0);
}

TEST_F(TrimFilesTest, DeletesTheLeastRecentlyUsed) {
  const std::string read_lately = MakeFile(dir_ + "/sub" + Note('a'), 100, 1);
  const std::string oldest = MakeFile(dir_ + Note('b'), 2, 3);
  const std::string old = MakeFile(dir_ + "/sub" + Note('c'), 4, 4);
  const std::string written_lately = MakeFile(dir_ + Note('d'), 5, 90);
  // Room for three files; trimming leaves a tenth free.
  EXPECT_EQ(TrimFiles(dir_, 3 * kFileBytes), 2);
  EXPECT_FALSE(Exists(oldest) || Exists(old));
  EXPECT_TRUE(Exists(read_lately) && Exists(written_lately));
}

TEST_F(TrimFilesTest, DeletesOnlyFilesWithNamesOfClients) {
  const std::string letter = MakeFile(dir_ + "/letter.txt", 1, 1);
  EXPECT_EQ(TrimFiles(dir_, 0), 0);
  EXPECT_TRUE(Exists(letter));
}

TEST_F(TrimFilesTest, DoesNotTouchFoldersThatOthersCanWrite) {
  const std::string note = MakeFile(dir_ + "/sub" + Note('a'), 1, 1);
  ASSERT_EQ(chmod((dir_ + "/sub").c_str(), 0777), 0);
  EXPECT_EQ(TrimFiles(dir_, 0), 0);
  EXPECT_TRUE(Exists(note));
}

TEST_F(TrimFilesTest, FollowsNoLinks) {
  const std::string outside = MakeFile(testing::TempDir() + Note('f'), 1, 1);
  ASSERT_EQ(symlink(outside.c_str(), (dir_ + Note('a')).c_str()), 0);
  ASSERT_EQ(symlink(testing::TempDir().c_str(), (dir_ + "/folder").c_str()), 0);
  EXPECT_EQ(TrimFiles(dir_, 0), 0);
  EXPECT_TRUE(Exists(outside));
}

}  // namespace
}  // namespace kiln
