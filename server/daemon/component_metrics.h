// Gauges sampled from components when metrics are collected: sizes, queues, totals across restarts,
// the process.
#ifndef KILN_SERVER_DAEMON_COMPONENT_METRICS_H_
#define KILN_SERVER_DAEMON_COMPONENT_METRICS_H_

#include <memory>
#include <vector>

#include "server/cache/artifact_store.h"
#include "server/cache/trust.h"
#include "server/daemon/compiling/shared_tiers.h"
#include "server/daemon/housekeeper.h"
#include "server/daemon/serving/connections.h"
#include "server/daemon/workers/worker_pool.h"
#include "server/observe/activity.h"
#include "server/observe/metrics.h"

namespace kiln {

struct WatchedComponents {  // none owned; all outlive the watch
  std::vector<const ArtifactStore*> tiers;
  Housekeeper* housekeeper;
  const WorkerPool* pool;
  const Connections* connections;
  const Activity* activity;
  const Trust* trust;
  const SharedTiers* shared;
};

std::unique_ptr<Metrics::Watch> WatchComponents(const WatchedComponents& rooms);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_COMPONENT_METRICS_H_
