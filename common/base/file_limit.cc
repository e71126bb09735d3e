#include "common/base/file_limit.h"

#include <errno.h>
#include <sys/resource.h>

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace kiln {
namespace {

// Several times the largest file that a compiler makes when it starts.
constexpr uint64_t kToStart = uint64_t{1} << 20;

}  // namespace

absl::Status WriteError(int error, absl::string_view what) {
  absl::Status status = absl::ErrnoToStatus(error, what);
  rlimit limit;
  if (error != EFBIG || getrlimit(RLIMIT_FSIZE, &limit) != 0) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), " (this process may write files of at most ",
                                   limit.rlim_cur, " bytes, see ulimit -f)"));
}

std::string TooSmallFiles() {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_max >= kToStart) return "";
  return absl::StrCat("; it may write files of at most ", limit.rlim_max,
                      " bytes (ulimit -f), which is too few to compile");
}

}  // namespace kiln
