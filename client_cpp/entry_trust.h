// Which entries a client may run: entries are machine code.
//
// What is own (lang/folder.h) needs no signature, and what this user's own daemon answers neither.
// Signed by a trusted key (lang/signature.h) must be:
//   - files that are not own, and all in a home or cache directory that is not
//   - with KILN_REQUIRE_SIGNED=1, everything but what this process's own worker compiles
// Trusted are the user's keys (lang/user_keys.h); they are read when a signature is first asked
// for.
//
// Thread safety: all methods.
#ifndef KILN_CLIENT_CPP_ENTRY_TRUST_H_
#define KILN_CLIENT_CPP_ENTRY_TRUST_H_

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
  // OK if a trusted key signed `entry`; PermissionDenied otherwise. Says so on stderr, once
  // in a process.
  absl::Status Check(const EntryView& entry) const;
  // The same for the bytes of an entry; OK where no signature is required.
  absl::Status CheckReply(absl::string_view entry) const;

 private:
  const Home home_;
  const bool required_;
  mutable absl::once_flag read_;
  mutable TrustedKeys keys_;
  mutable absl::Status keys_status_;
  mutable std::atomic<bool> warned_{false};
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_ENTRY_TRUST_H_
