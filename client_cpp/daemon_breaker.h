// A circuit breaker for the daemon. Once the daemon was found missing or hanging, no call waits for
// it. Now and then a call sends a greeting to its socket without waiting; the call that finds it
// answered uses the daemon again.
//
// Thread-safe. MayCall costs some microseconds; twice a second one call costs some tens, and waits
// up to two milliseconds if a daemon accepts the connection.
#ifndef KILN_CLIENT_CPP_DAEMON_BREAKER_H_
#define KILN_CLIENT_CPP_DAEMON_BREAKER_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client_cpp/connection.h"
#include "client_cpp/mutex.h"

namespace kiln {

class DaemonBreaker {
 public:
  // Whether to call the daemon that listens on `socket_path`. `found` may become a greeted
  // connection to it.
  bool MayCall(const std::string& socket_path, std::unique_ptr<Connection>* found);
  // Marks the daemon as unavailable, for this reason. `may_start`: a new one may be started as soon
  // as no process listens.
  void Open(const absl::Status& why, bool may_start);
  // Why the daemon is not called; OK while it is.
  absl::Status why() const;

 private:
  bool Probe(const std::string& socket_path, std::unique_ptr<Connection>* found)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Close() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
  bool may_start_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time opened_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_probe_ ABSL_GUARDED_BY(mutex_);
  // A connection whose greeting has no answer yet.
  std::unique_ptr<Connection> pending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_DAEMON_BREAKER_H_
