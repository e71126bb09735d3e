#include "client_cpp/private_worker.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "client_cpp/spawn.h"
#include "common/base/clock.h"
#include "common/base/file_limit.h"
#include "common/base/status_macros.h"
#include "common/home/programs.h"

namespace kiln {
namespace {

// The time limit for loading LLVM, perhaps from a cold disk, and for the first compilation.
constexpr absl::Duration kStartPatience = absl::Seconds(60);
// The default of kilnd's workers (workers.job_bytes).
constexpr uint64_t kMemoryBytes = uint64_t{4} << 30;

}  // namespace

PrivateWorker::~PrivateWorker() {
  MutexLock lock(&mutex_);
  Stop();
}

void PrivateWorker::Stop() {
  connection_.reset();  // the worker exits at the end of its stream
  if (pid_ > 0) {
    kill(pid_, SIGKILL);  // SIGKILL, because the worker may be busy in LLVM for long
    WaitForExit(pid_);
  }
  pid_ = 0;
}

std::string PrivateWorker::LastWords() const {
  const std::string line = said_ == nullptr ? "" : said_->LastLine();
  return line.empty() ? "" : absl::StrCat("; it said: ", line);
}

absl::Status PrivateWorker::Start() {
  if (bin_dir_.empty()) {
    return absl::FailedPreconditionError(
        "kiln-worker not found; set KILN_BIN to the directory that holds it");
  }
  const std::string program = ProgramIn(bin_dir_, "kiln-worker");
  if (access(program.c_str(), X_OK) != 0) {
    return absl::FailedPreconditionError(NoCompiler(program));
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  said_ = std::make_unique<ChildStderr>();
  absl::StatusOr<pid_t> pid = Spawn(
      program,
      {absl::StrCat("--fd=", kPassedDescriptor), absl::StrCat("--memory-bytes=", kMemoryBytes)},
      ends[1], said_->fd());
  close(ends[1]);
  if (!pid.ok()) {
    close(ends[0]);
    return absl::FailedPreconditionError(
        absl::StrCat("cannot start the compiler: ", pid.status().message()));
  }
  pid_ = *pid;
  auto connection = Connection::Adopt(ends[0], SteadyNow() + kStartPatience);
  if (!connection.ok()) {
    Stop();
    if (absl::IsCancelled(connection.status())) return connection.status();
    return absl::UnavailableError(
        absl::StrCat("kiln-worker does not answer: ", connection.status().message(), LastWords(),
                     TooSmallFiles()));
  }
  connection_ = *std::move(connection);
  return absl::OkStatus();
}

absl::Status PrivateWorker::Run(FrameType type, const google::protobuf::MessageLite& request,
                                FrameType reply_type, google::protobuf::MessageLite* reply,
                                absl::Time deadline, CompilerIds* compiler) {
  MutexLock lock(&mutex_);
  absl::Status status;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (connection_ == nullptr) RETURN_IF_ERROR(Start());
    ASSIGN_OR_RETURN(*compiler, connection_->compiler());
    status = connection_->Call(type, request, reply_type, reply, deadline);
    // The worker answered, perhaps with an error: it is alive, and a second attempt would give the
    // same.
    if (status.ok() || !connection_->broken()) return status;
    Stop();
    if (absl::IsCancelled(status)) return status;
    if (absl::IsDeadlineExceeded(status)) {
      return absl::DeadlineExceededError("compiling took too long; the compiler was stopped");
    }
  }
  const char* const job = type == FrameType::kLink ? "module" : "kernel";
  return absl::UnavailableError(absl::StrCat("the compiler died twice over this ", job, " (",
                                             status.message(), LastWords(), ")"));
}

absl::StatusOr<proto::CompileReply> PrivateWorker::Compile(const proto::CompileRequest& request,
                                                           absl::Time deadline,
                                                           CompilerIds* compiler) {
  proto::CompileReply reply;
  RETURN_IF_ERROR(
      Run(FrameType::kCompile, request, FrameType::kCompileReply, &reply, deadline, compiler));
  return reply;
}

absl::StatusOr<proto::LinkReply> PrivateWorker::Link(const proto::LinkRequest& request,
                                                     absl::Time deadline) {
  CompilerIds compiler;
  proto::LinkReply reply;
  RETURN_IF_ERROR(
      Run(FrameType::kLink, request, FrameType::kLinkReply, &reply, deadline, &compiler));
  return reply;
}

}  // namespace kiln
