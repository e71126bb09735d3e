// kilnd's settings: defaults, then the configuration file (server/daemon/config.h), then
// the environment, then the command line; the later wins.
//
//   kilnd [--daemonize] [--home=DIR] [--bin=DIR] [...]
//
//   --config=FILE        the configuration; default: <home>/kilnd.conf, if there is one
//   --daemonize          returns once the socket accepts connections (status 0,
//                        also when another daemon of this home already does);
//                        the daemon goes on by itself, detached from everything
//   --foreground         stay, log to stderr (the default); a service manager at
//                        $NOTIFY_SOCKET is told when it is ready and when it ends
//   --take-over          a daemon of this home that runs hands over, and ends when
//                        it has done what it has begun
//   --home=DIR           KILN_HOME; default: environment, else ~/.cache/kiln
//   --bin=DIR            where kiln-worker and the fronts are; default: KILN_BIN,
//                        else where kilnd itself is
//   --worker=PATH        another worker binary
//   --idle-exit=SECONDS  ends after so long without a request (1800, or 0 where it
//                        listens for other machines; 0: never)
//   --workers=N          compiler processes (default: cores)
//   --max-queue=N        compilations that may wait for a worker (128)
//   --max-connections=N  clients at once (512)
//   --cache-bytes=N      disk tier budget (KILN_CACHE_BYTES, else 2 GiB)
//   --job-seconds=S      wall clock for one compilation (KILN_JOB_SECONDS, else 120)
//   --job-bytes=N        address space of a worker (4 GiB; 0: no limit)
//   --worker-jobs=N      jobs after which a worker is replaced by a fresh one (1000)
//   --listen=HOST:PORT   answer gRPC there too; other than loopback addresses need
//                        certificates (`service` of the configuration)
//   --web=HOST:PORT      metrics, health and, on loopback addresses, the dashboard over
//                        HTTP there
//   --signing-key=FILE   signs what our own workers compile (kiln key new)
//   --trusted-keys=FILE  whose signatures count; may be given several times
//   --accept-unsigned    takes entries from outside without a signature: who can write
//                        to a shared tier then runs code here
//   --sync               what is kept on disk survives a power cut
//   --version
#ifndef KILN_SERVER_DAEMON_FLAGS_H_
#define KILN_SERVER_DAEMON_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/config.pb.h"

namespace kiln {

struct Flags {
  bool daemonize = false;
  bool take_over = false;
  bool version = false;
  std::string home;
  std::string bin;
  std::string worker;  // never empty after ParseFlags
  absl::Duration idle_exit = absl::Minutes(30);
  absl::Duration job_limit = absl::Seconds(120);
  uint64_t cache_bytes = uint64_t{2} << 30;
  uint64_t job_bytes = uint64_t{4} << 30;
  int workers = 0;  // never 0 after ParseFlags
  int max_queue = 128;
  int max_connections = 512;
  int worker_jobs = 1000;
  uint64_t memory_bytes = 8 << 20;
  // The configuration, for what has no member above; `service.listen` is --listen's.
  proto::Config config;

  std::string GrpcFrontPath() const { return bin + "/kilnd-grpc"; }
  std::string WebFrontPath() const { return bin + "/kilnd-web"; }
  std::string RemotePath() const { return bin + "/kilnd-remote"; }
};

// InvalidArgument names the argument, the variable, or the line and field of the
// configuration that is wrong.
absl::StatusOr<Flags> ParseFlags(int argc, char** argv);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_FLAGS_H_
