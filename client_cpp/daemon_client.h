// The local daemon as a client sees it: started when none runs, connected to when
// needed, given up (breaker.h) when it does not answer. A stopped daemon is found out in a
// tenth of a second, one that hangs otherwise in a quarter, on a busy machine in three.
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
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client_cpp/breaker.h"
#include "client_cpp/connection.h"
#include "lang/digest.h"
#include "lang/home.h"

namespace kiln {

class DaemonClient {
 public:
  // `wishes` go into each greeting: a kilnd elsewhere that the daemon shall ask before it
  // compiles.
  DaemonClient(Home home, std::string bin_dir, proto::Hello wishes = {})
      : home_(std::move(home)), bin_dir_(std::move(bin_dir)), wishes_(std::move(wishes)) {}

  // A daemon whose compiler is another one than `id`, that of our own files, was started before
  // those were replaced, or by another build: if a client started it, it is told to go, and the
  // new one started. Once.
  void SetWantedCompiler(const Digest& id);

  // A request to a daemon, started if none runs. Lost connections are made anew
  // once, and a full queue is waited for, as long as the daemon asks and within `deadline`.
  // Unavailable: there is no daemon to be had, or it hangs (the message says which).
  // `compiler` becomes the id of the daemon's compiler.
  absl::Status Call(FrameType type, const google::protobuf::MessageLite& request,
                    FrameType reply_type, google::protobuf::MessageLite* reply, absl::Time deadline,
                    Digest* compiler = nullptr);

  // The same, but NotFound when no daemon runs.
  absl::Status CallIfRunning(FrameType type, const google::protobuf::MessageLite& request,
                             FrameType reply_type, google::protobuf::MessageLite* reply,
                             absl::Time deadline);

  // Whether Call is worth its time: not after GiveUp, until a daemon answers again. Costs
  // some microseconds.
  bool Usable();
  // The daemon is not to be had: `why`, an error of Call.
  void GiveUp(const absl::Status& why);
  // Why it is given up; OK while it is not.
  absl::Status given_up() const { return breaker_.why(); }

  // Waits for a daemon that was told to go to have let go of its home: only then may the
  // home be moved or removed.
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
  Breaker breaker_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_ ABSL_GUARDED_BY(mutex_);
  Digest wanted_compiler_ ABSL_GUARDED_BY(mutex_);  // empty: any, from now on
  absl::Mutex start_mutex_;                         // one start at a time; before mutex_
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_DAEMON_CLIENT_H_
