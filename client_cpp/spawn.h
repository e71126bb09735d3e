// Starting Kiln's own programs from a client process.
#ifndef KILN_CLIENT_CPP_SPAWN_H_
#define KILN_CLIENT_CPP_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace kiln {

// The absolute path of the directory of kilnd: `dir` if given, else $KILN_BIN, else searched for
// near the file that this code was loaded from. Empty: not found. ProgramIn
// (common/home/programs.h) finds the other programs from there.
std::string FindBinDir(const std::string& dir = "");

inline constexpr int kPassedDescriptor = 3;

// Runs `program` in a process group of its own. It inherits no descriptor except stderr (`errors`
// if given) and `pass`, if any, as kPassedDescriptor. NotFound if the program does not exist.
absl::StatusOr<pid_t> Spawn(const std::string& program, std::vector<std::string> arguments,
                            int pass = -1, int errors = -1);

// Waits for the end of `pid`; returns its exit status, or -1 if it is unavailable (the host ignores
// SIGCHLD). Kills a process that has not ended by the deadline.
int WaitForExit(pid_t pid, absl::Time deadline = absl::InfiniteFuture());

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_SPAWN_H_
