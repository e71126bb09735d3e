// One kiln-worker process: start, greet, send jobs one at a time, kill.
#ifndef KILN_SERVER_DAEMON_WORKERS_WORKER_PROCESS_H_
#define KILN_SERVER_DAEMON_WORKERS_WORKER_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/child_stderr.h"
#include "common/wire/framing.h"
#include "kiln/proto/service.pb.h"

namespace kiln {

// Starts `program` with `args` in a session of its own, with default signals, stdin and stdout on
// /dev/null and `fd`, if any, as descriptor 3. Its standard error is `errors`, or ours. NotFound
// names the path of a missing program.
absl::StatusOr<pid_t> Spawn(const std::string& program, const std::vector<std::string>& args,
                            int fd, int errors = -1);

class WorkerProcess {
 public:
  struct Options {
    std::string program;
    uint64_t memory_bytes = 0;
    bool unconfined = false;  // no sandbox (server/worker/sandbox.h)
    // Readable when `stopped` may have changed.
    int wake_fd = -1;
    std::function<bool()> stopped;
    // Called with the greeting of a worker that has started; may be null.
    std::function<void(const proto::HelloReply&)> greeted;
  };

  // Returns once the worker is warm. Call from a thread that outlives the worker: the parent-death
  // signal is bound to the thread that forks.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(const Options& options);
  // Kills the process and reaps it.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Sends one job, a frame of this type, and waits for its answer, which may be the compiler's
  // error. After a failure the
  // worker is unusable: DeadlineExceeded, Cancelled (options.stopped), or how the process ended.
  absl::StatusOr<Frame> Run(FrameType type, absl::string_view request, absl::Time deadline);

  bool Alive() const;
  uint64_t ResidentBytes() const;
  int jobs() const { return jobs_; }
  pid_t pid() const { return pid_; }

 private:
  WorkerProcess(const Options& options, pid_t pid, int fd, std::unique_ptr<ChildStderr> said);

  absl::StatusOr<Frame> Exchange(FrameType type, absl::string_view body, absl::Time deadline);
  // Kills the process if it still runs; returns how it ended and its last line of output.
  std::string Reap();

  const Options options_;
  pid_t pid_;
  int fd_;
  const std::unique_ptr<ChildStderr> said_;  // a worker must not write to the log
  int jobs_ = 0;
  uint32_t next_id_ = 1;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_WORKERS_WORKER_PROCESS_H_
