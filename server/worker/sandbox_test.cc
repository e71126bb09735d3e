#include "server/worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace kiln {
namespace {

// Runs `act` in a confined child process, because the sandbox cannot be left. Whether it returned
// true.
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
  }
};

// The sandbox reports exactly the restrictions that this version of Landlock lacks.
TEST_F(SandboxTest, DropsAllRights) {
  const size_t expected = LandlockGaps(LandlockVersion()).size();
  const pid_t pid = fork();
  if (pid == 0) {
    const std::vector<Gap> gaps = LockIn();
    for (const Gap& gap : gaps) dprintf(2, "%s\n", gap.text.c_str());
    _exit(gaps.size() == expected ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(LandlockGaps, AreToldByVersion) {
  EXPECT_EQ(LandlockGaps(-1)[0].name, "landlock");
  EXPECT_EQ(LandlockGaps(0)[0].name, "landlock");
  for (int version = 1; version <= 5; ++version) {
    ASSERT_EQ(LandlockGaps(version).size(), 1u) << version;
    EXPECT_EQ(LandlockGaps(version)[0].name, "signals");
  }
  EXPECT_TRUE(LandlockGaps(6).empty());
}

// As root without the capability to change users, as with Kubernetes' "drop: ALL".
TEST_F(SandboxTest, ReportsThatItIsStillRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "not root";
  const pid_t pid = fork();
  if (pid == 0) {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2] = {};
    if (syscall(SYS_capset, &header, none) != 0) _exit(2);
    for (const Gap& gap : LockIn()) {
      if (gap.name == "root") _exit(0);
    }
    _exit(1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || !HasOtherUsers())) << status;
}

TEST_F(SandboxTest, FilesAreOutOfReach) {
  if (LandlockVersion() < 1) GTEST_SKIP() << "this kernel has no Landlock";
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

// Setting a descriptor's owner would let a worker send signals to other processes.
TEST_F(SandboxTest, NoSignalsToOthersByDescriptors) {
  for (const int command : {F_SETOWN, F_SETOWN_EX, F_SETSIG, F_SETFL, F_NOTIFY, F_SETLEASE}) {
    EXPECT_TRUE(LockedIn([command] { return Refused(fcntl(0, command, getppid())); })) << command;
  }
}

TEST_F(SandboxTest, NoThreads) {
  EXPECT_TRUE(LockedIn([] {
    pthread_t thread;
    return pthread_create(&thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr) != 0;
  }));
}

// No memory limit covers memory files. So they are few and small, and neither a mapping nor a
// message can keep one after it is closed.
TEST_F(SandboxTest, MemoryFilesAreBounded) {
  EXPECT_TRUE(LockedIn([] {
    uint64_t count = 0;
    while (count < 100 && memfd_create("file", MFD_CLOEXEC) >= 0) ++count;
    return count < kWorkerDescriptors && errno == EMFILE;
  }));
  EXPECT_TRUE(LockedIn([] {
    signal(SIGXFSZ, SIG_IGN);
    const int fd = memfd_create("file", MFD_CLOEXEC);
    const bool last = pwrite(fd, "x", 1, kWorkerFileBytes - 1) == 1;
    return last && pwrite(fd, "x", 1, kWorkerFileBytes) < 0 && errno == EFBIG &&
           ftruncate(fd, kWorkerFileBytes + 1) < 0;
  }));
  for (const int flags : {MAP_PRIVATE, MAP_SHARED, MAP_SHARED_VALIDATE}) {
    EXPECT_TRUE(LockedIn([flags] {
      const int fd = memfd_create("file", MFD_CLOEXEC);
      return ftruncate(fd, 4096) == 0 &&
             mmap(nullptr, 4096, PROT_READ, flags, fd, 0) == MAP_FAILED && errno == EPERM;
    }));
  }
  EXPECT_TRUE(LockedIn([] {
    const int flags = MAP_SHARED | MAP_ANONYMOUS;
    return mmap(nullptr, 4096, PROT_READ, flags, -1, 0) == MAP_FAILED && errno == EPERM;
  }));
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  EXPECT_TRUE(LockedIn([&ends] {
    msghdr message = {};
    return sendmsg(ends[0], &message, 0) < 0 && errno == ENOTSOCK && write(ends[0], "x", 1) == 1;
  }));
  close(ends[0]);
  close(ends[1]);
}

// The operations of the compiler and the linker.
TEST_F(SandboxTest, StillCompiles) {
  EXPECT_TRUE(LockedIn([] {
    const int fd = memfd_create("object", MFD_CLOEXEC);
    if (write(fd, "text", 4) != 4) return false;
    const int again = open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC);
    char bytes[4];
    return again >= 0 && read(again, bytes, sizeof bytes) == 4;
  }));
  EXPECT_TRUE(LockedIn([] {
    const int fd = memfd_create("output", MFD_CLOEXEC);
    const int own = fcntl(1, F_DUPFD_CLOEXEC, 3);
    return dup2(fd, 1) == 1 && write(1, "x", 1) == 1 && dup2(own, 1) == 1;
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
