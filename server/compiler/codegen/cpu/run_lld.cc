#include "server/compiler/codegen/cpu/run_lld.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"
#include "server/compiler/codegen/cpu/memory_file.h"

LLD_HAS_DRIVER(elf)

namespace kiln::cpu {
namespace {

// While it lives, the process's standard output is `file`. LLD writes to a path only through a
// second file that it renames, or to a pipe that a thread would have to read; a confined worker
// has neither directories nor threads.
class StandardOutput {
 public:
  explicit StandardOutput(const MemoryFile& file)
      // Above the standard descriptors: if one of those is closed, dup would give its number.
      : own_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
    llvm::outs().flush();
    std::fflush(stdout);
    // After the flushes: what was printed before belongs to the real output.
    replaced_ = dup2(file.fd(), STDOUT_FILENO) >= 0;
  }
  ~StandardOutput() { Restore().IgnoreError(); }
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  // Says whether all that LLD wrote is in the file.
  absl::Status Restore() {
    if (!replaced_) return absl::ResourceExhaustedError("no descriptor for the linker's output");
    llvm::outs().flush();
    const std::error_code error = llvm::outs().error();
    llvm::outs().clear_error();  // which would end the process at its exit
    replaced_ = false;
    // It was closed before, and is so again.
    if (own_ < 0) {
      close(STDOUT_FILENO);
    } else {
      dup2(own_, STDOUT_FILENO);
      close(own_);
    }
    if (!error) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("the linker's output: ", error.message()));
  }

 private:
  const int own_;
  bool replaced_ = false;
};

}  // namespace

absl::StatusOr<std::string> RunLld(const std::vector<std::string>& arguments) {
  MemoryFile output("code");
  // One thread, because a confined worker may start none.
  std::vector<const char*> all = {"ld.lld", "--threads=1", "-o", "-"};
  for (const std::string& argument : arguments) all.push_back(argument.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  StandardOutput standard_output(output);
  const bool linked = lld::elf::link(all, stream, stream, /*exitEarly=*/false,
                                     /*disableOutput=*/false);
  lld::CommonLinkerContext::destroy();  // LLD keeps its state until told
  const absl::Status written = standard_output.Restore();
  if (!linked) return absl::InternalError(absl::StrCat("LLD: ", messages));
  RETURN_IF_ERROR(written);
  return output.Read();
}

}  // namespace kiln::cpu
