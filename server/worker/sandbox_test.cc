#include "server/worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace kiln {
namespace {

// In a process of its own, since there is no way out: 0 if `act` answers true.
bool LockedIn(const std::function<bool()>& act) {
  const pid_t pid = fork();
  if (pid == 0) {
    LockIn();
    _exit(act() ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool HasOtherUsers() {
  std::ifstream map("/proc/self/uid_map");
  uint64_t inside = 0, outside = 0, count = 0;
  return map >> inside >> outside >> count && count > 65534;
}

bool Refused(long result) { return result < 0 && (errno == EPERM || errno == EACCES); }

class SandboxTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's process cannot be locked in";
#endif
    if (!SandboxGaps().empty()) GTEST_SKIP() << "this kernel has " << SandboxGaps();
  }
};

TEST_F(SandboxTest, GivesEverythingUp) {
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string gaps = LockIn();
    if (!gaps.empty()) dprintf(2, "%s\n", gaps.c_str());
    _exit(gaps.empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(SandboxTest, FilesAreOutOfReach) {
  const std::string path = testing::TempDir() + "/sandboxed";
  fclose(fopen(path.c_str(), "w"));
  chmod(path.c_str(), 0666);
  EXPECT_TRUE(LockedIn([&] { return Refused(open(path.c_str(), O_WRONLY)); }));
  EXPECT_TRUE(LockedIn([&] { return Refused(open(path.c_str(), O_RDWR | O_TRUNC)); }));
  EXPECT_TRUE(LockedIn([&] { return Refused(open(path.c_str(), O_RDONLY)); }));
  EXPECT_TRUE(
      LockedIn([&] { return Refused(open((path + "new").c_str(), O_WRONLY | O_CREAT, 0600)); }));
  EXPECT_TRUE(LockedIn([&] { return Refused(unlink(path.c_str())); }));
  EXPECT_TRUE(LockedIn([&] { return Refused(rename(path.c_str(), (path + "2").c_str())); }));
  EXPECT_TRUE(LockedIn([&] { return Refused(mkdir((path + "d").c_str(), 0700)); }));
  EXPECT_TRUE(LockedIn([&] { return Refused(open("/etc/passwd", O_RDONLY)); }));
  EXPECT_TRUE(LockedIn([&] { return Refused(open("/proc/self/mem", O_RDWR)); }));
  unlink(path.c_str());
}

TEST_F(SandboxTest, NoNetworkNoProgramsNoOthers) {
  EXPECT_TRUE(LockedIn([] { return Refused(socket(AF_INET, SOCK_STREAM, 0)); }));
  EXPECT_TRUE(LockedIn([] { return Refused(socket(AF_UNIX, SOCK_STREAM, 0)); }));
  EXPECT_TRUE(LockedIn([] { return Refused(execl("/bin/true", "true", nullptr)); }));
  EXPECT_TRUE(LockedIn([] { return Refused(fork()); }));
  EXPECT_TRUE(LockedIn([] { return Refused(kill(getppid(), 0)); }));
  EXPECT_TRUE(LockedIn([] { return Refused(setuid(0)); }));
}

TEST_F(SandboxTest, IsNotRoot) {
  if (!HasOtherUsers()) GTEST_SKIP() << "in this namespace there is no other user";
  EXPECT_TRUE(LockedIn([] { return geteuid() != 0 && getegid() != 0; }));
}

TEST_F(SandboxTest, NoNewCode) {
  EXPECT_TRUE(LockedIn([] {
    return mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
           MAP_FAILED;
  }));
  EXPECT_TRUE(LockedIn([] {
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page != MAP_FAILED && mprotect(page, 4096, PROT_READ | PROT_EXEC) < 0;
  }));
}

// What the compiler and the linker do.
TEST_F(SandboxTest, WorkGoesOn) {
  EXPECT_TRUE(LockedIn([] {
    int value = 0;
    std::thread([&value] { value = 1; }).join();
    return value == 1;
  }));
  EXPECT_TRUE(LockedIn([] {
    const int fd = memfd_create("object", MFD_CLOEXEC);
    if (write(fd, "text", 4) != 4) return false;
    const int again = open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC);
    return again >= 0 && mmap(nullptr, 4, PROT_READ, MAP_PRIVATE, again, 0) != MAP_FAILED;
  }));
  EXPECT_TRUE(LockedIn([] {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    const std::string path = "/proc/self/fd/" + std::to_string(ends[1]);
    const int again = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return again >= 0 && write(again, "x", 1) == 1;
  }));
  EXPECT_TRUE(LockedIn([] {
    return open("/usr/lib/x86_64-linux-gnu/libm.so.6", O_RDONLY | O_CLOEXEC) >= 0 ||
           open("/usr/lib64/libm.so.6", O_RDONLY | O_CLOEXEC) >= 0;
  }));
  EXPECT_TRUE(LockedIn([] {
    void* block = std::malloc(size_t{64} << 20);
    std::free(block);
    return block != nullptr;
  }));
}

}  // namespace
}  // namespace kiln
