// The cache directory as clients use it: entries mapped and loaded in place, without
// asking anyone.
//
// Thread safety: all methods; several processes may use one directory.
#ifndef KILN_CLIENT_CPP_DISK_TIER_H_
#define KILN_CLIENT_CPP_DISK_TIER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client_cpp/entry_trust.h"
#include "lang/digest.h"
#include "lang/hit_mark.h"
#include "lang/home.h"
#include "runtime/loaded_kernel.h"

namespace kiln {

class DiskTier {
 public:
  struct Mode {
    bool read_only = false;  // nothing is deleted, noted or kept
    bool foreign = false;    // others can exchange the directory: each entry must be signed
  };
  // `trust` is not owned.
  DiskTier(Home home, const EntryTrust* trust, Mode mode)
      : home_(std::move(home)), trust_(trust), mode_(mode) {}

  // The kernel of `key`, its entry checked in full, and its signature where one is needed;
  // NotFound otherwise. An own entry that is not whole is deleted. A hit is noted in the
  // hit log.
  absl::StatusOr<std::shared_ptr<const LoadedKernel>> Load(const Digest& key) const;

  // Tells the daemon, when it is back, that a compilation was run without it.
  void NoteFallback() const { NoteHit(FallbackMark()); }
  // What the whole entry of `key` says of itself, whatever machine it is for; NotFound otherwise.
  absl::StatusOr<proto::ArtifactInfo> Check(const Digest& key) const;
  // The entry of `key` counts as used just now, when it is decided what is deleted.
  void Touch(const Digest& key) const;

  // Keeps `entry`: written aside, renamed. A process that cannot says so once.
  void Store(const Digest& key, absl::string_view entry) const;

 private:
  void NoteHit(const Digest& key) const;
  void Remove(const Digest& key) const;
  const Home home_;
  const EntryTrust* const trust_;
  const Mode mode_;
};

// Makes the file of an entry that belongs at `place`: written aside, renamed.
absl::Status WriteEntryFile(const Home& home, const Digest& place, absl::string_view entry);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_DISK_TIER_H_
