// The cache directory for people and scripts: single entries, export and import of bundles. Needs
// no daemon; a running daemon notices the changes.
//
// Thread safety: pure functions of the directory, which others may change meanwhile.
#ifndef KILN_CLIENT_CPP_CACHE_FILES_H_
#define KILN_CLIENT_CPP_CACHE_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/artifact/signature.h"
#include "common/base/digest.h"
#include "common/home/home.h"
#include "kiln/proto/artifact.pb.h"

namespace kiln {

struct EntryHead {
  Key key;
  KeyId signer = 0;
  uint64_t payload_bytes = 0;
  proto::ArtifactInfo info;
};

// The description in the file at `path`. Cheap: does not verify the checksum.
absl::StatusOr<EntryHead> ReadEntryHead(const std::string& path);

// OK if the file at `path` is a whole entry whose place is its name, else DataLoss. With `trusted`,
// one of these keys must have signed it (else PermissionDenied).
absl::Status VerifyEntryFile(const std::string& path, const TrustedKeys* trusted);

struct ExportResult {
  uint64_t entries = 0;
  uint64_t bytes = 0;                 // of the bundle
  std::vector<std::string> left_out;  // files that are not whole entries, with the reason
};

// Writes the entries in `files` to a bundle (common/artifact/bundle.h) at `path`, which it replaces
// when all is written. Signs with `key` unless that is null. The files' order does not matter.
absl::StatusOr<ExportResult> ExportBundle(std::vector<std::string> files, const std::string& path,
                                          const SigningKey* key);

struct ImportOptions {
  const TrustedKeys* trusted;    // not owned
  bool accept_unsigned = false;  // then others who can write the file run code as this user
  bool any_target = false;       // also entries that this machine cannot run
};

struct ImportResult {
  struct Refusal {
    Key key;
    std::string kernel;
    const char* reason;  // "unsigned", "untrusted", "target"
    std::string text;
  };
  uint64_t entries = 0;   // in the bundle
  uint64_t imported = 0;  // written
  uint64_t present = 0;   // already in the cache
  uint64_t bytes = 0;     // written
  std::vector<Refusal> refused;
};

// Stores the bundle's entries in the cache of `home`: those that a trusted key signed, or all of
// them if a trusted key signed the bundle. DataLoss if any part of the bundle is damaged: then
// nothing is stored.
absl::StatusOr<ImportResult> ImportBundle(const Home& home, const std::string& path,
                                          const ImportOptions& options);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_CACHE_FILES_H_
