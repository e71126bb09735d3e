// A session: one connection to Kiln's compile service and the instances made
// through it. The one client implementation; Python and C++ programs use it.
//
// How an instance is got, in order: this process's own table → the disk tier
// (read directly, mapped; the daemon learns of it from the hit log) → the
// daemon, first by the key alone (Lookup), then with the whole unit (Compile)
// → with KILN_SERVER=off, a private worker. With KILN_SERVER=HOST:PORT the daemon asks
// the kilnd there before it compiles; without that one it compiles itself.
//
// Thread safety: all methods may be called from any thread. fork: the child may
// go on using a session; connections and threads are made anew on first use.
#ifndef KILN_CLIENT_CPP_SESSION_H_
#define KILN_CLIENT_CPP_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lang/digest.h"
#include "proto/diagnostic.pb.h"
#include "proto/service.pb.h"
#include "proto/source_map.pb.h"
#include "proto/unit.pb.h"
#include "runtime/loaded_kernel.h"

namespace kiln {

struct SessionOptions {
  std::string home;       // KILN_HOME; empty: environment, else ~/.cache/kiln
  std::string server;     // "": local daemon; "off": private worker; HOST:PORT: it asks there
  std::string bin_dir;    // where kilnd and kiln-worker are
  bool use_cache = true;  // false: compile always, store nothing
  // Where the daemon is not to be had, compiling fails (Unavailable, saying why) instead of
  // being done by a private worker. KILN_STRICT=1 sets it.
  bool strict = false;
  // Entries are read from the home and nothing below it is made, changed or removed, also
  // not by a daemon: what is missing a private worker compiles, for this process alone.
  bool read_only = false;
  // What is compiled or found is written at the process's end to the manifest that KILN_MANIFEST
  // names (client_cpp/manifest.h), for `kiln warm`.
  bool records_manifest = true;
  int compile_timeout_ms = 120000;
};

// What became of one Compile call, for progress lines and statistics.
struct CompileOutcome {
  std::shared_ptr<const LoadedKernel> kernel;  // null when there are errors
  std::vector<proto::Diagnostic> diagnostics;
  std::vector<proto::StageReport> stages;
  std::string digest;          // hex
  std::string tier;            // "process", "disk", "memory", "compiled", …
  double wait_seconds = 0;     // as the caller saw it
  double compile_seconds = 0;  // what compiling cost, now or when it was made
};

struct SessionStats {
  uint64_t kernels = 0, hits = 0, misses = 0;
  double seconds_saved = 0;
};

class Session {
 public:
  static absl::StatusOr<std::shared_ptr<Session>> Create(const SessionOptions& options);
  virtual ~Session() = default;

  // Compiles or fetches `unit` (its runtime ABI is filled in here; the target as
  // given, the host's level if none). User errors are diagnostics in the outcome.
  virtual absl::StatusOr<CompileOutcome> Compile(proto::CompileUnit unit,
                                                 const proto::SourceMap& source_map,
                                                 const proto::ReportOptions& report) = 0;

  // The instance whose key is known from an earlier run; NotFound when neither this
  // process, nor the disk tier, nor a daemon's Lookup has it. Compiles nothing.
  virtual absl::StatusOr<CompileOutcome> Fetch(const Digest& key) = 0;
  // Asks the daemon, in one request, for those of `keys` that are not on disk, and
  // keeps them for Fetch and Compile. Answers how many came. No failure matters.
  virtual int Prefetch(absl::Span<const Digest> keys) = 0;
  // Sees to it that `recorded` is compiled for `level`, for programs to come: other work goes
  // before it, and nothing is loaded (the outcome has no kernel), so the level may be above
  // this machine's. `recorded` holds the canonical bytes of a unit without target, its source
  // map and, where stages are wanted, report options. FailedPrecondition in a read-only session.
  virtual absl::StatusOr<CompileOutcome> Warm(const proto::CompileRequest& recorded,
                                              proto::CpuLevel level) = 0;
  // The id of the compiler that keys are made for; empty while it is not known.
  virtual Digest compiler() = 0;
  virtual SessionStats stats() const = 0;
  virtual const std::string& home() const = 0;
  virtual bool read_only() const = 0;
  // OK, or PermissionDenied: others can have written what lies in the home, so that nothing in it
  // counts but entries that a trusted key signed, and nothing is written to it. Says why.
  virtual const absl::Status& own_home() const = 0;

  // The daemon's statistics / a cleared cache (work with the daemon absent too).
  virtual absl::StatusOr<proto::StatsReply> DaemonStats() = 0;
  // What the daemon counted and did lately; NotFound when none runs.
  virtual absl::StatusOr<proto::MetricsReply> DaemonMetrics() = 0;
  virtual absl::StatusOr<proto::RecentReply> DaemonRecent(const proto::RecentRequest& request) = 0;
  virtual absl::StatusOr<proto::ClearReply> ClearCache() = 0;
  // Returns when the daemon has let go of the home.
  virtual absl::Status StopDaemon() = 0;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_SESSION_H_
