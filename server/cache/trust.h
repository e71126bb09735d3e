// Whose entries this daemon takes, and what it puts its own name to.
//
// Entries are machine code: whoever can put one here runs code as the user. So whatever comes
// from outside (a shared tier, an upstream, remote execution, Put, a bundle) needs a signature
// by a key that is trusted, and is refused without: a refusal is a miss, never an error. What
// lies in the user's own directory needs none: who can write there is the user.
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
#include "lang/digest.h"
#include "lang/signature.h"
#include "server/cache/artifact_store.h"

namespace kiln {

struct TrustOptions {
  std::vector<std::string> key_files;            // of TrustedKeys
  std::string signing_key_file;                  // "": nothing is signed
  bool accept_unsigned = false;                  // takes what it is given, if it is whole
  std::function<void(const std::string&)> warn;  // told once per source and reason
};

class Trust {
 public:
  // Trusts nobody and signs nothing.
  Trust() = default;
  Trust(const Trust&) = delete;
  Trust& operator=(const Trust&) = delete;

  // Reads the key files; an error names the file, and the line where there is one. Before
  // anything else. What this daemon signs, it trusts.
  absl::Status Load(TrustOptions options);

  // What is outside's: the entry, if it is whole, belongs at `place` and may be trusted.
  // DataLoss or PermissionDenied otherwise, with the reason; counted, and said loudly once.
  // `source` names where it came from, in messages: "tier redis". The keys of `caller`, who asked
  // for it, count as well.
  absl::StatusOr<EntryPtr> Admit(const Digest& place, std::string bytes, absl::string_view source,
                                 const TrustedKeys& caller = {});

  // What our own worker made: checked, and signed if there is a key.
  absl::StatusOr<EntryPtr> Vouch(const Digest& place, std::string bytes);

  // Whether anything of outside's can be taken.
  bool admits() const { return options_.accept_unsigned || !keys_.empty(); }
  bool signs() const { return signing_.has_value(); }

  // Why entries were refused, and how many were not.
  enum Outcome { kAdmitted, kDamaged, kUnsigned, kUntrusted, kSigned };
  static constexpr int kOutcomes = 5;
  static const char* NameOf(Outcome outcome);
  uint64_t count(Outcome outcome) const { return counts_[outcome].load(); }

 private:
  absl::Status Refuse(Outcome why, const absl::Status& status, absl::string_view source,
                      const Digest& place);

  TrustOptions options_;
  TrustedKeys keys_;
  std::optional<SigningKey> signing_;
  std::array<std::atomic<uint64_t>, kOutcomes> counts_{};
  absl::Mutex mutex_;
  absl::flat_hash_set<std::string> warned_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_TRUST_H_
