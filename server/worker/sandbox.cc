#include "server/worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace kiln {
namespace {

// ---- files: Landlock

// From linux/landlock.h, whose newer parts our headers lack.
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
constexpr int kScopesFrom = 6;  // Linux 6.12

// Where the linker finds the libraries that kernels call.
constexpr const char* kLibraries[] = {"/lib", "/lib64", "/usr/lib", "/usr/lib64"};

// Forbids everything that the version knows, except reading libraries.
bool ForbidFiles(int version) {
  // Negative: the kernel lacks Landlock, or it is switched off.
  if (version < 1) return false;
  constexpr int kRights[] = {13, 14, 15, 15,
                             16};  // number of bits by version; later versions have the last
  Ruleset ruleset;
  ruleset.files = (uint64_t{1} << kRights[version < 5 ? version - 1 : 4]) - 1;
  size_t size = sizeof ruleset.files;
  if (version >= 4) {
    ruleset.network = 3;  // bind and connect TCP
    size = offsetof(Ruleset, scopes);
  }
  if (version >= kScopesFrom) {
    ruleset.scopes = 3;  // abstract sockets and signals of other processes
    size = sizeof ruleset;
  }
  const int fd = static_cast<int>(syscall(kCreateRuleset, &ruleset, size, 0));
  if (fd < 0) return false;
  for (const char* path : kLibraries) {
    const PathRule rule = {kReadFile, open(path, O_PATH | O_CLOEXEC)};
    constexpr int kPathBeneath = 1;
    // Not every system has all of these directories.
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

// Makes root a user without files and without other processes.
bool LeaveRoot() {
  if (geteuid() != 0) return true;
  // Far above the ids that systems assign to people and services, and unique to the process, so
  // that not even another worker may trace it. A container may have fewer ids: then user "nobody".
  const uid_t own = 0x70000000u + static_cast<uid_t>(getpid());
  bool left = false, others = false;
  for (const uid_t id : {own, uid_t{65534}}) {
    (void)!setgroups(0, nullptr);  // a container may forbid it and have no groups to leave
    left = setresgid(id, id, id) == 0 && setresuid(id, id, id) == 0;
    if (left) break;
    others = others || errno != EINVAL;
  }
  // The change of user reset these. The linker opens its own pipes below /proc/self, which belongs
  // to the process only if it is dumpable.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // If no other user id exists, root is the user that created the namespace.
  return left || !others;
}

// ---- system calls: seccomp

enum Condition {
  kAlways,
  kOnSelf,      // its first argument is this process
  kOnZero,      // its first argument is 0
  kDescriptor,  // fcntl that duplicates or queries; not one that sends signals or resizes pipes
  kPlainPages,  // private, anonymous, not executable
  kNotExecutable,
  kNoSocket,  // fails as on a descriptor that is not a socket
};

struct SystemCall {
  unsigned number;
  Condition condition = kAlways;
};

// The calls that a compilation needs. All others fail with EPERM.
constexpr SystemCall kAllowed[] = {
    // frames, memory files, libraries; Landlock says which paths
    {SYS_read},
    {SYS_write},
    {SYS_readv},
    {SYS_writev},
    {SYS_pread64},
    {SYS_pwrite64},
    {SYS_sendmsg, kNoSocket},  // it could send descriptors; common/wire/framing then uses writev
    {SYS_poll},
    {SYS_ppoll},
    {SYS_close},
    {SYS_close_range},
    {SYS_dup},
    {SYS_dup2},
    {SYS_dup3},
    {SYS_fcntl, kDescriptor},
    {SYS_lseek},
    {SYS_ftruncate},
    {SYS_fadvise64},
    {SYS_memfd_create},
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
    // memory; a mapped page of a file would keep all of the file's memory alive, beyond every limit
    {SYS_brk},
    {SYS_mmap, kPlainPages},
    {SYS_mprotect, kNotExecutable},
    {SYS_munmap},
    {SYS_mremap},
    {SYS_madvise},
    {SYS_membarrier},
    // locks
    {SYS_futex},
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

constexpr uint32_t Argument(int index) {  // the low half; the high halves of our values are zero
  return offsetof(seccomp_data, args) + 8 * index;
}

class Filter {
 public:
  Filter() {
    Load(offsetof(seccomp_data, arch));
    // Numbers mean other calls on another architecture, such as 32-bit code.
    If(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
    Return(SECCOMP_RET_ERRNO | ENOSYS);
    Load(offsetof(seccomp_data, nr));
    for (const SystemCall& call : kAllowed) Add(call);
    // Also refuses the x32 calls (numbers from 2^30), which match none of these.
    Return(kRefuse);
  }

  bool Install() {
    const sock_fprog program = {static_cast<uint16_t>(code_.size()), code_.data()};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  }

 private:
  static constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;

  struct Test {
    int argument;
    uint16_t comparison;
    uint32_t value;
    bool wanted;
  };

  void Add(const SystemCall& call) {
    // Read once: the filter compares with a constant.
    const uint32_t pid = static_cast<uint32_t>(getpid());
    const Test not_executable = {2, BPF_JSET, PROT_EXEC, false};
    switch (call.condition) {
      case kAlways:
        return AddIfAll(call.number, {});
      case kOnSelf:
        return AddIfAll(call.number, {{0, BPF_JEQ, pid, true}});
      case kOnZero:
        return AddIfAll(call.number, {{0, BPF_JEQ, 0, true}});
      case kDescriptor:
        return AddIfOneOf(call.number, 1, {F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL});
      case kPlainPages:
        return AddIfAll(
            call.number,
            {not_executable, {3, BPF_JSET, MAP_SHARED, false}, {3, BPF_JSET, MAP_ANONYMOUS, true}});
      case kNotExecutable:
        return AddIfAll(call.number, {not_executable});
      case kNoSocket:
        If(BPF_JEQ, call.number, 0, 1);
        Return(SECCOMP_RET_ERRNO | ENOTSOCK);
        return;
    }
  }
  // Allows the call if every test of its arguments succeeds.
  void AddIfAll(uint32_t number, const std::vector<Test>& tests) {
    // Jumps count instructions: three for each test and one for the return.
    If(BPF_JEQ, number, 0, static_cast<uint8_t>(3 * tests.size() + 1));
    for (const Test& test : tests) {
      Load(Argument(test.argument));
      If(test.comparison, test.value, test.wanted ? 1 : 0, test.wanted ? 0 : 1);
      Return(kRefuse);
    }
    Return(SECCOMP_RET_ALLOW);
  }
  // Allows the call if an argument is one of `values`.
  void AddIfOneOf(uint32_t number, int argument, const std::vector<int>& values) {
    If(BPF_JEQ, number, 0, static_cast<uint8_t>(2 * values.size() + 2));
    Load(Argument(argument));
    for (const int value : values) {
      If(BPF_JEQ, static_cast<uint32_t>(value), 0, 1);
      Return(SECCOMP_RET_ALLOW);
    }
    Return(kRefuse);
  }
  void Load(uint32_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }
  void If(uint16_t test, uint32_t value, uint8_t then, uint8_t otherwise) {
    code_.push_back(
        BPF_JUMP(static_cast<uint16_t>(BPF_JMP | test | BPF_K), value, then, otherwise));
  }
  void Return(uint32_t action) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, action)); }

  std::vector<sock_filter> code_;
};

// ---- limits

// Lowers a limit, soft and hard; whether it is now at most `value`.
bool Lower(__rlimit_resource resource, uint64_t value) {
  rlimit now;
  if (getrlimit(resource, &now) != 0) return false;
  value = std::min<rlim_t>(value, now.rlim_max);
  now = {value, value};
  return setrlimit(resource, &now) == 0;
}

// Limits memory files; and threads, if seccomp does not refuse them.
bool SetLimits() {
  const bool files = Lower(RLIMIT_NOFILE, kWorkerDescriptors);
  return Lower(RLIMIT_FSIZE, kWorkerFileBytes) && Lower(RLIMIT_NPROC, 0) && files;
}

}  // namespace

int LandlockVersion() {
  constexpr unsigned kAskVersion = 1;
  return static_cast<int>(syscall(kCreateRuleset, nullptr, 0, kAskVersion));
}

std::vector<Gap> LandlockGaps(int version) {
  if (version < 1) return {{"landlock", "no Landlock: files stay accessible"}};
  if (version >= kScopesFrom) return {};
  return {{"signals", absl::StrCat("Landlock of version ", version, " (signals need ", kScopesFrom,
                                   ", Linux 6.12): only seccomp keeps other processes from "
                                   "signals")}};
}

std::vector<Gap> LockIn() {
  std::vector<Gap> gaps;
  const auto give_up = [&gaps](bool done, const char* name, const char* text) {
    if (!done) gaps.push_back({name, text});
  };
  // Each step takes away what the next ones need least. seccomp is last, as it forbids the calls
  // that all others make.
  give_up(SetLimits(), "limits", "limits could not be set: memory files and threads are unlimited");
  give_up(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "new_privileges",
          "no no_new_privs: a program it runs may gain rights");
  const int landlock = LandlockVersion();
  for (Gap& gap : LandlockGaps(ForbidFiles(landlock) ? landlock : 0)) {
    gaps.push_back(std::move(gap));
  }
  give_up(LeaveRoot(), "root", "still root: no other user id may be taken");
  give_up(DropCapabilities(), "capabilities", "capabilities are kept");
  give_up(Filter().Install(), "seccomp",
          "no seccomp: all system calls are allowed, threads and sockets among them");
  return gaps;
}

}  // namespace kiln
