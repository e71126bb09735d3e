#include "server/remote/reapi/execution.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "common/base/clock.h"
#include "common/base/deterministic.h"
#include "common/base/plain_text.h"
#include "common/base/status_macros.h"
#include "common/wire/framing.h"
#include "google/longrunning/operations.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "server/remote/reapi/blob.h"
#include "server/remote/reapi/server.h"
#include "server/remote/reapi/storage.h"
#include "server/remote/reapi/toolchain.h"

namespace kiln {
namespace {

using google::longrunning::Operation;

constexpr absl::Duration kCompileLimit = absl::Seconds(60);
// A courtesy to the cluster: the caller has waited long enough.
constexpr absl::Duration kCancelLimit = absl::Milliseconds(200);
constexpr char kUnitPath[] = "unit";
constexpr char kReplyPath[] = "reply";

// An action and all blobs that the storage needs for it.
struct Job {
  std::shared_ptr<const Toolchain> toolchain;
  std::vector<Blob> own;
  reapi::Digest action;

  // Views: the toolchain is mapped, and 200 MB must not be copied for each kernel.
  std::vector<BlobView> Inputs() const {
    std::vector<BlobView> all;
    for (const auto& file : toolchain->files) all.push_back(file->view());
    for (const Blob& blob : toolchain->directories) all.push_back(blob.view());
    for (const Blob& blob : own) all.push_back(blob.view());
    return all;
  }
};

class Execution final : public Delegate {
 public:
  Execution(const proto::Execution& config, const std::string& worker,
            std::unique_ptr<ReapiServer> server)
      : limit_(config.compile_ms() == 0 ? kCompileLimit : absl::Milliseconds(config.compile_ms())),
        platform_(config.platform().begin(), config.platform().end()),
        server_(std::move(server)),
        storage_(server_.get()),
        toolchains_(worker) {}

  absl::StatusOr<proto::CompileReply> Compile(const proto::CompileRequest& request, const Key& key,
                                              absl::Time deadline) override;

 private:
  absl::StatusOr<Job> MakeJob(const proto::CompileRequest& request);
  void SetPlatform(reapi::Platform* platform) const;
  // Stores the inputs and runs the action; repeats once if the server lost inputs meanwhile.
  absl::StatusOr<reapi::ActionResult> RunJob(const Job& job, absl::Time deadline);
  absl::StatusOr<reapi::ActionResult> Execute(const Job& job, absl::Time deadline);
  // Reads a stream of operations to its end. True: `*operation` is done.
  absl::StatusOr<bool> Follow(grpc::ClientReader<Operation>* reader, Operation* operation);
  void Cancel(const std::string& name);
  // The worker's error output.
  std::string ErrorsOf(const reapi::ActionResult& result, absl::Time deadline);

  const absl::Duration limit_;
  const std::map<std::string, std::string> platform_;  // sorted, as the protocol requires
  const std::unique_ptr<ReapiServer> server_;
  ReapiStorage storage_;
  ToolchainFinder toolchains_;
};

void Execution::SetPlatform(reapi::Platform* platform) const {
  for (const auto& [name, value] : platform_) {
    reapi::Platform::Property* property = platform->add_properties();
    property->set_name(name);
    property->set_value(value);
  }
}

absl::StatusOr<Job> Execution::MakeJob(const proto::CompileRequest& request) {
  Job job;
  ASSIGN_OR_RETURN(job.toolchain, toolchains_.Find());
  // Fields of this call alone would keep the action cache from recognising the request.
  proto::CompileRequest lasting = request;
  lasting.clear_deadline_ms();
  lasting.clear_priority();
  lasting.clear_traceparent();
  Blob unit(DeterministicBytes(lasting));
  // A copy of a small message: names and digests, not contents.
  reapi::Directory root = job.toolchain->root;
  reapi::FileNode* file = root.add_files();  // its name sorts last
  file->set_name(kUnitPath);
  *file->mutable_digest() = unit.digest;
  Blob directory(DeterministicBytes(root));

  reapi::Command command;
  for (const std::string& word : job.toolchain->command) command.add_arguments(word);
  command.add_arguments(absl::StrCat("--unit=", kUnitPath));
  command.add_arguments(absl::StrCat("--out=", kReplyPath));
  // Both the old and the new form of the protocol: servers know one of them at least.
  command.add_output_files(kReplyPath);
  command.add_output_paths(kReplyPath);
  // In the command for older servers, in the action for newer ones.
  if (!platform_.empty()) SetPlatform(command.mutable_platform());
  Blob command_blob(DeterministicBytes(command));

  reapi::Action action;
  *action.mutable_command_digest() = command_blob.digest;
  *action.mutable_input_root_digest() = directory.digest;
  action.mutable_timeout()->set_seconds(std::max<int64_t>(1, absl::ToInt64Seconds(limit_)));
  if (!platform_.empty()) SetPlatform(action.mutable_platform());
  Blob action_blob(DeterministicBytes(action));

  job.action = action_blob.digest;
  for (Blob* blob : {&unit, &directory, &command_blob, &action_blob}) {
    job.own.push_back(std::move(*blob));
  }
  return job;
}

absl::StatusOr<bool> Execution::Follow(grpc::ClientReader<Operation>* reader,
                                       Operation* operation) {
  Operation next;
  while (reader->Read(&next)) {
    *operation = next;
    if (operation->done()) break;
  }
  if (operation->done()) return true;
  RETURN_IF_ERROR(FromGrpc(reader->Finish(), "Execute"));
  return false;
}

void Execution::Cancel(const std::string& name) {
  const auto channel = server_->channel();
  grpc::ClientContext context;
  if (!channel.ok() || !server_->Prepare(&context, SteadyNow() + kCancelLimit).ok()) return;
  google::longrunning::CancelOperationRequest request;
  request.set_name(name);
  google::protobuf::Empty nothing;
  // If the server cannot cancel, it loses only a slot, until the action's own timeout.
  google::longrunning::Operations::NewStub(*channel)->CancelOperation(&context, request, &nothing);
}

absl::StatusOr<reapi::ActionResult> Execution::Execute(const Job& job, absl::Time deadline) {
  Operation operation;
  absl::Status status = WithRetries(deadline, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, server_->channel());
    const auto stub = reapi::Execution::NewStub(channel);
    grpc::ClientContext context;
    RETURN_IF_ERROR(server_->Prepare(&context, deadline));
    std::unique_ptr<grpc::ClientReader<Operation>> reader;
    // A name means that the server accepted the action: asking to execute it again could run it
    // twice.
    if (operation.name().empty()) {
      reapi::ExecuteRequest request;
      request.set_instance_name(server_->instance());
      *request.mutable_action_digest() = job.action;
      request.set_digest_function(reapi::DigestFunction::SHA256);
      reader = stub->Execute(&context, request);
    } else {  // the stream broke; the action continues
      reapi::WaitExecutionRequest request;
      request.set_name(operation.name());
      reader = stub->WaitExecution(&context, request);
    }
    absl::StatusOr<bool> done = Follow(reader.get(), &operation);
    if (done.ok() && *done) {
      // The operation is done; the stream needs no orderly end.
      context.TryCancel();
      return absl::OkStatus();
    }
    if (absl::IsNotFound(done.status())) operation.Clear();  // the server forgot it: begin again
    if (done.ok() || absl::IsNotFound(done.status())) {
      return absl::UnavailableError("the stream of an operation ended before the operation");
    }
    return done.status();
  });
  if (!status.ok()) {
    if (!operation.name().empty()) Cancel(operation.name());
    return status;
  }
  if (operation.has_error()) {
    // An error with code OK must not pass for a result.
    const int code = operation.error().code() == 0 ? static_cast<int>(absl::StatusCode::kDataLoss)
                                                   : operation.error().code();
    return absl::Status(static_cast<absl::StatusCode>(code),
                        absl::StrCat("Execute: ", OneLine(operation.error().message())));
  }
  reapi::ExecuteResponse response;
  if (!operation.response().UnpackTo(&response)) {
    return absl::DataLossError("the operation ended without an execution's response");
  }
  if (response.status().code() != 0) {
    return absl::Status(static_cast<absl::StatusCode>(response.status().code()),
                        absl::StrCat("the action failed: ", OneLine(response.status().message())));
  }
  return response.result();
}

absl::StatusOr<reapi::ActionResult> Execution::RunJob(const Job& job, absl::Time deadline) {
  const std::vector<BlobView> inputs = job.Inputs();
  for (int tries = 0;; ++tries) {
    RETURN_IF_ERROR(storage_.Upload(inputs, deadline));
    // Uploads are checked first each time: most inputs (the compiler's files) are there already.
    absl::StatusOr<reapi::ActionResult> result = Execute(job, deadline);
    // The server may evict blobs between the check for them and the run.
    if (!absl::IsFailedPrecondition(result.status()) || tries > 0) return result;
  }
}

std::string Execution::ErrorsOf(const reapi::ActionResult& result, absl::Time deadline) {
  std::string text = result.stderr_raw();
  // At most 1 MiB, of which the end is shown.
  if (text.empty() && CheckDigest(result.stderr_digest(), 1 << 20).ok()) {
    ReapiStorage::Blobs blobs = storage_.Download({result.stderr_digest()}, deadline);
    if (blobs[0].ok()) text = *std::move(blobs[0]);
  }
  absl::StripAsciiWhitespace(&text);
  // The end says why a worker died, the beginning rarely does.
  if (text.size() > kPeerTextBytes) text = text.substr(text.size() - kPeerTextBytes);
  return OneLine(text);
}

absl::StatusOr<proto::CompileReply> Execution::Compile(const proto::CompileRequest& request,
                                                       const Key& key, absl::Time deadline) {
  deadline = std::min(deadline, SteadyNow() + limit_);
  ASSIGN_OR_RETURN(const ReapiServer::Abilities abilities, server_->abilities(deadline));
  if (!abilities.execute) return absl::FailedPreconditionError("the server runs no actions");
  ASSIGN_OR_RETURN(const Job job, MakeJob(request));
  ASSIGN_OR_RETURN(const reapi::ActionResult result, RunJob(job, deadline));
  if (result.exit_code() != 0) {
    return absl::InternalError(absl::StrCat("kiln-worker ended with status ", result.exit_code(),
                                            " on the cluster: ", ErrorsOf(result, deadline)));
  }
  ASSIGN_OR_RETURN(reapi::OutputFile file, OutputOf(result, kReplyPath, kMaxFrameBytes));
  absl::StatusOr<std::string> bytes = std::move(*file.mutable_contents());
  // Small results come with the action's result, if the server does that.
  if (bytes->empty()) bytes = storage_.Download({file.digest()}, deadline)[0];
  RETURN_IF_ERROR(bytes.status());
  RETURN_IF_ERROR(CheckBlob(file.digest(), *bytes));
  proto::CompileReply reply;
  if (!reply.ParseFromString(*bytes)) {
    return absl::DataLossError("the action's output is not a worker's reply");
  }
  // The key covers the compiler. Equal keys mean that the cluster ran the worker that we would run.
  if (reply.digest() != key.view()) {
    return absl::FailedPreconditionError(
        "the cluster compiled another key than requested: its kiln-worker differs from ours");
  }
  return reply;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Delegate>> MakeExecution(const proto::Execution& config,
                                                        const std::string& worker) {
  if (!config.has_server()) {
    return absl::InvalidArgumentError("execution: expected server { address: … }");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<ReapiServer> server, ReapiServer::Make(config.server()));
  return std::make_unique<Execution>(config, worker, std::move(server));
}

}  // namespace kiln
