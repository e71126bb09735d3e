#include "common/home/home.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "common/home/folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

std::string Scratch() {
  std::string pattern = testing::TempDir() + "/home-XXXXXX";
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  return pattern;
}

TEST(Home, TakesArgumentThenEnvironmentThenUserDirectory) {
  setenv("HOME", "/nowhere", 1);
  unsetenv("KILN_HOME");
  EXPECT_EQ(Home::Find()->dir(), "/nowhere/.cache/kiln");
  setenv("KILN_HOME", "/elsewhere/", 1);
  EXPECT_EQ(Home::Find()->dir(), "/elsewhere");
  EXPECT_EQ(Home::Find("/given//x/../y")->dir(), "/given/y");
  unsetenv("KILN_HOME");
}

TEST(Home, TwoNamesOfADirectoryAreTheSameHome) {
  const std::string dir = Scratch();
  ASSERT_EQ(mkdir((dir + "/real").c_str(), 0700), 0);
  ASSERT_EQ(symlink("real", (dir + "/link").c_str()), 0);
  ASSERT_EQ(chdir(dir.c_str()), 0);
  const Home real = *Home::Find(dir + "/real");
  for (const std::string& name :
       {dir + "/link", dir + "/real/", std::string("real"), std::string("./link/../real")}) {
    EXPECT_EQ(Home::Find(name)->dir(), real.dir()) << name;
    EXPECT_EQ(*Home::Find(name)->SocketPath(), *real.SocketPath()) << name;
  }
}

TEST(Home, PathsAreBelowIt) {
  const Home home = *Home::Find("/h");
  const Place place(Sha256Of(""));
  EXPECT_EQ(home.EntryPath(place), "/h/cache/e3/" + place.Hex() + ".so");
  EXPECT_EQ(home.TempDir(), "/h/cache/tmp");
}

TEST(Home, SocketPathFitsAndDiffersByHome) {
  const std::string deep = "/" + std::string(200, 'd');
  EXPECT_LT(Home::Find(deep)->SocketPath()->size(), 108u);
  EXPECT_NE(*Home::Find("/a")->SocketPath(), *Home::Find("/b")->SocketPath());
}

TEST(Home, CreateMakesPrivateDirectoriesAndMayRunTwice) {
  const std::string dir = Scratch() + "/deep/er";
  const Home home = *Home::Find(dir);
  ASSERT_TRUE(home.Create().ok());
  ASSERT_TRUE(home.Create().ok());
  struct stat info;
  ASSERT_EQ(stat(home.TempDir().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST(Home, CreateDoesNotDependOnTheUmask) {
  for (const mode_t mask : {0777, 0700, 0300, 0022}) {
    const std::string above = Scratch() + "/above", dir = above + "/home";
    const Home home = *Home::Find(dir);
    const mode_t before = umask(mask);
    const absl::Status status = home.Create();
    umask(before);
    ASSERT_TRUE(status.ok()) << status;
    for (const std::string& path : {above, dir, home.CacheDir(), home.TempDir()}) {
      struct stat info;
      ASSERT_EQ(stat(path.c_str(), &info), 0);
      EXPECT_EQ(info.st_mode & 0777, 0700u) << path << " under umask " << mask;
    }
  }
}

TEST(Home, CreateNamesTheObstacle) {
  const std::string file = Scratch() + "/file";
  fclose(fopen(file.c_str(), "w"));
  EXPECT_FALSE(Home::Find(file)->Create().ok());
  const absl::Status status = Home::Find(file + "/sub")->Create();
  EXPECT_NE(status.message().find(Home::Find(file)->dir()), std::string::npos) << status;
}

TEST(Home, AdvisesWhatHelps) {
  const std::string others = Scratch() + "/others";
  ASSERT_EQ(mkdir(others.c_str(), 0777), 0);
  ASSERT_EQ(chmod(others.c_str(), 0777), 0);
  absl::Status status = Home::Find(others)->CheckIsOwn();
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(kMakeItYours));
  status = Home::Find(Scratch() + "/" + std::string(300, 'x'))->CheckIsOwn();
  EXPECT_THAT(std::string(status.message()),
              testing::EndsWith("too long: set KILN_HOME to a directory of your own"));
}

}  // namespace
}  // namespace kiln
