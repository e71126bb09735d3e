#include "server/worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kiln {
namespace {

// ---- files: Landlock

// Of linux/landlock.h, whose newer parts our headers lack.
struct Ruleset {
  uint64_t files = 0;
  uint64_t network = 0;  // from version 4
  uint64_t scopes = 0;   // from version 6
};
struct PathRule {
  uint64_t allowed;
  int32_t directory;
} __attribute__((packed));
constexpr int kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr uint64_t kReadFile = 1 << 2;

// Where the linker finds the libraries that kernels call.
constexpr const char* kLibraries[] = {"/lib", "/lib64", "/usr/lib", "/usr/lib64"};

int LandlockVersion() {
  constexpr unsigned kAskVersion = 1;
  return static_cast<int>(syscall(kCreateRuleset, nullptr, 0, kAskVersion));
}

// Everything that version knows is forbidden, but for reading libraries.
bool ForbidFiles(int version) {
  if (version < 1) return false;
  constexpr int kRights[] = {13, 14, 15, 15, 16};  // bits by version; then as the last
  Ruleset ruleset;
  ruleset.files = (uint64_t{1} << kRights[version < 5 ? version - 1 : 4]) - 1;
  size_t size = sizeof ruleset.files;
  if (version >= 4) {
    ruleset.network = 3;  // bind and connect TCP
    size = offsetof(Ruleset, scopes);
  }
  if (version >= 6) {
    ruleset.scopes = 3;  // abstract sockets and signals of others
    size = sizeof ruleset;
  }
  const int fd = static_cast<int>(syscall(kCreateRuleset, &ruleset, size, 0));
  if (fd < 0) return false;
  for (const char* path : kLibraries) {
    const PathRule rule = {kReadFile, open(path, O_PATH | O_CLOEXEC)};
    constexpr int kPathBeneath = 1;
    if (rule.directory < 0) continue;
    syscall(kAddRule, fd, kPathBeneath, &rule, 0);
    close(rule.directory);
  }
  const bool done = syscall(kRestrictSelf, fd, 0) == 0;
  close(fd);
  return done;
}

// ---- rights: user and capabilities

bool DropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

// Root becomes a user of no files and no other processes.
bool LeaveRoot() {
  if (geteuid() != 0) return true;
  // Far above what systems give to people and services; the process's own, so that not
  // even another worker may trace it. A container may know fewer: then nobody.
  const uid_t own = 0x70000000u + static_cast<uid_t>(getpid());
  bool left = false, others = false;
  for (const uid_t id : {own, uid_t{65534}}) {
    (void)!setgroups(0, nullptr);  // a container may forbid it and have no groups to leave
    left = setresgid(id, id, id) == 0 && setresuid(id, id, id) == 0;
    if (left) break;
    others = others || errno != EINVAL;
  }
  // Changing users took these back. The linker opens its own pipes below /proc/self, which
  // is the process's own only if it is dumpable.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // Where there is no other user, root is the name of the one who made the namespace.
  return left || !others;
}

// ---- system calls: seccomp

enum Condition { kAlways, kOnSelf, kOnZero, kThread, kNotExecutable, kAbsent };

struct SystemCall {
  unsigned number;
  Condition condition = kAlways;
};

// What a compilation needs. All others fail with EPERM.
constexpr SystemCall kAllowed[] = {
    // frames, pipes, memory files, libraries; Landlock says which paths
    {SYS_read},
    {SYS_write},
    {SYS_readv},
    {SYS_writev},
    {SYS_pread64},
    {SYS_pwrite64},
    {SYS_sendmsg},
    {SYS_recvmsg},
    {SYS_sendto},
    {SYS_recvfrom},
    {SYS_shutdown},
    {SYS_poll},
    {SYS_ppoll},
    {SYS_close},
    {SYS_close_range},
    {SYS_dup},
    {SYS_dup2},
    {SYS_dup3},
    {SYS_fcntl},
    {SYS_lseek},
    {SYS_ftruncate},
    {SYS_fadvise64},
    {SYS_memfd_create},
    {SYS_pipe},
    {SYS_pipe2},
    {SYS_open},
    {SYS_openat},
    {SYS_stat},
    {SYS_lstat},
    {SYS_fstat},
    {SYS_newfstatat},
    {SYS_statx},
    {SYS_statfs},
    {SYS_fstatfs},
    {SYS_access},
    {SYS_faccessat},
    {SYS_faccessat2},
    {SYS_readlink},
    {SYS_readlinkat},
    {SYS_getcwd},
    // memory
    {SYS_brk},
    {SYS_mmap, kNotExecutable},
    {SYS_mprotect, kNotExecutable},
    {SYS_munmap},
    {SYS_mremap},
    {SYS_madvise},
    {SYS_membarrier},
    // threads; clone3 hides its flags behind a pointer, so libc is told to use clone
    {SYS_clone, kThread},
    {SYS_clone3, kAbsent},
    {SYS_futex},
    {SYS_set_robust_list},
    {SYS_rseq},
    {SYS_sched_yield},
    {SYS_sched_getaffinity},
    {SYS_getcpu},
    {SYS_exit},
    {SYS_exit_group},
    {SYS_restart_syscall},
    // signals to itself: abort() and the end of a test's worker
    {SYS_tgkill, kOnSelf},
    {SYS_kill, kOnSelf},
    {SYS_rt_sigaction},
    {SYS_rt_sigprocmask},
    {SYS_rt_sigreturn},
    {SYS_sigaltstack},
    // looking at itself and at the clock
    {SYS_getpid},
    {SYS_gettid},
    {SYS_getppid},
    {SYS_getuid},
    {SYS_geteuid},
    {SYS_getgid},
    {SYS_getegid},
    {SYS_getrlimit},
    {SYS_prlimit64, kOnZero},
    {SYS_getrusage},
    {SYS_times},
    {SYS_sysinfo},
    {SYS_uname},
    {SYS_getrandom},
    {SYS_clock_gettime},
    {SYS_clock_getres},
    {SYS_clock_nanosleep},
    {SYS_nanosleep},
    {SYS_gettimeofday},
    {SYS_time},
};

constexpr uint32_t Argument(int index) {  // the low half; none of ours has a high one
  return offsetof(seccomp_data, args) + 8 * index;
}

class Filter {
 public:
  Filter() {
    Load(offsetof(seccomp_data, arch));
    If(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
    Return(SECCOMP_RET_ERRNO | ENOSYS);
    Load(offsetof(seccomp_data, nr));
    for (const SystemCall& call : kAllowed) Add(call);
    // Also the 32-bit pointer calls (numbers from 2^30), which are none of these.
    Return(SECCOMP_RET_ERRNO | EPERM);
  }

  bool Install() {
    const sock_fprog program = {static_cast<uint16_t>(code_.size()), code_.data()};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  }

 private:
  void Add(const SystemCall& call) {
    const uint32_t pid = static_cast<uint32_t>(getpid());
    switch (call.condition) {
      case kAlways:
      case kAbsent:
        If(BPF_JEQ, call.number, 0, 1);
        Return(call.condition == kAlways ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | ENOSYS);
        return;
      case kOnSelf:
        return AddTest(call.number, 0, BPF_JEQ, pid, true);
      case kOnZero:
        return AddTest(call.number, 0, BPF_JEQ, 0, true);
      case kThread:
        return AddTest(call.number, 0, BPF_JSET, CLONE_THREAD, true);
      case kNotExecutable:
        return AddTest(call.number, 2, BPF_JSET, PROT_EXEC, false);
    }
  }
  // Allowed if the test of an argument comes out as `wanted`.
  void AddTest(uint32_t number, int argument, uint16_t test, uint32_t value, bool wanted) {
    If(BPF_JEQ, number, 0, 4);
    Load(Argument(argument));
    If(test, value, wanted ? 0 : 1, wanted ? 1 : 0);
    Return(SECCOMP_RET_ALLOW);
    Return(SECCOMP_RET_ERRNO | EPERM);
  }
  void Load(uint32_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }
  void If(uint16_t test, uint32_t value, uint8_t then, uint8_t otherwise) {
    code_.push_back(
        BPF_JUMP(static_cast<uint16_t>(BPF_JMP | test | BPF_K), value, then, otherwise));
  }
  void Return(uint32_t action) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, action)); }

  std::vector<sock_filter> code_;
};

bool HasSeccomp() {
  const uint32_t action = SECCOMP_RET_ERRNO;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

constexpr char kNoLandlock[] = "no Landlock: files are not out of reach";
constexpr char kNoSeccomp[] = "no seccomp: all system calls are allowed";

}  // namespace

std::string LockIn() {
  std::vector<std::string> gaps;
  // Descriptors and the size of memory files; paths are Landlock's.
  const rlimit descriptors = {64, 64}, file_bytes = {uint64_t{1} << 30, uint64_t{1} << 30};
  setrlimit(RLIMIT_NOFILE, &descriptors);
  setrlimit(RLIMIT_FSIZE, &file_bytes);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) gaps.push_back("no no_new_privs");
  if (!ForbidFiles(LandlockVersion())) gaps.push_back(kNoLandlock);
  if (!LeaveRoot()) gaps.push_back("still root: no other user id may be taken");
  if (!DropCapabilities()) gaps.push_back("capabilities are kept");
  if (!Filter().Install()) gaps.push_back(kNoSeccomp);
  return absl::StrJoin(gaps, "; ");
}

std::string SandboxGaps() {
  std::vector<std::string> gaps;
  if (LandlockVersion() < 1) gaps.push_back(kNoLandlock);
  if (!HasSeccomp()) gaps.push_back(kNoSeccomp);
  return absl::StrJoin(gaps, "; ");
}

}  // namespace kiln
