// A front of the daemon: a process of its own that speaks another protocol (gRPC: service/) and
// translates requests into frames on the local socket. Its libraries and threads cost the daemon
// neither start-up time nor memory, and its crashes lose no entry and no other client. All requests
// share one handler.
#ifndef KILN_SERVER_DAEMON_FRONTS_FRONT_H_
#define KILN_SERVER_DAEMON_FRONTS_FRONT_H_

#include <sys/types.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/daemon/fronts/listener.h"
#include "server/front/generation.h"

namespace kiln {

// Starts the process, and restarts it with growing pauses if it exits by itself. Passes it the
// listening sockets over a socket pair (front_channel.h); the process exits when that closes.
// Thread-safe.
class Front {
 public:
  // `given`: see Listener. `generation`: for a front that caches replies; else null.
  Front(std::string program, std::vector<std::string> args, std::string listen,
        std::vector<int>* given, const Generation* generation = nullptr)
      : program_(std::move(program)),
        args_(std::move(args)),
        generation_(generation),
        listener_(std::move(listen), given) {}
  ~Front() { Stop(); }

  // Does nothing if there is nothing to listen on.
  void Start();
  // The listening sockets.
  std::vector<int> Sockets() const;
  // Called when a successor answers on the sockets: the process continues alone and serves its
  // connections until they close.
  void LetGo();
  // Asks it to finish its requests and to accept no new ones (SIGTERM).
  void Drain();
  // Whether the process runs.
  bool running() const;
  // Kills it; running calls are cancelled.
  void Stop();

 private:
  void Watch();
  // For the metrics: whether the process answers.
  void Serves(bool serves) const;
  // Runs the process until it exits or is handed off; returns how it ended.
  std::string RunOnce();
  // Sends it what it needs to begin.
  absl::Status Equip() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts it, with one end of a new socket pair.
  absl::Status Spawn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string program_;
  const std::vector<std::string> args_;
  const Generation* const generation_;
  mutable absl::Mutex mutex_;
  Listener listener_ ABSL_GUARDED_BY(mutex_);
  pid_t pid_ ABSL_GUARDED_BY(mutex_) = -1;  // -1: no process of ours
  int channel_ ABSL_GUARDED_BY(mutex_) = -1;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_FRONTS_FRONT_H_
