// The local daemon as a client sees it: starts one when none runs, connects on demand, and stops
// using it (daemon_breaker.h) when it does not answer. Detects a stopped daemon in a tenth of a
// second, one that hangs otherwise in a quarter, on a busy machine in three seconds.
//
// Thread safety: all methods; each concurrent call has a connection of its own.
#ifndef KILN_CLIENT_CPP_DAEMON_CLIENT_H_
#define KILN_CLIENT_CPP_DAEMON_CLIENT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client_cpp/connection.h"
#include "client_cpp/daemon_breaker.h"
#include "client_cpp/mutex.h"
#include "common/base/digest.h"
#include "common/home/home.h"

namespace kiln {

class DaemonClient {
 public:
  // `wishes` go into each greeting: a remote kilnd that the daemon should ask before it compiles.
  DaemonClient(Home home, std::string bin_dir, proto::Hello wishes = {})
      : home_(std::move(home)), bin_dir_(std::move(bin_dir)), wishes_(std::move(wishes)) {}

  // A daemon whose compiler differs from `id`, that of our own files, was started before those were
  // replaced, or by another build. If a client started it, this client stops it and starts a new
  // one. Once.
  void SetWantedCompiler(const Digest& id);

  // Sends a request to the daemon; starts one if none runs. Reconnects once after a lost
  // connection. Waits while the queue is full, as long as the daemon asks and within `deadline`.
  // Unavailable: no daemon can be reached, or it hangs (the message says which). `compiler` becomes
  // the id of the daemon's compiler.
  absl::Status Call(FrameType type, const google::protobuf::MessageLite& request,
                    FrameType reply_type, google::protobuf::MessageLite* reply, absl::Time deadline,
                    CompilerIds* compiler = nullptr);

  // The same, but NotFound if no daemon runs.
  absl::Status CallIfRunning(FrameType type, const google::protobuf::MessageLite& request,
                             FrameType reply_type, google::protobuf::MessageLite* reply,
                             absl::Time deadline);

  // Whether Call is worth its time: false after GiveUp, until a daemon answers again. Costs some
  // microseconds.
  bool Usable();
  // Marks the daemon as unavailable: `why` is an error of Call.
  void GiveUp(const absl::Status& why);
  // Why it is unavailable; OK while it is in use.
  absl::Status given_up() const { return breaker_.why(); }

  // Waits until a stopped daemon has released its home: only then may the home be moved or removed.
  void AwaitEnd(absl::Time deadline) const;

 private:
  absl::StatusOr<std::unique_ptr<Connection>> Take(bool start, bool* reused);
  absl::StatusOr<std::unique_ptr<Connection>> Open(const std::string& path,
                                                   absl::Duration patience) const;
  absl::StatusOr<std::unique_ptr<Connection>> OpenPatiently(const std::string& path) const;
  absl::StatusOr<std::unique_ptr<Connection>> StartAndConnect(const std::string& path);
  bool IsOutdated(const Connection& connection);
  void Dismiss(const std::string& path, std::unique_ptr<Connection> connection);
  absl::Status CheckAlive();
  void GiveBack(std::unique_ptr<Connection> connection);

  const Home home_;
  const std::string bin_dir_;
  const proto::Hello wishes_;
  DaemonBreaker breaker_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_ ABSL_GUARDED_BY(mutex_);
  Digest wanted_compiler_ ABSL_GUARDED_BY(mutex_);  // empty: any, from now on
  Mutex start_mutex_;                               // one start at a time; before mutex_
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_DAEMON_CLIENT_H_
