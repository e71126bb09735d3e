// Decides which entries a client may run: entries are machine code.
//
// Own files (common/home/folder.h) and answers of this user's own daemon need no signature. A
// trusted key (common/artifact/signature.h) must have signed:
//   - files that are not own, and all files in a home or cache directory that is not
//   - with KILN_REQUIRE_SIGNED=1, everything except what this process's own worker compiles
//
// The user's keys (common/artifact/user_keys.h) are trusted; they are read when the first signature
// is checked.
//
// Thread safety: all methods. A child may use it whatever other threads did when it was forked.
#ifndef KILN_CLIENT_CPP_ENTRY_TRUST_H_
#define KILN_CLIENT_CPP_ENTRY_TRUST_H_

#include <atomic>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/artifact/entry.h"
#include "common/artifact/signature.h"
#include "common/home/home.h"

namespace kiln {

class EntryTrust {
 public:
  explicit EntryTrust(Home home);
  ~EntryTrust();
  EntryTrust(const EntryTrust&) = delete;
  EntryTrust& operator=(const EntryTrust&) = delete;

  // Whether everything must be signed.
  bool required() const { return required_; }
  // OK if a trusted key signed `entry`; PermissionDenied otherwise, reported on stderr once per
  // process.
  absl::Status Check(const EntryView& entry) const;
  // The same for the bytes of an entry; OK if no signature is required.
  absl::Status CheckReply(absl::string_view entry) const;

 private:
  using Keys = absl::StatusOr<TrustedKeys>;

  const Keys& UserKeys() const;

  const Home home_;
  const bool required_;
  // Null until the keys have been read. Owned; published by one store, so that no thread waits for
  // another: in a forked child the other thread would not exist.
  mutable std::atomic<const Keys*> keys_{nullptr};
  mutable std::atomic<bool> warned_{false};
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_ENTRY_TRUST_H_
