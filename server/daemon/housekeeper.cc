#include "server/daemon/housekeeper.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "absl/time/time.h"
#include "common/artifact/hit_mark.h"
#include "common/base/clock.h"
#include "server/cache/trim_files.h"
#include "server/observe/metrics.h"

namespace kiln {
namespace {

// What a crash loses: the hits and times of use of one round.
constexpr absl::Duration kRound = absl::Seconds(5);
constexpr absl::Duration kScanPatience = absl::Seconds(2);
// `kiln top` asks each second; more often than that is not worth reading directories.
constexpr absl::Duration kScanAge = absl::Seconds(1);
constexpr absl::Duration kTrimAge = absl::Minutes(10);
constexpr int kBackgroundNice = 10;

}  // namespace

Housekeeper::Housekeeper(const Home& home, DiskStore* disk, uint64_t warm_bytes,
                         const ArtifactStore* tiers, Counters* counters)
    : home_(home),
      disk_(disk),
      warm_bytes_(warm_bytes),
      tiers_(tiers),
      counters_(counters),
      log_(home.HitLogPath(), counters->Load(home.StatsPath())) {}

Housekeeper::~Housekeeper() { Retire(); }

void Housekeeper::Retire() {
  if (retired_) return;
  retired_ = true;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  // The last round is ours: nothing writes the totals after it.
  if (thread_.joinable()) thread_.join();
  Round();
}

void Housekeeper::Start() {
  thread_ = std::thread([this] { Work(); });
}

void Housekeeper::Nudge() {
  absl::MutexLock lock(&mutex_);
  // Any number of calls is one round.
  nudged_ = true;
}

proto::StatsReply Housekeeper::Totals() {
  const bool indexed = disk_->AwaitScan(kScanPatience);
  absl::MutexLock lock(&round_mutex_);
  CountClientHits();
  // Clients without a daemon write to the cache, too.
  if (indexed && SteadyNow() - scanned_ > kScanAge) {
    disk_->Scan();
    scanned_ = SteadyNow();
  }
  return TotalsNow();
}

proto::StatsReply Housekeeper::Counted() {
  // A round may take a while; it counts clients' hits itself.
  if (round_mutex_.TryLock()) {
    CountClientHits();
    round_mutex_.Unlock();
  }
  return counters_->Totals();
}

void Housekeeper::Work() {
  // On Linux this is the thread's own priority: scans must not delay requests.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kBackgroundNice);
  disk_->Scan();
  absl::Time trimmed = absl::InfinitePast();
  while (true) {
    Round();
    if (warm_bytes_ != 0 && SteadyNow() - trimmed > kTrimAge) {
      trimmed = SteadyNow();
      TrimFiles(home_.WarmDir(), warm_bytes_);
    }
    absl::MutexLock lock(&mutex_);
    auto called = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return nudged_ || stopping_; };
    mutex_.AwaitWithTimeout(absl::Condition(&called), kRound);
    nudged_ = false;
    if (stopping_) return;
  }
}

void Housekeeper::Round() {
  absl::MutexLock lock(&round_mutex_);
  // Before eviction, so that entries that clients used recently count as recent.
  CountClientHits();
  disk_->Maintain();
  const uint64_t version = counters_->version();
  // An idle daemon writes nothing.
  if (version == saved_version_) return;
  if (Counters::Save(home_.StatsPath(), TotalsNow(), log_.offset()).ok()) {
    saved_version_ = version;
  }
}

void Housekeeper::CountClientHits() {
  static Counter* const fallbacks = Metrics::Get().counter("kiln_fallbacks_total");
  for (const Place& place : log_.ReadNew()) {
    if (place == FallbackMark()) {
      fallbacks->Add();
    } else {
      counters_->Hit("client", disk_->Touch(place));
    }
  }
}

proto::StatsReply Housekeeper::TotalsNow() const {
  proto::StatsReply totals = counters_->Totals();
  const StoreStats cache = tiers_->stats();
  totals.set_entries(cache.entries);
  totals.set_bytes(cache.bytes);
  // The counters contain the totals of earlier daemons.
  totals.set_evictions(totals.evictions() + cache.evictions);
  totals.set_corrupt(totals.corrupt() + cache.corrupt);
  return totals;
}

}  // namespace kiln
