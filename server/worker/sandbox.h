// Drops the rights that a warm worker does not need, so that a kernel which exploits the compiler
// controls a nearly powerless process.
//
// The worker keeps private memory (none of it executable), its descriptors, and memory files (for
// the linker, few and of bounded size). It may still read the system's libraries, where the linker
// looks up symbols. It loses every other file, sockets, threads, other programs, signals to other
// processes, and other users' rights.
#ifndef KILN_SERVER_WORKER_SANDBOX_H_
#define KILN_SERVER_WORKER_SANDBOX_H_

#include <cstdint>
#include <string>
#include <vector>

namespace kiln {

// The size limit of a worker's files, and its limit on descriptors. The linker needs two memory
// files, and opens its input again besides a library.
inline constexpr uint64_t kWorkerFileBytes = uint64_t{80} << 20;  // as a reply may have
inline constexpr uint64_t kWorkerDescriptors = 16;

// A restriction that the system did not apply.
struct Gap {
  std::string name;  // one word, for a metric: "landlock"
  std::string text;  // for a log: "no Landlock: files stay accessible"
};

// Sandboxes the calling process for good, by Landlock, seccomp, limits and an empty set of
// capabilities. A process of root also gets a user id that no other process has. Call while this is
// the only thread. Returns the restrictions that failed.
std::vector<Gap> LockIn();

// The version of the kernel's Landlock; less than 1: none.
int LandlockVersion();
// The restrictions that a Landlock of that version lacks.
std::vector<Gap> LandlockGaps(int version);

}  // namespace kiln

#endif  // KILN_SERVER_WORKER_SANDBOX_H_
