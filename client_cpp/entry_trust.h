// Which entries a client may run: entries are machine code.
//
// What lies in a directory that only this user can write needs no signature, and what this
// user's own daemon answers neither. Signed by a trusted key (lang/signature.h) must be:
//   - files of other users, and all in a home or cache directory that others own or may
//     write to (the user's own group is the user); looked at once in a process
//   - with KILN_REQUIRE_SIGNED=1, everything but what this process's own worker compiles
// Trusted keys are the lines of the file KILN_TRUSTED_KEYS, else <home>/trusted.keys; it is
// read when a signature is first asked for.
//
// Thread safety: all methods.
#ifndef KILN_CLIENT_CPP_ENTRY_TRUST_H_
#define KILN_CLIENT_CPP_ENTRY_TRUST_H_

#include <sys/stat.h>

#include <atomic>

#include "absl/base/call_once.h"
#include "absl/status/status.h"
#include "lang/entry.h"
#include "lang/home.h"
#include "lang/signature.h"

namespace kiln {

class EntryTrust {
 public:
  explicit EntryTrust(Home home);

  // Whether everything must be signed.
  bool required() const { return required_; }
  // Whether what is in `file`, found in the cache directory, may be somebody else's.
  bool IsForeign(const struct stat& file) const;

  // OK if a trusted key signed `entry`; PermissionDenied otherwise. Says so on stderr, once
  // in a process.
  absl::Status Check(const EntryView& entry) const;
  // The same for the bytes of an entry; OK where no signature is required.
  absl::Status CheckReply(absl::string_view entry) const;

 private:
  const Home home_;
  const bool required_;
  mutable absl::once_flag looked_, read_;
  mutable bool foreign_directory_ = false;
  mutable TrustedKeys keys_;
  mutable absl::Status keys_status_;
  mutable std::atomic<bool> warned_{false};
};

// The keys of a client of `home`, as above.
absl::StatusOr<TrustedKeys> ReadTrustedKeys(const Home& home);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_ENTRY_TRUST_H_
