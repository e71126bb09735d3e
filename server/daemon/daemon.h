// The composition root of kilnd. It creates all components in the order of their dependencies, and
// destroys them in reverse.
#ifndef KILN_SERVER_DAEMON_DAEMON_H_
#define KILN_SERVER_DAEMON_DAEMON_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/home/home.h"
#include "server/cache/counters.h"
#include "server/cache/disk_store.h"
#include "server/cache/memory_store.h"
#include "server/cache/tiered_store.h"
#include "server/cache/trust.h"
#include "server/daemon/compiling/compile_service.h"
#include "server/daemon/compiling/compiler_identity.h"
#include "server/daemon/compiling/link_service.h"
#include "server/daemon/compiling/shared_tiers.h"
#include "server/daemon/component_metrics.h"
#include "server/daemon/flags.h"
#include "server/daemon/fronts/front.h"
#include "server/daemon/housekeeper.h"
#include "server/daemon/own_file.h"
#include "server/daemon/serving/connections.h"
#include "server/daemon/serving/handler.h"
#include "server/daemon/single_instance.h"
#include "server/daemon/stop_signal.h"
#include "server/daemon/worker_reports.h"
#include "server/daemon/workers/worker_pool.h"
#include "server/front/generation.h"
#include "server/front/quotas.h"
#include "server/observe/activity.h"
#include "server/observe/metrics.h"

namespace kiln {

// `compiler` outlives the result.
SharedTiers::Options SharedOptions(const Flags& flags, CompilerIdentity* compiler);

// All components. Members are in the order of their use, so they are destroyed in the reverse one.
class Daemon {
 public:
  Daemon(const Flags& flags, const Home& home, const SingleInstance& instance, Trust* trust,
         StopSignal* stop);
  // Serves until a stop request or the idle timeout, and then drains.
  void Run();

 private:
  DiskOptions MakeDiskOptions();
  uint64_t WarmBytes() const;
  PoolOptions MakePoolOptions();
  CompileService::Parts CompileParts();
  Handler::Parts HandlerParts();
  WatchedComponents Components();
  std::vector<std::string> GrpcArguments() const;
  std::vector<std::string> WebArguments() const;

  void CloseUnusedSockets();
  void HandOverTo(pid_t successor);
  void Drain(absl::Time end);

  const Flags& flags_;
  const Home& home_;
  SingleInstance instance_;
  Trust* const trust_;
  StopSignal* const stop_;
  const OwnFile own_file_;

  DiskStore disk_{home_, MakeDiskOptions()};
  Generation generation_;
  MemoryStore memory_{flags_.memory_bytes, [this] { generation_.Advance(); }};
  TieredStore tiers_{{&memory_, &disk_}};
  Counters counters_;
  Housekeeper housekeeper_{home_, &disk_, WarmBytes(), &tiers_, &counters_};

  WorkerReports reports_;
  std::unique_ptr<WorkerPool> pool_ = std::make_unique<WorkerPool>(MakePoolOptions());
  CompilerIdentity compiler_{home_.CompilerIdPath(), flags_.worker, [this] { pool_->Renew(); }};
  SharedTiers shared_{SharedOptions(flags_, &compiler_)};
  // One attempt, one repetition after a worker died, and the way.
  const absl::Duration compile_limit_ = 2 * flags_.job_limit + absl::Seconds(10);
  CompileService compiles_{CompileParts()};
  LinkService links_{pool_.get(), compile_limit_};

  Activity activity_;
  Handler handler_{HandlerParts()};
  // Separate quotas: an incomplete request must not hold back its caller's other replies.
  Quotas requests_{Quotas::FromConfig(flags_.config.limits())};
  Quotas replies_{Quotas::FromConfig(flags_.config.limits())};
  Connections connections_{&handler_, &requests_, &replies_, flags_.max_connections};
  const std::unique_ptr<Metrics::Watch> watch_ = WatchComponents(Components());

  Front grpc_{flags_.GrpcFrontPath(), GrpcArguments(), flags_.config.service().listen(),
              &instance_.given, &generation_};
  Front web_{flags_.WebFrontPath(), WebArguments(), flags_.config.web().listen(), &instance_.given};
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_DAEMON_H_
