#include "common/home/programs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

class ProgramsTest : public ::testing::Test {
 protected:
  ProgramsTest() : root_(std::string(std::getenv("TEST_TMPDIR")) + "/packages") {
    fs::remove_all(root_);
  }
  std::string Make(const std::string& path) {
    const fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "program";
    fs::permissions(file, fs::perms::owner_all);
    return file.string();
  }
  std::string Folder() const { return (root_ / "kiln/bin").string(); }

  const fs::path root_;
};

TEST_F(ProgramsTest, TheFolderComesFirst) {
  Make("kiln_compiler/bin/kiln-worker");
  const std::string own = Make("kiln/bin/kiln-worker");
  EXPECT_EQ(ProgramIn(Folder(), "kiln-worker"), own);
}

TEST_F(ProgramsTest, TheCompilersPackageIsBesideThePackage) {
  Make("kiln/bin/kilnd");
  const std::string worker = Make("kiln_compiler/bin/kiln-worker");
  EXPECT_EQ(ProgramIn(Folder(), "kiln-worker"), worker);
}

TEST_F(ProgramsTest, AMissingProgramIsExpectedInTheFolder) {
  EXPECT_EQ(ProgramIn(Folder(), "kiln-worker"), Folder() + "/kiln-worker");
}

}  // namespace
}  // namespace kiln
