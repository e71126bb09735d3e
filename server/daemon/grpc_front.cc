#include "server/daemon/grpc_front.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "absl/strings/str_cat.h"
#include "lang/status_macros.h"
#include "server/daemon/worker_process.h"

namespace kiln {

absl::Status GrpcFront::Start(const std::string& address) {
  ASSIGN_OR_RETURN(
      pid_,
      Spawn(program_, {absl::StrCat("--listen=", address), absl::StrCat("--socket=", socket_path_)},
            /*fd=*/-1));
  return absl::OkStatus();
}

void GrpcFront::Stop() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace kiln
