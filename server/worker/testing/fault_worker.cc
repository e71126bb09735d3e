// A worker without a compiler, for tests of what is around one. It does what
// the request's name says; each job that starts is a line in the file named by
// its --fd's parent's environment, KILN_TEST_JOBS, so that tests count them.
//
//   sleep MS        answers after MS milliseconds
//   die             kills itself
//   die-once PATH   kills itself unless PATH exists, and makes PATH
//   stop            stops itself (SIGSTOP)
//   pid             an entry that holds the worker's process id
//   error           a diagnostic of the user's mistake
//   fail            a status of ours
//   garbage         bytes that are no frame
//   big BYTES       an entry of that size
//   eat             allocates until the limit
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/worker/run_worker.h"

namespace kiln {
namespace {

void CountJob(const std::string& name) {
  const char* path = std::getenv("KILN_TEST_JOBS");
  if (path == nullptr) return;
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const std::string line = name + "\n";
  if (write(fd, line.data(), line.size()) < 0) std::abort();
  close(fd);
}

void DieOnce(const std::string& marker) {
  const int fd = open(marker.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return;
  close(fd);
  raise(SIGKILL);
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
  if (words[0] == "sleep") {
    int ms = 0;
    if (absl::SimpleAtoi(argument, &ms)) absl::SleepFor(absl::Milliseconds(ms));
  } else if (words[0] == "pid") {
    product.payload = std::to_string(getpid());
  } else if (words[0] == "die") {
    raise(SIGKILL);
  } else if (words[0] == "die-once") {
    DieOnce(argument);
  } else if (words[0] == "stop") {
    raise(SIGSTOP);
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

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  return kiln::RunWorker(argc, argv, [] { return kiln::Engine{nullptr, kiln::Act}; });
}
