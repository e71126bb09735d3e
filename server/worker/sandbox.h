// Giving up what a warm worker does not need, so that a kernel which finds a hole in
// the compiler gets a process that can do next to nothing.
//
// What stays: memory (none of it executable), threads, the descriptors it has, pipes
// and memory files of its own (the linker's), and reading the system's libraries (the
// linker looks up symbols there). What goes: every other file, sockets, other
// programs, signals to others, other users' rights.
#ifndef KILN_SERVER_WORKER_SANDBOX_H_
#define KILN_SERVER_WORKER_SANDBOX_H_

#include <string>

namespace kiln {

// Locks the calling process in, by Landlock, seccomp, an empty set of capabilities and,
// when it is root's, a user id that nobody else has. For good; children too. To be called
// when only this thread runs. Answers what the system did not let it give up, as words for
// a log ("no Landlock: files are not out of reach"); empty: everything.
std::string LockIn();

// The same words, without giving up anything: what LockIn would say of the kernel.
std::string SandboxGaps();

}  // namespace kiln

#endif  // KILN_SERVER_WORKER_SANDBOX_H_
