// Entries as files under <home>/cache, the tier that clients read directly and
// that outlives the daemon. Several processes may use one directory.
//
// The directory is the truth: a lookup opens the file, whether or not the index
// knows it. The index (sizes and last uses, for eviction and statistics) is made
// by Scan in the background, so opening a store costs nothing however full it is.
//
// Directories that others can write to are left alone, links are not followed, and only files that
// have names of ours are deleted (lang/folder.h).
//
// A file is written aside, read back, and renamed. It is not fsync'ed by
// default: a file torn by a power cut fails its checksum and is a miss, and
// compiling again is cheaper than a sync of every entry.
//
// The budget is never exceeded by what this process knows of: a Put makes room
// before it writes. Normally there is room, because Maintain keeps some free in
// the background. What other processes write is known after the next Scan.
//
// Last uses are counted by a clock of the store's own, which only goes forward:
// whatever the system's clock does, what is used now is the youngest.
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
#include "lang/folder.h"
#include "lang/home.h"
#include "server/cache/artifact_store.h"

namespace kiln {

struct DiskOptions {
  uint64_t max_bytes = uint64_t{2} << 30;
  bool sync = false;                             // what Put has kept survives a power cut
  bool read_only = false;                        // nothing is written, deleted or evicted
  std::function<void(const std::string&)> warn;  // told once per kind of trouble
  std::function<void()> over_budget;             // told when Maintain has work
};

class DiskStore : public ArtifactStore {
 public:
  DiskStore(Home home, DiskOptions options);

  absl::string_view name() const override { return "disk"; }
  Found Get(const Digest& key) override;
  absl::Status Put(const Digest& key, EntryPtr entry) override;
  bool Contains(const Digest& key) const override;
  void Remove(const Digest& key) override;
  StoreStats Clear() override;
  StoreStats stats() const override;

  // Brings the index in line with the directory, which other processes change too,
  // and removes abandoned temporary files. Slow for a full cache the first time: that one
  // is for a background thread. Later ones look at what has changed.
  void Scan();
  // Blocks until the first Scan has ended, or `timeout`; says which.
  bool AwaitScan(absl::Duration timeout) const;

  // Notes that a client used `key`; returns the seconds that compiling it took
  // (0 when the entry is gone).
  double Touch(const Digest& key);

  // Scans, evicts what is over the part of the budget that is to stay free, and writes last
  // uses to the files' times, where other processes and the next daemon find them.
  void Maintain();

 private:
  struct Item {
    uint64_t size = 0;
    int64_t last_use = 0;  // nanoseconds of the store's clock
    float seconds = -1;    // compile seconds; -1: not read yet
    bool touched = false;  // last_use is newer than the file's time
  };
  // One of the directory's 256 directories, named by the first byte of its keys.
  struct Shard {
    absl::flat_hash_map<Digest, Item> items;
    int64_t changed = -1;  // its time when it was last scanned; -1: to be scanned
  };
  enum class State { kFresh, kScanning, kScanned };

  // Directories that are own; PermissionDenied otherwise.
  absl::StatusOr<Folder> OwnCache() const;
  absl::StatusOr<Folder> OwnShard(const Digest& key) const;
  absl::StatusOr<Folder> OwnTemp(absl::StatusOr<Folder>* cache) const;
  absl::Status Unlink(const Digest& key) const;
  static void ClearShard(const Folder& cache, const char* name, StoreStats* removed);
  absl::Status Write(const Digest& key, const std::string& bytes);
  absl::StatusOr<std::string> Read(const Digest& key) const;
  void Discard(const Digest& key, const absl::Status& why);
  void Note(const Digest& key, uint64_t size, double seconds);
  void Forget(const Digest& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Item* Find(const Digest& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetUse(const Digest& key, Item* item, int64_t when) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetSize(Item* item, uint64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t Tick() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Warn(const std::string& kind, const std::string& message);
  void ScanShard(const absl::StatusOr<Folder>& cache, int number, bool whole);
  void RemoveAbandoned();
  // Reserves room for an entry that is about to be written.
  absl::Status MakeRoom(uint64_t size);
  // Deletes what was used longest ago until all that is kept and reserved is `target` bytes.
  void EvictTo(uint64_t target);

  const Home home_;
  const DiskOptions options_;
  const std::string own_;  // in the names of our temporary files: nobody else's are so named

  absl::Mutex scan_mutex_;  // one Scan at a time; before mutex_
  absl::Time whole_scan_ ABSL_GUARDED_BY(scan_mutex_) = absl::InfinitePast();

  absl::Mutex evict_mutex_;  // one evicts at a time; before mutex_

  mutable absl::Mutex mutex_;
  std::array<Shard, 256> shards_ ABSL_GUARDED_BY(mutex_);
  absl::btree_set<std::pair<int64_t, Digest>> by_use_ ABSL_GUARDED_BY(mutex_);
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
