// Link jobs: each runs on a worker of the pool, with the limits of compilations. Results are not
// kept; concurrent equal requests share one job.
//
// Thread-safe. Calls block while they link.
#ifndef KILN_SERVER_DAEMON_COMPILING_LINK_SERVICE_H_
#define KILN_SERVER_DAEMON_COMPILING_LINK_SERVICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kiln/proto/service.pb.h"
#include "server/cache/single_flight.h"
#include "server/daemon/compiling/compile_service.h"
#include "server/daemon/workers/worker_pool.h"

namespace kiln {

class LinkService {
 public:
  // `limit`: of requests without a deadline. `pool` is not owned.
  LinkService(WorkerPool* pool, absl::Duration limit) : pool_(pool), limit_(limit) {}

  // The serialised LinkReply. Counts as a compilation of the caller.
  absl::StatusOr<std::string> Link(const proto::LinkRequest& request, const Caller& caller);

 private:
  using Flights = SingleFlight<std::string>;

  WorkerPool* const pool_;
  const absl::Duration limit_;
  Flights flights_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_COMPILING_LINK_SERVICE_H_
