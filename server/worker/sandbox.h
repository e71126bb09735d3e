// Giving up what a warm worker does not need, so that a kernel which finds a hole in
// the compiler gets a process that can do next to nothing.
//
// What stays: private memory (none of it executable), the descriptors it has, memory files of
// its own (the linker's, few and of bounded size), and reading the system's libraries (the linker
// looks up symbols there). What goes: every other file, sockets, threads, other programs, signals
// to others, other users' rights.
#ifndef KILN_SERVER_WORKER_SANDBOX_H_
#define KILN_SERVER_WORKER_SANDBOX_H_

#include <cstdint>
#include <string>
#include <vector>

namespace kiln {

// At most so much does one of a worker's files hold, and so many descriptors has it: the linker
// needs two memory files, and its input open once more beside a library.
inline constexpr uint64_t kWorkerFileBytes = uint64_t{80} << 20;  // as a reply may have
inline constexpr uint64_t kWorkerDescriptors = 16;

// Something that the system did not let a process give up.
struct Gap {
  std::string name;  // one word, for a metric: "landlock"
  std::string text;  // for a log: "no Landlock: files are not out of reach"
};

// Locks the calling process in, by Landlock, seccomp, limits, an empty set of capabilities and,
// when it is root's, a user id that nobody else has. For good. To be called when only this thread
// runs. Returns what could not be given up; empty: everything was.
std::vector<Gap> LockIn();

// The version of the kernel's Landlock; less than 1: there is none.
int LandlockVersion();
// What a Landlock of that version lacks; empty: nothing.
std::vector<Gap> LandlockGaps(int version);

}  // namespace kiln

#endif  // KILN_SERVER_WORKER_SANDBOX_H_
