// Detaching the daemon from the process that started it.
#ifndef KILN_SERVER_DAEMON_DETACH_H_
#define KILN_SERVER_DAEMON_DETACH_H_

#include <string>
#include <vector>

namespace kiln {

// Forks. The starter's process ends with status 0, and the caller continues in a new session. It
// has directory /, default signals, stdio on /dev/null, only the descriptors `keep`, and an
// environment of KILN_*, HOME and PATH. Call before the process has threads.
void Detach(const std::vector<int>& keep);

// Undoes settings of the starter's shell, batch job or cron, as far as a process may: raises soft
// limits to the hard ones and allows all processors. A daemon serves every program of its user,
// whichever started it.
void ForgetStartersLimits();

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_DETACH_H_
