#include "server/worker/run_once.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "common/wire/framing.h"

namespace kiln {
namespace {

// Closes its descriptor.
struct Descriptor {
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  int fd;
};

absl::Status Failure(const std::string& path) { return absl::ErrnoToStatus(errno, path); }

absl::StatusOr<std::string> ReadAll(int fd, const std::string& path) {
  std::string bytes;
  char block[1 << 16];
  while (true) {
    const ssize_t n = read(fd, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failure(path);
    if (n == 0) return bytes;
    bytes.append(block, static_cast<size_t>(n));
    if (bytes.size() > kMaxFrameBytes) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": too long for a compile request"));
    }
  }
}

absl::Status WriteAll(int fd, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failure(path);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunOnce(const WorkerOptions& options, const std::string& request_path,
                     const std::string& reply_path) {
  const Descriptor in{open(request_path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (in.fd < 0) return Failure(request_path);
  ASSIGN_OR_RETURN(const std::string bytes, ReadAll(in.fd, request_path));
  proto::CompileRequest request;
  if (!request.ParseFromString(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(request_path, ": holds no compile request"));
  }
  const Descriptor out{open(reply_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  if (out.fd < 0) return Failure(reply_path);
  if (options.warm_up != nullptr) RETURN_IF_ERROR(options.warm_up());
  ASSIGN_OR_RETURN(const proto::CompileReply reply, RunJob(options, request));
  return WriteAll(out.fd, reply.SerializeAsString(), reply_path);
}

}  // namespace kiln
