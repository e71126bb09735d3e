#include "server/daemon/compiling/compiler_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/artifact/compiler_id.h"
#include "common/artifact/cuda_toolkit.h"
#include "common/base/status_macros.h"
#include "common/home/programs.h"
#include "common/wire/error_detail.h"

namespace kiln {
namespace {

std::string StampOf(const std::vector<std::string>& files) {
  std::string stamp;
  for (const std::string& file : files) {
    struct stat st = {};
    stat(file.c_str(), &st);
    absl::StrAppend(&stamp, st.st_ino, " ", st.st_size, " ", st.st_mtim.tv_sec, ".",
                    st.st_mtim.tv_nsec, "\n");
  }
  return stamp;
}

absl::StatusOr<CompilerIdRecord> Ask(const std::string& worker) {
  if (access(worker.c_str(), X_OK) == 0) return AskCompilerId(worker);
  return absl::FailedPreconditionError(NoCompiler(worker));
}

}  // namespace

CompilerIds CompilerIdentity::Latest() const {
  absl::MutexLock lock(&id_mutex_);
  return ids_;
}

absl::StatusOr<CompilerIds> CompilerIdentity::Known() {
  const CompilerIds ids = Latest();
  if (!ids.empty()) return ids;
  return Look();
}

absl::StatusOr<CompilerIds> CompilerIdentity::Look() {
  bool changed;
  CompilerIds ids;
  {
    absl::MutexLock lock(&mutex_);
    ASSIGN_OR_RETURN(ids, Find());
    absl::MutexLock id_lock(&id_mutex_);
    // The callback runs without the locks: it restarts workers.
    changed = !ids_.empty() && ids != ids_;
    ids_ = ids;
  }
  if (changed && changed_) changed_();
  return ids;
}

absl::StatusOr<CompilerIds> CompilerIdentity::Find() {
  absl::StatusOr<CompilerIds> recorded = ReadCompilerId(record_path_, worker_, CudaToolkit());
  // The record names all files of the compiler and their stamps, so a few stats suffice.
  if (recorded.ok()) return recorded;
  // For homes in which the record cannot be written: the worker is asked once, not at each
  // greeting.
  if (!asked_files_.empty() && StampOf(asked_files_) == asked_stamp_) return Latest();
  absl::StatusOr<CompilerIdRecord> record = Ask(worker_);
  if (!record.ok()) {
    absl::Status status = record.status();
    SetPart(&status, "compiler");
    return status;
  }
  asked_files_ = record->files;
  // Those that appear change the stamp, too.
  asked_files_.insert(asked_files_.end(), record->absent.begin(), record->absent.end());
  asked_stamp_ = StampOf(asked_files_);
  WriteCompilerId(record_path_, *record).IgnoreError();
  return record->ids;
}

}  // namespace kiln
