// Whether the daemon is worth asking. Once it was found to be missing or to hang, nobody
// waits for it again: a greeting is left at its socket now and then, and the call that finds
// it answered goes to the daemon once more.
//
// Thread-safe. A call of MayCall costs some microseconds; twice a second one of some tens,
// and that one waits up to two milliseconds if a daemon takes the connection.
#ifndef KILN_CLIENT_CPP_BREAKER_H_
#define KILN_CLIENT_CPP_BREAKER_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client_cpp/connection.h"

namespace kiln {

class Breaker {
 public:
  // Whether to call the daemon that listens on `socket_path`. `found` may become a
  // connection to it, greeted already.
  bool MayCall(const std::string& socket_path, std::unique_ptr<Connection>* found);
  // The daemon is not to be had, for this reason. `may_start`: a new one could be started
  // as soon as nobody listens any more.
  void Open(const absl::Status& why, bool may_start);
  // Why the daemon is not called; OK while it is.
  absl::Status why() const;

 private:
  bool Probe(const std::string& socket_path, std::unique_ptr<Connection>* found)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Close() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
  bool may_start_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time opened_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_probe_ ABSL_GUARDED_BY(mutex_);
  // A greeting without an answer so far.
  std::unique_ptr<Connection> pending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_BREAKER_H_
