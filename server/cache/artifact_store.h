// A store of entries (common/artifact/entry.h), keyed by place (PlaceOf: the key, except for named
// tenants). Each implementation has one behaviour: memory, disk, a combination of tiers.
//
// A look-up never fails: an absent, unreadable or corrupt entry is a miss. All methods may be
// called from any thread.
#ifndef KILN_SERVER_CACHE_ARTIFACT_STORE_H_
#define KILN_SERVER_CACHE_ARTIFACT_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/artifact/entry.h"
#include "common/base/digest.h"

namespace kiln {

// A whole, checked entry; immutable, shared by its readers.
struct StoredEntry {
  std::string bytes;
  double compile_seconds = 0;  // the cost of compiling it: every hit saves it
};
using EntryPtr = std::shared_ptr<const StoredEntry>;

// Checks that `bytes` are an entry whose place is `place`; DataLoss otherwise.
absl::StatusOr<EntryPtr> CheckEntry(const Place& place, std::string bytes);
// The same for bytes that were checked except for their place; `view` is of them.
absl::StatusOr<EntryPtr> EntryAt(const Place& place, const EntryView& view, std::string bytes);

// The result of a look-up. `tier` names the store, for people and statistics.
struct Found {
  EntryPtr entry;  // null: a miss
  absl::string_view tier;
};

struct StoreStats {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t evictions = 0;
  uint64_t corrupt = 0;  // failed their check and were deleted
};

class ArtifactStore {
 public:
  virtual ~ArtifactStore() = default;

  virtual absl::string_view name() const = 0;
  virtual Found Get(const Place& place) = 0;
  // Stores `entry`. A failure means only that this store does not have it.
  virtual absl::Status Put(const Place& place, EntryPtr entry) = 0;
  // Cheap, without checking the bytes: a later Get may still miss.
  virtual bool Contains(const Place& place) const = 0;
  virtual void Remove(const Place& place) = 0;
  // Removes everything; returns what was removed.
  virtual StoreStats Clear() = 0;
  virtual StoreStats stats() const = 0;
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_ARTIFACT_STORE_H_
