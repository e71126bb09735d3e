// The cache directory as a person or a script looks at it: single entries, and bundles in and
// out. Needs no daemon; one that runs learns of changes by itself.
//
// Thread safety: pure functions of the directory, which others may change meanwhile.
#ifndef KILN_CLIENT_CPP_CACHE_FILES_H_
#define KILN_CLIENT_CPP_CACHE_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lang/digest.h"
#include "lang/home.h"
#include "lang/signature.h"
#include "proto/artifact.pb.h"

namespace kiln {

struct EntryHead {
  Digest key;
  KeyId signer = 0;
  uint64_t payload_bytes = 0;
  proto::ArtifactInfo info;
};

// What the file at `path` says that it is. Cheap: its checksum is not looked at.
absl::StatusOr<EntryHead> ReadEntryHead(const std::string& path);

// OK if the file at `path` is a whole entry whose place is its name, else DataLoss; with
// `trusted`, also that one of these keys signed it (PermissionDenied).
absl::Status VerifyEntryFile(const std::string& path, const TrustedKeys* trusted);

struct ExportResult {
  uint64_t entries = 0;
  uint64_t bytes = 0;                 // of the bundle
  std::vector<std::string> left_out;  // files that are no whole entries, with the reason
};

// Writes the entries in `files` to a bundle (lang/bundle.h) at `path`, which is replaced when
// all is written. Signed by `key` unless that is null. The files' order does not matter.
absl::StatusOr<ExportResult> ExportBundle(std::vector<std::string> files, const std::string& path,
                                          const SigningKey* key);

struct ImportOptions {
  const TrustedKeys* trusted;    // not owned
  bool accept_unsigned = false;  // who can write the file then runs code as this user
  bool any_target = false;       // also what this machine cannot run
};

struct ImportResult {
  struct Refusal {
    Digest key;
    std::string kernel;
    const char* reason;  // "unsigned", "untrusted", "target"
    std::string text;
  };
  uint64_t entries = 0;   // in the bundle
  uint64_t imported = 0;  // written
  uint64_t present = 0;   // were there already
  uint64_t bytes = 0;     // written
  std::vector<Refusal> refused;
};

// Puts the bundle's entries into the cache of `home`. Taken are those that a trusted key
// signed, all of them if one signed the bundle. DataLoss if anything in the bundle is not
// whole: then nothing is taken.
absl::StatusOr<ImportResult> ImportBundle(const Home& home, const std::string& path,
                                          const ImportOptions& options);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_CACHE_FILES_H_
