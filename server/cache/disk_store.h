// Entries as files under <home>/cache, the tier that clients read directly and that outlives the
// daemon. Several processes may use one directory.
//
// The directory is authoritative: a look-up opens the file, whether or not the index knows it. Scan
// builds the index (sizes and last uses, for eviction and statistics) in the background, so opening
// a store is cheap however full it is.
//
// The store skips directories that others can write to, follows no links, and deletes only files
// with names that Kiln generates (common/home/folder.h).
//
// A file is written aside, read back, and renamed. By default it is not fsync'ed. A file torn by a
// power cut fails its checksum and is a miss, and compiling again is cheaper than a sync of every
// entry.
//
// This process's own entries never exceed the budget: a Put evicts before it writes. Usually there
// is room, because Maintain keeps some free in the background. Other processes' entries count after
// the next Scan.
//
// Last uses are timed by the store's own clock, which only advances: whatever the system's clock
// does, the latest use is the most recent.
#ifndef KILN_SERVER_CACHE_DISK_STORE_H_
#define KILN_SERVER_CACHE_DISK_STORE_H_

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/home/folder.h"
#include "common/home/home.h"
#include "server/cache/artifact_store.h"

namespace kiln {

struct DiskOptions {
  uint64_t max_bytes = uint64_t{2} << 30;
  bool sync = false;                             // stored entries survive a power cut
  bool read_only = false;                        // nothing is written, deleted or evicted
  std::function<void(const std::string&)> warn;  // called once per kind of problem
  std::function<void()> over_budget;             // called when Maintain has work
};

class DiskStore : public ArtifactStore {
 public:
  DiskStore(Home home, DiskOptions options);

  absl::string_view name() const override { return "disk"; }
  Found Get(const Place& place) override;
  absl::Status Put(const Place& place, EntryPtr entry) override;
  bool Contains(const Place& place) const override;
  void Remove(const Place& place) override;
  StoreStats Clear() override;
  StoreStats stats() const override;

  // Updates the index from the directory, which other processes change too, and removes abandoned
  // temporary files. The first Scan of a full cache is slow and belongs on a background thread.
  // Later ones look only at what has changed.
  void Scan();
  // Blocks until the first Scan has ended (true), or `timeout` (false).
  bool AwaitScan(absl::Duration timeout) const;

  // Records a client's use of the entry at `place`; returns the seconds that compiling it took (0
  // if the entry is gone).
  double Touch(const Place& place);

  // Scans, and evicts down to the part of the budget that should stay used. Writes last uses to the
  // files' times, for other processes and the next daemon.
  void Maintain();

 private:
  struct Item {
    uint64_t size = 0;
    int64_t last_use = 0;  // nanoseconds of the store's clock
    float seconds = -1;    // compile seconds; -1: not read yet
    bool touched = false;  // last_use is newer than the file's time
  };
  // One of the directory's 256 directories, named by the first byte of its places.
  struct Shard {
    absl::flat_hash_map<Place, Item> items;
    int64_t changed = -1;  // its time at the last scan; -1: not scanned
  };
  enum class State { kFresh, kScanning, kScanned };

  // The directories that are own; PermissionDenied otherwise.
  absl::StatusOr<Folder> OwnCache() const;
  absl::StatusOr<Folder> OwnShard(const Place& place) const;
  absl::StatusOr<Folder> OwnTemp(absl::StatusOr<Folder>* cache) const;
  absl::Status Unlink(const Place& place) const;
  static void ClearShard(const Folder& cache, const char* name, StoreStats* removed);
  absl::Status Write(const Place& place, const std::string& bytes);
  absl::StatusOr<std::string> Read(const Place& place) const;
  void Discard(const Place& place, const absl::Status& why);
  void Note(const Place& place, uint64_t size, double seconds);
  void Forget(const Place& place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Item* Find(const Place& place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetUse(const Place& place, Item* item, int64_t when) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetSize(Item* item, uint64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t Tick() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Warn(const std::string& kind, const std::string& message);
  void ScanShard(const absl::StatusOr<Folder>& cache, int number, bool whole);
  void RemoveAbandoned();
  // Reserves room for an entry before it is written.
  absl::Status MakeRoom(uint64_t size);
  // Evicts the least recently used until stored and reserved bytes are at most `target`.
  void EvictTo(uint64_t target);

  const Home home_;
  const DiskOptions options_;
  const std::string own_;  // part of the names of our temporary files: no other process uses it

  absl::Mutex scan_mutex_;  // one Scan at a time; before mutex_
  absl::Time whole_scan_ ABSL_GUARDED_BY(scan_mutex_) = absl::InfinitePast();

  absl::Mutex evict_mutex_;  // one evicts at a time; before mutex_

  mutable absl::Mutex mutex_;
  std::array<Shard, 256> shards_ ABSL_GUARDED_BY(mutex_);
  absl::btree_set<std::pair<int64_t, Place>> by_use_ ABSL_GUARDED_BY(mutex_);
  int64_t clock_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t reserved_ ABSL_GUARDED_BY(mutex_) = 0;  // being written
  uint64_t evictions_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t corrupt_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kFresh;
  std::chrono::steady_clock::time_point write_again_ ABSL_GUARDED_BY(mutex_){};
  absl::flat_hash_set<std::string> warned_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_DISK_STORE_H_
