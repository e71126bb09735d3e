// A session: one connection to Kiln's compile service and the instances made through it. Python and
// C++ programs share this client.
//
// Compile looks for an instance in this process's own table, then in the disk tier. It maps the
// file itself, and the daemon learns of the hit from the hit log. It then asks the daemon, first by
// key alone (Lookup), then with the whole unit (Compile). With KILN_SERVER=off, it asks a private
// worker instead. With KILN_SERVER=HOST:PORT the daemon asks that kilnd before it compiles; if that
// kilnd is unavailable, it compiles itself.
//
// Thread safety: all methods may be called from any thread. fork: the child may continue to use a
// session; it makes new connections and threads on first use.
#ifndef KILN_CLIENT_CPP_SESSION_H_
#define KILN_CLIENT_CPP_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/artifact/compiler_ids.h"
#include "common/artifact/target.h"
#include "common/base/digest.h"
#include "kiln/proto/artifact.pb.h"
#include "kiln/proto/diagnostic.pb.h"
#include "kiln/proto/service.pb.h"
#include "kiln/proto/source_map.pb.h"
#include "kiln/proto/unit.pb.h"
#include "runtime/loaded_kernel.h"

namespace kiln {

struct SessionOptions {
  std::string home;       // KILN_HOME; empty: environment, else ~/.cache/kiln
  std::string server;     // "": local daemon; "off": private worker; HOST:PORT: it asks there
  std::string bin_dir;    // directory of kilnd and kiln-worker
  bool use_cache = true;  // false: always compile, store nothing
  // If the daemon is unavailable, compiling fails (Unavailable, with the reason) instead of using a
  // private worker. KILN_STRICT=1 sets it.
  bool strict = false;
  // Reads entries from the home, and creates, changes and removes nothing below it, nor does a
  // daemon. A private worker compiles missing kernels, for this process alone.
  bool read_only = false;
  // At its end the process writes the kernels that it compiled or found to the manifest that
  // KILN_MANIFEST names (client_cpp/manifest_recorder.h), for `kiln warm`.
  bool records_manifest = true;
  // Outcomes of Compile contain what the kernel was compiled from.
  bool returns_recorded = false;
  int compile_timeout_ms = 120000;
  // 35: kernels are compiled for machines with glibc 2.35 or newer. 0: the version in KILN_GLIBC,
  // else this machine's.
  uint32_t glibc = 0;
};

// The result of one Compile call, also for progress lines and statistics.
struct CompileOutcome {
  std::shared_ptr<const LoadedKernel> kernel;       // null when there are errors
  std::shared_ptr<const proto::ArtifactInfo> info;  // of the kernel
  std::vector<proto::Diagnostic> diagnostics;
  std::vector<proto::StageReport> stages;
  std::string digest;          // hex
  std::string tier;            // "process", "disk", "memory", "compiled", …
  double wait_seconds = 0;     // of the caller
  double compile_seconds = 0;  // the cost of compiling, now or when the entry was made
  std::string recorded;        // client_cpp/recorded_kernel.h; if SessionOptions requests it
};

// The result of one FetchEntry call.
struct EntryOutcome {
  std::string entry;  // its bytes (common/artifact/entry.h), checked; empty when there are errors
  std::vector<proto::Diagnostic> diagnostics;
  std::string tier;  // as in CompileOutcome
};

struct SessionStats {
  uint64_t kernels = 0, hits = 0, misses = 0;
  double seconds_saved = 0;
};

class Session {
 public:
  static absl::StatusOr<std::shared_ptr<Session>> Create(const SessionOptions& options);
  virtual ~Session() = default;

  // Compiles or fetches `unit`. Fills in its runtime ABI and glibc, and the host's target if it
  // names no device. User errors are diagnostics in the outcome.
  virtual absl::StatusOr<CompileOutcome> Compile(proto::CompileUnit unit,
                                                 const proto::SourceMap& source_map,
                                                 const proto::ReportOptions& report) = 0;

  // The instance of a key that is known from an earlier run. NotFound if neither this process, nor
  // the disk tier, nor a daemon's Lookup has it. Compiles nothing.
  virtual absl::StatusOr<CompileOutcome> Fetch(const Key& key) = 0;
  // Asks the daemon, in one request, for those of `keys` that are not on disk, and keeps them for
  // Fetch and Compile. Returns how many arrived. Failures are ignored.
  virtual int Prefetch(absl::Span<const Key> keys) = 0;
  // Has `recorded` compiled for `target`, for later programs: at low priority, and without loading
  // (the outcome has no kernel), so this machine need not run that target's code. `recorded` holds
  // the canonical bytes of a unit without target, its source map and, if stages are requested,
  // report options. FailedPrecondition in a read-only session.
  virtual absl::StatusOr<CompileOutcome> Warm(const proto::CompileRequest& recorded,
                                              Target target) = 0;
  // Compiles or fetches `unit` like Compile, and loads nothing: the entry may be relocatable, or
  // for another machine. A glibc in the unit's target replaces the session's.
  virtual absl::StatusOr<EntryOutcome> FetchEntry(proto::CompileUnit unit,
                                                  const proto::SourceMap& source_map) = 0;
  // Links relocatable entries' payloads into a module: in the daemon's worker or, without a daemon,
  // in a private one. InvalidArgument names what is wrong with the request.
  virtual absl::StatusOr<proto::LinkReply> Link(proto::LinkRequest request) = 0;
  // The ids of the compiler that keys are made for; empty while it is unknown.
  virtual CompilerIds compiler() = 0;
  // N of the glibc 2.N that kernels are compiled for.
  virtual uint32_t glibc() const = 0;
  virtual SessionStats stats() const = 0;
  virtual const std::string& home() const = 0;
  virtual bool read_only() const = 0;
  // OK, or PermissionDenied with the reason: others can write to the home. Then only entries that a
  // trusted key signed are used, and nothing is written to it.
  virtual const absl::Status& own_home() const = 0;

  // The daemon's statistics; clears the cache (both work without a daemon too).
  virtual absl::StatusOr<proto::StatsReply> DaemonStats() = 0;
  // The daemon's metrics and recent activity; NotFound if none runs.
  virtual absl::StatusOr<proto::MetricsReply> DaemonMetrics() = 0;
  virtual absl::StatusOr<proto::RecentReply> DaemonRecent(const proto::RecentRequest& request) = 0;
  virtual absl::StatusOr<proto::ClearReply> ClearCache() = 0;
  // Returns when the daemon has released the home.
  virtual absl::Status StopDaemon() = 0;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_SESSION_H_
