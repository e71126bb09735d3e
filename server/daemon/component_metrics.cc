#include "server/daemon/component_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace kiln {
namespace {

// From /proc: what operators see in `ps` and what limits of a container count.
double ResidentBytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long pages = 0;  // NOLINT(google-runtime-int): what scanf reads
  const bool read = std::fscanf(file, "%*u %lu", &pages) == 1;
  std::fclose(file);
  return read ? static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

double CpuSeconds() {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double OpenFiles() {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return 0;
  int count = -3;  // ".", ".." and the directory itself
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

// Copied when metrics are collected: the components count for themselves, without a second counter
// at each event.
void WriteCache(const WatchedComponents& rooms) {
  Metrics& metrics = Metrics::Get();
  for (const ArtifactStore* tier : rooms.tiers) {
    const StoreStats stats = tier->stats();
    metrics.gauge("kiln_cache_entries", tier->name())->Set(static_cast<double>(stats.entries));
    metrics.gauge("kiln_cache_bytes", tier->name())->Set(static_cast<double>(stats.bytes));
    // Set and not added: the component has the sum.
    metrics.counter("kiln_cache_evictions_total", tier->name())
        ->SetElsewhere(static_cast<double>(stats.evictions));
    metrics.counter("kiln_cache_corrupt_total", tier->name())
        ->SetElsewhere(static_cast<double>(stats.corrupt));
  }
  // Counts without waiting for the disk, so that metrics come even if it hangs.
  const proto::StatsReply totals = rooms.housekeeper->Counted();
  for (const auto& [tier, hits] : totals.hits_by_tier()) {
    metrics.counter("kiln_cache_hits_total", tier)->SetElsewhere(static_cast<double>(hits));
  }
  metrics.counter("kiln_cache_saved_seconds_total")->SetElsewhere(totals.seconds_saved());
}

void WriteWork(const WatchedComponents& rooms) {
  Metrics& metrics = Metrics::Get();
  const PoolStats pool = rooms.pool->stats();
  metrics.gauge("kiln_queue_jobs")->Set(static_cast<double>(pool.waiting));
  metrics.gauge("kiln_workers", "busy")->Set(static_cast<double>(pool.busy));
  metrics.gauge("kiln_workers", "idle")->Set(static_cast<double>(pool.workers - pool.busy));
  metrics.gauge("kiln_poisoned_keys")->Set(static_cast<double>(pool.poisoned));
  metrics.counter("kiln_worker_deaths_total")->SetElsewhere(static_cast<double>(pool.deaths));
  const Connections::Load load = rooms.connections->load();
  metrics.gauge("kiln_connections")->Set(static_cast<double>(load.connections));
  metrics.gauge("kiln_running_requests")->Set(static_cast<double>(load.running));
  metrics.gauge("kiln_clients")->Set(rooms.activity->clients());
}

void WriteOutside(const WatchedComponents& rooms) {
  Metrics& metrics = Metrics::Get();
  for (int i = 0; i < Trust::kOutcomes; ++i) {
    const auto outcome = static_cast<Trust::Outcome>(i);
    metrics.counter("kiln_entries_checked_total", Trust::NameOf(outcome))
        ->SetElsewhere(static_cast<double>(rooms.trust->count(outcome)));
  }
  const SharedTiers::Stats stats = rooms.shared->stats();
  const std::pair<const char*, uint64_t> events[] = {{"start", stats.starts},
                                                     {"timeout", stats.timeouts},
                                                     {"dropped", stats.dropped},
                                                     {"waited", stats.waits}};
  for (const auto& [event, count] : events) {
    metrics.counter("kiln_shared_events_total", event)->SetElsewhere(static_cast<double>(count));
  }
  metrics.gauge("kiln_shared_queued_bytes")->Set(static_cast<double>(stats.queued_bytes));
}

void WriteProcess() {
  Metrics& metrics = Metrics::Get();
  metrics.gauge("kiln_resident_bytes")->Set(ResidentBytes());
  metrics.counter("kiln_cpu_seconds_total")->SetElsewhere(CpuSeconds());
  metrics.gauge("kiln_open_files")->Set(OpenFiles());
}

}  // namespace

std::unique_ptr<Metrics::Watch> WatchComponents(const WatchedComponents& rooms) {
  return std::make_unique<Metrics::Watch>([rooms] {
    WriteCache(rooms);
    WriteWork(rooms);
    WriteOutside(rooms);
    WriteProcess();
  });
}

}  // namespace kiln
