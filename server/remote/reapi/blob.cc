#include "server/remote/reapi/blob.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/artifact/entry.h"
#include "common/base/deterministic.h"
#include "common/base/status_macros.h"

namespace kiln {
namespace {

// Part of each action's digest: entries of another format get other actions.
std::string Salt() { return absl::StrCat("kiln entry ", kEntryVersion); }

}  // namespace

Blob::Blob(std::string bytes) : data(std::move(bytes)), digest(BlobDigest(data)) {}

reapi::Digest BlobDigest(absl::string_view data) {
  reapi::Digest digest;
  digest.set_hash(Sha256Of(data).Hex());
  digest.set_size_bytes(static_cast<int64_t>(data.size()));
  return digest;
}

bool SameDigest(const reapi::Digest& a, const reapi::Digest& b) {
  return a.size_bytes() == b.size_bytes() && a.hash() == b.hash();
}

absl::Status CheckDigest(const reapi::Digest& digest, size_t max_size) {
  const bool good = digest.hash().size() == 64 &&
                    // Also because it becomes part of a resource name, where a slash would change
                    // the meaning.
                    digest.hash().find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!good) return absl::InvalidArgumentError("expected a SHA-256 digest, got another");
  // The size is the server's claim, and memory is allocated by it.
  if (digest.size_bytes() < 0 || static_cast<uint64_t>(digest.size_bytes()) > max_size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a blob of ", digest.size_bytes(), " bytes, and at most ", max_size, " were expected"));
  }
  return absl::OkStatus();
}

absl::Status CheckBlob(const reapi::Digest& digest, absl::string_view data) {
  if (static_cast<int64_t>(data.size()) != digest.size_bytes()) {
    return absl::DataLossError(absl::StrCat("blob ", digest.hash(), " came with ", data.size(),
                                            " of ", digest.size_bytes(), " bytes"));
  }
  if (Sha256Of(data).Hex() != digest.hash()) {
    return absl::DataLossError(
        absl::StrCat("the bytes of blob ", digest.hash(), " have another digest"));
  }
  return absl::OkStatus();
}

// Action caches map actions to results. An entry has no real action, so its place is disguised as
// one: a command that never runs, whose input file names the place.
EntryAction EntryActionOf(const Place& place) {
  Blob name(place.Hex());
  reapi::Directory root;
  reapi::FileNode* file = root.add_files();
  file->set_name("place");
  *file->mutable_digest() = name.digest;
  Blob directory(DeterministicBytes(root));

  reapi::Command command;
  command.add_arguments("kiln-entry");
  command.add_arguments("place");
  // As in execution.cc: the old and the new field.
  command.add_output_files(kEntryPath);
  command.add_output_paths(kEntryPath);
  Blob command_blob(DeterministicBytes(command));

  reapi::Action action;
  *action.mutable_command_digest() = command_blob.digest;
  *action.mutable_input_root_digest() = directory.digest;
  action.set_salt(Salt());
  Blob action_blob(DeterministicBytes(action));

  EntryAction made;
  made.action = action_blob.digest;
  made.inputs.push_back(std::move(name));
  made.inputs.push_back(std::move(directory));
  made.inputs.push_back(std::move(command_blob));
  made.inputs.push_back(std::move(action_blob));
  return made;
}

reapi::ActionResult EntryResult(const reapi::Digest& entry) {
  reapi::ActionResult result;
  reapi::OutputFile* file = result.add_output_files();
  file->set_path(kEntryPath);
  *file->mutable_digest() = entry;
  // Servers treat a result without the name of its worker as damaged.
  result.mutable_execution_metadata()->set_worker("kiln");
  return result;
}

absl::StatusOr<reapi::OutputFile> OutputOf(const reapi::ActionResult& result,
                                           absl::string_view path, size_t max_size) {
  // Entries are stored with status 0, so another program wrote this result.
  if (result.exit_code() != 0) {
    return absl::DataLossError(
        absl::StrCat("an action's result with exit status ", result.exit_code()));
  }
  for (const reapi::OutputFile& file : result.output_files()) {
    if (file.path() != path) continue;
    if (const absl::Status good = CheckDigest(file.digest(), max_size); !good.ok()) {
      return absl::DataLossError(absl::StrCat("an action's result names ", good.message()));
    }
    return file;
  }
  return absl::DataLossError(absl::StrCat("an action's result without its file \"", path, "\""));
}

}  // namespace kiln
