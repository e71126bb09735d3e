// A worker without a compiler, for tests of the code around it. The request's name tells it what to
// do. It appends a line for each job that starts to the file $KILN_TEST_JOBS, so that tests can
// count jobs.
//
//   sleep MS        answers after MS milliseconds
//   die             kills itself
//   die-once TEXT   kills itself at the first job with this name
//   abort TEXT      writes TEXT to its standard error and aborts
//   stop            stops itself (SIGSTOP)
//   pid             answers with an entry that contains the worker's process id
//   trace           answers with an entry that contains the request's traceparent
//   error [MS]      answers with an error of the user's program
//   fail            answers with a failure of Kiln
//   garbage         writes bytes that are not a frame
//   big BYTES       an entry of that size
//   eat             allocates until the limit
//   try WHAT [PATH] does something that the sandbox forbids. The entry contains "allowed" or
//                   the error. WHAT: write, create, read, unlink, socket, exec, fork,
//                   pages (executable ones), signal (to its parent), trace, root, thread,
//                   owner (of a descriptor's signals), map (a memory file), share (pages), pipe,
//                   truncate (its standard error)
//
// Of these, link jobs know die and die-once. Their module is the objects, joined.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/worker/run_worker.h"

namespace kiln {
namespace {

// Opened before the sandbox forbids it.
int jobs_fd = -1;

void OpenJobs() {
  const char* path = std::getenv("KILN_TEST_JOBS");
  if (path != nullptr) jobs_fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

void CountJob(const std::string& name) {
  const std::string line = name + "\n";
  if (jobs_fd >= 0 && write(jobs_fd, line.data(), line.size()) < 0) std::abort();
}

int JobsOf(const std::string& name) {
  std::string text(size_t{1} << 20, '\0');
  const ssize_t size = jobs_fd < 0 ? 0 : pread(jobs_fd, text.data(), text.size(), 0);
  text.resize(size < 0 ? 0 : size);
  int count = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) count += line == name;
  return count;
}

// Tries something that the sandbox forbids. Negative, with errno set, if it was refused.
long Try(const std::string& what, const std::string& path) {
  const char* file = path.c_str();
  if (what == "write") return open(file, O_WRONLY | O_CLOEXEC);
  if (what == "create") return open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (what == "read") return open(file, O_RDONLY | O_CLOEXEC);
  if (what == "unlink") return unlink(file);
  if (what == "socket") return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (what == "fork") {
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    return pid;
  }
  if (what == "exec") return execl("/bin/true", "true", nullptr);
  if (what == "signal") return kill(getppid(), 0);
  if (what == "trace") return ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr);
  if (what == "root") return geteuid() == 0 ? 0 : (errno = EPERM, -1);
  if (what == "truncate") return ftruncate(2, 0);
  if (what == "owner") return fcntl(3, F_SETOWN, getppid());
  if (what == "thread") {
    pthread_t thread;
    errno = pthread_create(&thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
    return errno == 0 ? 0 : -1;
  }
  if (what == "map" || what == "share") {
    const int fd = what == "map" ? memfd_create("file", MFD_CLOEXEC) : -1;
    const int flags = what == "map" ? MAP_PRIVATE : MAP_SHARED | MAP_ANONYMOUS;
    if (fd >= 0 && ftruncate(fd, 4096) != 0) return 0;
    void* page = mmap(nullptr, 4096, PROT_READ, flags, fd, 0);
    return page == MAP_FAILED ? -1 : 0;
  }
  if (what == "pipe") {
    int ends[2];
    return pipe2(ends, O_CLOEXEC);
  }
  if (what == "pages") {
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? -1 : 0;
  }
  errno = EINVAL;
  return -1;
}

void EatMemory() {
  for (std::vector<char*> blocks;;) {
    constexpr size_t kBlock = 16 << 20;
    auto* block = static_cast<char*>(std::malloc(kBlock));
    if (block == nullptr) std::abort();
    memset(block, 1, kBlock);
    blocks.push_back(block);
  }
}

absl::StatusOr<Product> Act(const proto::CompileRequest& request, const proto::CompileUnit& unit) {
  CountJob(request.name());
  const std::vector<std::string> words = absl::StrSplit(request.name(), ' ');
  const std::string argument = words.size() > 1 ? words[1] : "";
  Product product;
  product.payload =
      "\x7f"
      "ELF of " +
      request.name();
  *product.info.mutable_target() = unit.target();
  int ms = 0;
  if ((words[0] == "sleep" || words[0] == "error") && absl::SimpleAtoi(argument, &ms)) {
    absl::SleepFor(absl::Milliseconds(ms));
  }
  if (words[0] == "pid") {
    product.payload = std::to_string(getpid());
  } else if (words[0] == "trace") {
    product.payload = request.traceparent();
  } else if (words[0] == "die") {
    raise(SIGKILL);
  } else if (words[0] == "die-once") {
    if (JobsOf(request.name()) == 1) raise(SIGKILL);
  } else if (words[0] == "abort") {
    if (write(2, argument.data(), argument.size()) >= 0) std::abort();
  } else if (words[0] == "stop") {
    raise(SIGSTOP);
  } else if (words[0] == "try") {
    const long done = Try(argument, words.size() > 2 ? words[2] : "");
    product.payload = done < 0 ? strerror(errno) : "allowed";
  } else if (words[0] == "error") {
    product.payload.clear();
    proto::Diagnostic diagnostic;
    diagnostic.set_severity(proto::ERROR);
    diagnostic.set_message("the program is wrong");
    product.diagnostics.push_back(std::move(diagnostic));
  } else if (words[0] == "fail") {
    return absl::InternalError("the compiler failed");
  } else if (words[0] == "big") {
    size_t size = 0;
    if (absl::SimpleAtoi(argument, &size)) product.payload.resize(size, 'x');
  } else if (words[0] == "eat") {
    EatMemory();
  } else if (words[0] == "garbage") {
    if (write(3, "this is no frame, not at all", 28) < 0) std::abort();
  }
  return product;
}

absl::StatusOr<proto::LinkReply> Link(const proto::LinkRequest& request) {
  CountJob(request.name());
  const bool once = absl::StartsWith(request.name(), "die-once ");
  if (request.name() == "die" || (once && JobsOf(request.name()) == 1)) raise(SIGKILL);
  proto::LinkReply reply;
  for (const std::string& object : request.objects()) reply.mutable_file()->append(object);
  return reply;
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  return kiln::RunWorker(argc, argv, [] {
    kiln::OpenJobs();
    return kiln::Engine{nullptr, kiln::Act, kiln::Link};
  });
}
