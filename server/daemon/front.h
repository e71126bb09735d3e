// A front of the daemon: a process of its own that speaks another protocol (gRPC: service/)
// and turns what it is asked into frames on the local socket. So its libraries and threads
// cost the daemon neither start-up time nor memory, its crashes cost no entry and no other
// client, and there is one handler.
#ifndef KILN_SERVER_DAEMON_FRONT_H_
#define KILN_SERVER_DAEMON_FRONT_H_

#include <sys/types.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kiln {

// Starts the process, and starts it again, later and later, when it ends by itself.
// Thread-safe.
class Front {
 public:
  Front(std::string program, std::vector<std::string> args)
      : program_(std::move(program)), args_(std::move(args)) {}
  ~Front() { Stop(); }

  void Start();
  // Asks it to finish what it does and to take on nothing new (SIGTERM).
  void Drain();
  // Whether the process is there.
  bool running() const;
  // Ends it at once; calls that run are cancelled.
  void Stop();

 private:
  void Watch();
  // Runs the process to its end; says how it ended.
  std::string RunOnce();

  const std::string program_;
  const std::vector<std::string> args_;
  mutable absl::Mutex mutex_;
  pid_t pid_ ABSL_GUARDED_BY(mutex_) = -1;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // The process dies with the thread that started it, so one thread sees to it all its life.
  std::thread thread_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_FRONT_H_
