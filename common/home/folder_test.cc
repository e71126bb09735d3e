#include "common/home/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace kiln {
namespace {

constexpr uid_t kSomebody = 12345;

class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    std::string pattern = testing::TempDir() + "/folder-XXXXXX";
    dir_ = std::filesystem::canonical(mkdtemp(pattern.data()));
  }
  std::string MakeDirectory(const std::string& name, mode_t mode = 0700) const {
    std::string path = dir_ + "/" + name;
    EXPECT_EQ(mkdir(path.c_str(), 0700), 0);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  std::string MakeFile(const std::string& name, mode_t mode = 0600) const {
    std::string path = dir_ + "/" + name;
    std::ofstream(path) << "text";
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  // False if this needs root.
  static bool GiveAway(const std::string& path) {
    return lchown(path.c_str(), kSomebody, kSomebody) == 0;
  }
  static std::string Why(const std::string& path) {
    return std::string(Folder::Open(path)->own().message());
  }
  std::string dir_;
};

TEST_F(FolderTest, IsOwnWhereOthersMayNotWrite) {
  for (const mode_t mode : {0700, 0755, 0500}) {
    EXPECT_EQ(Why(MakeDirectory(std::to_string(mode), mode)), "");
  }
  const std::string open = MakeDirectory("open", 0777), sticky = MakeDirectory("sticky", 01777);
  EXPECT_EQ(Why(open), "others may write to " + open + " (mode 0777)");
  EXPECT_EQ(Why(sticky), "others may write to " + sticky + " (mode 1777)");
}

TEST_F(FolderTest, AGroupOfOthersIsOthers) {
  const std::string path = MakeDirectory("team", 0770);
  if (chown(path.c_str(), geteuid(), kSomebody) != 0) GTEST_SKIP() << "only root can give away";
  EXPECT_EQ(Why(path), "others may write to " + path + " (mode 0770)");
}

TEST_F(FolderTest, AnotherUsersIsNotOwn) {
  const std::string path = MakeDirectory("theirs");
  if (!GiveAway(path)) GTEST_SKIP() << "only root can give away";
  EXPECT_EQ(Why(path), path + " belongs to user 12345");
  EXPECT_EQ(ReadOwnFile(MakeFile("mine"), 100).value_or(""), "text");
  const std::string file = MakeFile("file");
  ASSERT_TRUE(GiveAway(file));
  EXPECT_EQ(ReadOwnFile(file, 100).status().message(),
            file + " belongs to user 12345: make it yours alone (chown, chmod go-w)");
}

TEST_F(FolderTest, FilesInAForeignFolderAreForeign) {
  MakeDirectory("open", 0777);
  MakeDirectory("open/inner");
  MakeFile("open/inner/file");
  const Folder outer = *Folder::Open(dir_ + "/open");
  const Folder inner = *outer.Enter("inner");
  EXPECT_FALSE(inner.own().ok());
  EXPECT_EQ(inner.OpenFile("file", O_RDONLY)->own, outer.own());
}

TEST_F(FolderTest, FollowsNoLinks) {
  MakeDirectory("real");
  MakeFile("real/file");
  ASSERT_EQ(symlink("real", (dir_ + "/link").c_str()), 0);
  ASSERT_EQ(symlink("file", (dir_ + "/real/link").c_str()), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(Folder::Open(dir_ + "/link").status()));
  const Folder folder = *Folder::Open(dir_);
  EXPECT_TRUE(absl::IsFailedPrecondition(folder.Enter("link").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(folder.Make("link").status()));
  EXPECT_TRUE(folder.Follow("link").ok());
  const Folder real = *folder.Enter("real");
  EXPECT_TRUE(real.OpenFile("file", O_RDONLY).ok());
  for (const int flags : {O_RDONLY, O_WRONLY | O_APPEND | O_CREAT}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(real.OpenFile("link", flags).status()));
  }
  EXPECT_TRUE(absl::IsNotFound(folder.Enter("none").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(folder.OpenFile("real", O_RDONLY).status()));
}

TEST_F(FolderTest, RefersToTheSameFolderAfterRenames) {
  MakeDirectory("a");
  MakeFile("a/file");
  const Folder folder = *Folder::Open(dir_ + "/a");
  ASSERT_EQ(rename((dir_ + "/a").c_str(), (dir_ + "/b").c_str()), 0);
  MakeDirectory("a");
  EXPECT_TRUE(folder.OpenFile("file", O_RDONLY).ok());
}

TEST_F(FolderTest, MakesPrivateDirectories) {
  const Folder folder = *Folder::Open(dir_);
  EXPECT_EQ(folder.Make("new")->info().st_mode & 0777, 0700u);
  EXPECT_TRUE(folder.Make("new").ok());
}

TEST_F(FolderTest, MakesUsableFilesWhateverTheUmask) {
  const Folder folder = *Folder::Open(dir_);
  const mode_t before = umask(0777);
  const absl::StatusOr<Folder> made = folder.Make("masked");
  const absl::StatusOr<FolderFile> file = folder.OpenFile("file", O_WRONLY | O_CREAT);
  umask(before);
  EXPECT_EQ(made->info().st_mode & 0777, 0700u);
  EXPECT_EQ(file->info.st_mode & 0777, 0600u);
  EXPECT_EQ(folder.OpenFile("file", O_RDONLY)->info.st_mode & 0777, 0600u);
  // Its user's choice, which opening it does not change.
  const std::string closed = MakeFile("closed", 0400);
  EXPECT_EQ(folder.OpenFile("closed", O_RDONLY)->info.st_mode & 0777, 0400u);
}

TEST_F(FolderTest, RefusesAPathThatOthersCanChange) {
  const std::string open = MakeDirectory("open", 0777);
  MakeDirectory("open/home");
  EXPECT_EQ(CheckWay(open + "/home").message(),
            "others may write to " + open + " (mode 0777) and so exchange " + open + "/home");
  EXPECT_FALSE(CheckWay(open + "/none").ok());
  // In a sticky directory only the owner can rename a file.
  ASSERT_EQ(chmod(open.c_str(), 01777), 0);
  EXPECT_TRUE(CheckWay(open + "/home").ok());
  EXPECT_TRUE(CheckWay(dir_ + "/none/at/all").ok());
}

TEST_F(FolderTest, RefusesAPathThatAnotherUserMade) {
  const std::string theirs = MakeDirectory("theirs", 0755);
  MakeDirectory("theirs/home");
  const std::string sticky = MakeDirectory("sticky", 01777);
  const std::string link = sticky + "/link";
  ASSERT_EQ(symlink(dir_.c_str(), link.c_str()), 0);
  EXPECT_TRUE(CheckWay(link + "/home").ok());
  if (!GiveAway(theirs)) GTEST_SKIP() << "only root can give away";
  EXPECT_EQ(CheckWay(theirs + "/home").message(),
            theirs + " belongs to user 12345, who can exchange " + theirs + "/home");
  ASSERT_TRUE(GiveAway(link));
  EXPECT_EQ(CheckWay(link + "/home").message(),
            "the link " + link + " belongs to user 12345, who can exchange " + link + "/home");
}

TEST_F(FolderTest, FollowsAPathThroughLinks) {
  const std::string open = MakeDirectory("open", 0777);
  MakeDirectory("open/home");
  MakeDirectory("mine");
  ASSERT_EQ(symlink("../open/home", (dir_ + "/mine/home").c_str()), 0);
  ASSERT_EQ(symlink("round", (dir_ + "/mine/round").c_str()), 0);
  EXPECT_FALSE(CheckWay(dir_ + "/mine/home").ok());
  EXPECT_FALSE(CheckWay(dir_ + "/mine/home/deeper").ok());
  EXPECT_TRUE(CheckWay(dir_ + "/mine/../mine/./x").ok());
  EXPECT_FALSE(CheckWay(dir_ + "/mine/round").ok());
}

TEST_F(FolderTest, ReadsOnlyOwnFiles) {
  EXPECT_EQ(*ReadOwnFile(MakeFile("good"), 4), "text");
  EXPECT_TRUE(absl::IsInvalidArgument(ReadOwnFile(dir_ + "/good", 3).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadOwnFile(dir_, 100).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadOwnFile(dir_ + "/none", 100).status()));
  const std::string open = MakeFile("open", 0666);
  EXPECT_EQ(ReadOwnFile(open, 100).status(),
            absl::PermissionDeniedError("others may write to " + open +
                                        " (mode 0666): make it yours alone (chown, chmod go-w)"));
}

}  // namespace
}  // namespace kiln
