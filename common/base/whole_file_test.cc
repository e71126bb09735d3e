#include "common/base/whole_file.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "gtest/gtest.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

class WholeFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char made[] = "/tmp/kiln-whole-XXXXXX";
    ASSERT_NE(mkdtemp(made), nullptr);
    folder_ = made;
    file_ = folder_ / "file";
    std::ofstream(file_) << "before";
    ASSERT_EQ(chmod(file_.c_str(), 0640), 0);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string Read(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t Files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_, file_;
};

TEST_F(WholeFileTest, ANewFileTakesThePlace) {
  std::ifstream reader(file_);
  ASSERT_TRUE(WriteWholeFile(file_, "after").ok());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "before");
  EXPECT_EQ(Read(file_), "after");
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms(0640));
  EXPECT_EQ(Files(), 1u);
  ASSERT_TRUE(WriteWholeFile(folder_ / "new", "first").ok());
  EXPECT_EQ(Read(folder_ / "new"), "first");
}

TEST_F(WholeFileTest, ALinkStays) {
  const fs::path link = folder_ / "link";
  fs::create_symlink(file_, link);
  ASSERT_TRUE(WriteWholeFile(link, "after").ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(Read(file_), "after");
}

TEST_F(WholeFileTest, APipeIsWrittenTo) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(WriteWholeFile(pipe, "after").ok());
  char got[8] = "";
  EXPECT_EQ(read(reader, got, sizeof got - 1), 5);
  EXPECT_STREQ(got, "after");
  close(reader);
}

TEST_F(WholeFileTest, AFailureLeavesThePreviousFile) {
  // A write beyond the limit fails as on a full disk.
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limit = {16, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const absl::Status full = WriteWholeFile(file_, std::string(64, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(full.message(),
            file_.string() +
                ": File too large (this process may write files of at most 16 bytes, see ulimit "
                "-f)");
  EXPECT_EQ(Read(file_), "before");
  EXPECT_EQ(Files(), 1u);
  const fs::path nowhere = folder_ / "none" / "file";
  EXPECT_EQ(WriteWholeFile(nowhere, "x").message(),
            nowhere.string() + ": No such file or directory");
}

// Takes root's right to write to every folder for its lifetime.
class WithoutOverride {
 public:
  WithoutOverride() {
    EXPECT_EQ(syscall(SYS_capget, &header_, rights_), 0);
    before_ = rights_[0].effective;
    Set(before_ & ~(1u << CAP_DAC_OVERRIDE));
  }
  ~WithoutOverride() { Set(before_); }

 private:
  void Set(uint32_t effective) {
    rights_[0].effective = effective;
    EXPECT_EQ(syscall(SYS_capset, &header_, rights_), 0);
  }

  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct rights_[2] = {};
  uint32_t before_ = 0;
};

TEST_F(WholeFileTest, WithoutAPlaceForANewFileItIsWrittenInPlace) {
  ASSERT_EQ(chmod(folder_.c_str(), 0500), 0);
  {
    const WithoutOverride as_users_are;
    const absl::Status written = WriteWholeFile(file_, "after");
    EXPECT_TRUE(written.ok()) << written;
    EXPECT_FALSE(WriteWholeFile(folder_ / "new", "x").ok());
  }
  ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
  EXPECT_EQ(Read(file_), "after");
  EXPECT_EQ(Files(), 1u);
}

}  // namespace
}  // namespace kiln
