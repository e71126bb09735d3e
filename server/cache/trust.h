// Decides which entries this daemon accepts, and signs its own.
//
// Entries are machine code: anyone who can put one here runs code as the user. Every entry from
// outside (a shared tier, an upstream, remote execution, Put, a bundle) therefore needs a signature
// by a trusted key. Without one it is refused, and a refusal is a miss, never an error. Entries in
// the user's own directory need none: only the user can write there.
//
// The daemon signs what its own workers compiled, and nothing else.
//
// Thread-safe.
#ifndef KILN_SERVER_CACHE_TRUST_H_
#define KILN_SERVER_CACHE_TRUST_H_

#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/artifact/signature.h"
#include "common/base/digest.h"
#include "server/cache/artifact_store.h"

namespace kiln {

struct TrustOptions {
  std::vector<std::string> key_files;            // of TrustedKeys
  std::string signing_key_file;                  // "": nothing is signed
  bool accept_unsigned = false;                  // accepts any whole entry
  std::function<void(const std::string&)> warn;  // told once per source and reason
};

class Trust {
 public:
  // Trusts no key and signs nothing.
  Trust() = default;
  Trust(const Trust&) = delete;
  Trust& operator=(const Trust&) = delete;

  // Reads the key files; an error names the file, and the line if there is one. Call first. The
  // daemon trusts its own signatures.
  absl::Status Load(TrustOptions options);

  // An entry from outside, if it is whole, its place is `place` and a trusted key signed it.
  // Otherwise DataLoss or PermissionDenied with the reason; counted, and logged once. `source`
  // names its origin in messages: "tier redis". The keys of the requesting `caller` are trusted as
  // well.
  absl::StatusOr<EntryPtr> Admit(const Place& place, std::string bytes, absl::string_view source,
                                 const TrustedKeys& caller = {});

  // An entry that our own worker made: checked, and signed if there is a key.
  absl::StatusOr<EntryPtr> Vouch(const Place& place, std::string bytes);

  // Whether any entry from outside can be accepted.
  bool admits() const { return options_.accept_unsigned || !keys_.empty(); }
  bool signs() const { return signing_.has_value(); }

  // Results of Admit and Vouch, for statistics.
  enum Outcome { kAdmitted, kDamaged, kUnsigned, kUntrusted, kSigned };
  static constexpr int kOutcomes = 5;
  static const char* NameOf(Outcome outcome);
  uint64_t count(Outcome outcome) const { return counts_[outcome].load(); }

 private:
  absl::Status Refuse(Outcome why, const absl::Status& status, absl::string_view source,
                      const Place& place);

  TrustOptions options_;
  TrustedKeys keys_;
  std::optional<SigningKey> signing_;
  std::array<std::atomic<uint64_t>, kOutcomes> counts_{};
  absl::Mutex mutex_;
  absl::flat_hash_set<std::string> warned_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_TRUST_H_
