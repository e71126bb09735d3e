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
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/daemon/edition.h"
#include "server/daemon/listener.h"

namespace kiln {

// Starts the process, and starts it again, later and later, when it ends by itself. It is
// given the sockets to answer on over a leash (leash.h), and ends when that does.
// Thread-safe.
class Front {
 public:
  // `given`: see Listener. `edition`: for a front that keeps what it was answered; else null.
  Front(std::string program, std::vector<std::string> args, std::string listen,
        std::vector<int>* given, const Edition* edition = nullptr)
      : program_(std::move(program)),
        args_(std::move(args)),
        edition_(edition),
        listener_(std::move(listen), given) {}
  ~Front() { Stop(); }

  // Nothing where there is nothing to listen on.
  void Start();
  // What it listens on.
  std::vector<int> Sockets() const;
  // A successor answers on the sockets from here on: the process serves the connections that
  // it has to their ends, by itself.
  void LetGo();
  // Asks it to finish what it does and to take on nothing new (SIGTERM).
  void Drain();
  // Whether the process is there.
  bool running() const;
  // Ends it at once; calls that run are cancelled.
  void Stop();

 private:
  void Watch();
  // For the metrics: whether the process answers.
  void Serves(bool serves) const;
  // Runs the process to its end, or until it is let go; says how it ended.
  std::string RunOnce();
  // Says to it what it is to begin with.
  absl::Status Equip() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts it, with its end of a new leash.
  absl::Status Spawn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string program_;
  const std::vector<std::string> args_;
  const Edition* const edition_;
  mutable absl::Mutex mutex_;
  Listener listener_ ABSL_GUARDED_BY(mutex_);
  pid_t pid_ ABSL_GUARDED_BY(mutex_) = -1;  // -1: none that is ours
  int leash_ ABSL_GUARDED_BY(mutex_) = -1;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_FRONT_H_
