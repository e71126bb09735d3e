// kilnd's settings, by increasing precedence: defaults, the configuration file
// (server/daemon/config.h), the environment, the command line. `kilnd --help` lists the flags.
#ifndef KILN_SERVER_DAEMON_FLAGS_H_
#define KILN_SERVER_DAEMON_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/home/programs.h"
#include "kiln/proto/config.pb.h"

namespace kiln {

struct Flags {
  bool daemonize = false;
  bool take_over = false;
  bool allow_root = false;
  bool check = false;
  bool try_servers = false;
  bool version = false;
  bool help = false;
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
  int worker_jobs = 0;  // 0: 1000, or fewer if the daemon signs
  uint64_t memory_bytes = 8 << 20;
  // The configuration, for settings without a member above; `service.listen` is --listen's.
  proto::Config config;

  std::string GrpcFrontPath() const { return ProgramIn(bin, "kilnd-grpc"); }
  std::string WebFrontPath() const { return ProgramIn(bin, "kilnd-web"); }
  std::string RemotePath() const { return ProgramIn(bin, "kilnd-remote"); }
};

// One line per flag.
std::string FlagsHelp();

// InvalidArgument names the argument, the variable, or the line and field of the configuration that
// is wrong.
absl::StatusOr<Flags> ParseFlags(int argc, char** argv);

// ResourceExhausted: the limit on descriptors is too low to start a worker.
absl::Status CheckDescriptors(const Flags& flags);

// PermissionDenied: root would answer other machines. A process that parses strangers' bytes needs
// no more rights than a user has. For this machine's own users root continues with a warning: in
// containers the first program often runs as root.
absl::Status CheckUser(const Flags& flags);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_FLAGS_H_
