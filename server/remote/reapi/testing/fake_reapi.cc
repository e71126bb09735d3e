#include "server/remote/reapi/testing/fake_reapi.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "google/rpc/error_details.pb.h"
#include "server/remote/reapi/zstd.h"

namespace kiln {
namespace {

using google::longrunning::Operation;
constexpr size_t kInlined = 1 << 20;

grpc::Status WithDetail(grpc::StatusCode code, const std::string& text,
                        const google::protobuf::Message& detail) {
  google::rpc::Status details;
  details.set_code(code);
  details.set_message(text);
  details.add_details()->PackFrom(detail);
  return grpc::Status(code, text, details.SerializeAsString());
}

}  // namespace

struct FakeReapi::State {
  // Runs before every call. OK, or the status with which the call ends.
  grpc::Status Enter(grpc::ServerContext* context, const std::string& method,
                     const std::string& instance) {
    Manner now;
    {
      absl::MutexLock lock(&mutex);
      ++calls[method];
      instances.insert(instance);
      now = manner;
      if (manner.failures > 0) --manner.failures;
    }
    const auto& metadata = context->client_metadata();
    if (!now.token.empty()) {
      const auto sent = metadata.find("authorization");
      if (sent == metadata.end() || sent->second != "Bearer " + now.token) {
        return {grpc::StatusCode::UNAUTHENTICATED, "who are you?"};
      }
    }
    if (metadata.find("build.bazel.remote.execution.v2.requestmetadata-bin") == metadata.end()) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "no request metadata"};
    }
    while (now.hangs && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(5));
    if (now.failures > 0) {
      google::rpc::RetryInfo info;
      info.mutable_retry_delay()->set_nanos(10'000'000);
      return WithDetail(grpc::StatusCode::RESOURCE_EXHAUSTED, "come again", info);
    }
    return grpc::Status::OK;
  }
  Manner Now() {
    absl::MutexLock lock(&mutex);
    return manner;
  }
  bool Find(const std::string& hash, std::string* data) {
    absl::MutexLock lock(&mutex);
    if (hash == BlobDigest("").hash()) {
      data->clear();
      return true;
    }
    const auto found = blobs.find(hash);
    if (found == blobs.end() || manner.forgets_blobs) return false;
    *data = found->second;
    if (manner.corrupts && !data->empty()) (*data)[data->size() / 2] ^= 1;
    return true;
  }
  grpc::Status Keep(const reapi::Digest& digest, std::string data) {
    if (!SameDigest(BlobDigest(data), digest)) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "the bytes are not the digest's"};
    }
    absl::MutexLock lock(&mutex);
    blobs[digest.hash()] = std::move(data);
    return grpc::Status::OK;
  }

  absl::Mutex mutex;
  Manner manner ABSL_GUARDED_BY(mutex);
  std::map<std::string, int> calls ABSL_GUARDED_BY(mutex);
  std::set<std::string> instances ABSL_GUARDED_BY(mutex);
  std::map<std::string, std::string> blobs ABSL_GUARDED_BY(mutex);
  std::map<std::string, reapi::ActionResult> results ABSL_GUARDED_BY(mutex);
  std::vector<std::string> resources ABSL_GUARDED_BY(mutex);
  int executed ABSL_GUARDED_BY(mutex) = 0;
};

struct FakeReapi::CapabilitiesService final : reapi::Capabilities::Service {
  explicit CapabilitiesService(State* s) : state(s) {}
  grpc::Status GetCapabilities(grpc::ServerContext* context,
                               const reapi::GetCapabilitiesRequest* request,
                               reapi::ServerCapabilities* reply) override {
    grpc::Status status = state->Enter(context, "GetCapabilities", request->instance_name());
    if (!status.ok()) return status;
    const Manner manner = state->Now();
    reapi::CacheCapabilities* cache = reply->mutable_cache_capabilities();
    for (const auto function : manner.functions) cache->add_digest_functions(function);
    cache->mutable_action_cache_update_capabilities()->set_update_enabled(manner.update_enabled);
    cache->set_max_batch_total_size_bytes(manner.batch_bytes);
    cache->set_max_cas_blob_size_bytes(manner.blob_bytes);
    if (manner.zstd) {
      cache->add_supported_compressors(reapi::Compressor::ZSTD);
      cache->add_supported_batch_update_compressors(reapi::Compressor::ZSTD);
    }
    reply->mutable_low_api_version()->set_major(manner.api_major);
    reply->mutable_high_api_version()->set_major(manner.api_major);
    reply->mutable_execution_capabilities()->set_exec_enabled(manner.executes);
    reply->mutable_execution_capabilities()->set_digest_function(reapi::DigestFunction::SHA256);
    return grpc::Status::OK;
  }
  State* const state;
};

struct FakeReapi::CacheService final : reapi::ActionCache::Service {
  explicit CacheService(State* s) : state(s) {}
  grpc::Status GetActionResult(grpc::ServerContext* context,
                               const reapi::GetActionResultRequest* request,
                               reapi::ActionResult* reply) override {
    grpc::Status status = state->Enter(context, "GetActionResult", request->instance_name());
    if (!status.ok()) return status;
    const Manner manner = state->Now();
    {
      absl::MutexLock lock(&state->mutex);
      const auto found = state->results.find(request->action_digest().hash());
      if (found == state->results.end()) return {grpc::StatusCode::NOT_FOUND, "no such result"};
      *reply = found->second;
    }
    for (reapi::OutputFile& file : *reply->mutable_output_files()) {
      std::string data;
      for (const std::string& path : request->inline_output_files()) {
        if (manner.inlines && path == file.path() && state->Find(file.digest().hash(), &data) &&
            data.size() <= kInlined) {
          file.set_contents(data);
        }
      }
    }
    return grpc::Status::OK;
  }
  grpc::Status UpdateActionResult(grpc::ServerContext* context,
                                  const reapi::UpdateActionResultRequest* request,
                                  reapi::ActionResult* reply) override {
    grpc::Status status = state->Enter(context, "UpdateActionResult", request->instance_name());
    if (!status.ok()) return status;
    if (state->Now().refuses_updates) {
      return {grpc::StatusCode::PERMISSION_DENIED, "read only"};
    }
    // Like a strict server, require that the action and all blobs it names were stored before.
    std::string bytes;
    reapi::Action action;
    if (!state->Find(request->action_digest().hash(), &bytes) || !action.ParseFromString(bytes) ||
        !state->Find(action.command_digest().hash(), &bytes) ||
        !state->Find(action.input_root_digest().hash(), &bytes)) {
      return {grpc::StatusCode::FAILED_PRECONDITION, "the action is not stored"};
    }
    for (const reapi::OutputFile& file : request->action_result().output_files()) {
      if (!state->Find(file.digest().hash(), &bytes)) {
        return {grpc::StatusCode::FAILED_PRECONDITION, "an output is not stored"};
      }
    }
    *reply = request->action_result();
    absl::MutexLock lock(&state->mutex);
    state->results[request->action_digest().hash()] = request->action_result();
    return grpc::Status::OK;
  }
  State* const state;
};

struct FakeReapi::StorageService final : reapi::ContentAddressableStorage::Service {
  explicit StorageService(State* s) : state(s) {}
  grpc::Status FindMissingBlobs(grpc::ServerContext* context,
                                const reapi::FindMissingBlobsRequest* request,
                                reapi::FindMissingBlobsResponse* reply) override {
    grpc::Status status = state->Enter(context, "FindMissingBlobs", request->instance_name());
    if (!status.ok()) return status;
    std::string data;
    for (const reapi::Digest& digest : request->blob_digests()) {
      const bool lacks = state->Now().lacks_all || !state->Find(digest.hash(), &data);
      if (lacks) *reply->add_missing_blob_digests() = digest;
    }
    return grpc::Status::OK;
  }
  grpc::Status BatchUpdateBlobs(grpc::ServerContext* context,
                                const reapi::BatchUpdateBlobsRequest* request,
                                reapi::BatchUpdateBlobsResponse* reply) override {
    grpc::Status status = state->Enter(context, "BatchUpdateBlobs", request->instance_name());
    if (!status.ok()) return status;
    if (const int64_t limit = state->Now().batch_bytes;
        limit > 0 && static_cast<int64_t>(request->ByteSizeLong()) > limit + 1024) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "over the batch limit"};
    }
    for (const auto& one : request->requests()) {
      std::string data = one.data();
      if (one.compressor() == reapi::Compressor::ZSTD) {
        auto unpacked = ZstdDecompress(data, one.digest().size_bytes());
        data = unpacked.ok() ? *unpacked : "damaged";
      }
      const grpc::Status kept = state->Keep(one.digest(), std::move(data));
      auto* response = reply->add_responses();
      *response->mutable_digest() = one.digest();
      response->mutable_status()->set_code(kept.error_code());
      response->mutable_status()->set_message(kept.error_message());
    }
    return grpc::Status::OK;
  }
  grpc::Status BatchReadBlobs(grpc::ServerContext* context,
                              const reapi::BatchReadBlobsRequest* request,
                              reapi::BatchReadBlobsResponse* reply) override {
    grpc::Status status = state->Enter(context, "BatchReadBlobs", request->instance_name());
    if (!status.ok()) return status;
    const Manner manner = state->Now();
    for (const reapi::Digest& digest : request->digests()) {
      auto* response = reply->add_responses();
      *response->mutable_digest() = digest;
      std::string data;
      if (!state->Find(digest.hash(), &data)) {
        response->mutable_status()->set_code(grpc::StatusCode::NOT_FOUND);
      } else if (request->acceptable_compressors_size() > 0 && manner.zstd) {
        data = ZstdCompress(data);
        if (manner.corrupts_zstd) data[data.size() / 2] ^= 0x55;
        response->set_compressor(reapi::Compressor::ZSTD);
        response->set_data(data);
      } else {
        response->set_data(data);
      }
    }
    return grpc::Status::OK;
  }
  State* const state;
};

// A resource name's parts, counted from its end: …/[blobs|compressed-blobs/zstd]/HASH/SIZE.
struct Resource {
  explicit Resource(const std::string& name) {
    const std::vector<std::string> parts = absl::StrSplit(name, '/');
    if (parts.size() < 3) return;
    digest.set_hash(parts[parts.size() - 2]);
    digest.set_size_bytes(std::atoll(parts.back().c_str()));
    zstd = absl::StrContains(name, "compressed-blobs/zstd/");
    instance = name.substr(0, name.find(absl::StrContains(name, "uploads/") ? "uploads/"
                                        : zstd                              ? "compressed-blobs/"
                                                                            : "blobs/"));
    if (!instance.empty()) instance.pop_back();
  }
  reapi::Digest digest;
  bool zstd = false;
  std::string instance;
};

struct FakeReapi::StreamService final : google::bytestream::ByteStream::Service {
  explicit StreamService(State* s) : state(s) {}
  void Note(const std::string& name) {
    absl::MutexLock lock(&state->mutex);
    state->resources.push_back(name);
  }
  grpc::Status Read(grpc::ServerContext* context, const google::bytestream::ReadRequest* request,
                    grpc::ServerWriter<google::bytestream::ReadResponse>* writer) override {
    const Resource resource(request->resource_name());
    grpc::Status status = state->Enter(context, "Read", resource.instance);
    if (!status.ok()) return status;
    Note(request->resource_name());
    const Manner manner = state->Now();
    std::string data;
    if (!state->Find(resource.digest.hash(), &data)) {
      return {grpc::StatusCode::NOT_FOUND, "no such blob"};
    }
    if (resource.zstd) data = ZstdCompress(data);
    if (resource.zstd && manner.corrupts_zstd) data[data.size() / 2] ^= 0x55;
    if (manner.cuts_streams) data.resize(data.size() / 2);
    google::bytestream::ReadResponse reply;
    writer->Write(reply);  // an empty message is a sign of life
    for (size_t at = 0; at < data.size(); at += 100'000) {
      reply.set_data(data.substr(at, 100'000));
      if (!writer->Write(reply)) break;
    }
    return grpc::Status::OK;
  }
  grpc::Status Write(grpc::ServerContext* context,
                     grpc::ServerReader<google::bytestream::WriteRequest>* reader,
                     google::bytestream::WriteResponse* reply) override {
    google::bytestream::WriteRequest request;
    if (!reader->Read(&request)) return {grpc::StatusCode::INVALID_ARGUMENT, "nothing came"};
    const Resource resource(request.resource_name());
    grpc::Status status = state->Enter(context, "Write", resource.instance);
    if (!status.ok()) return status;
    Note(request.resource_name());
    if (state->Now().answers_early) {
      reply->set_committed_size(resource.zstd ? -1 : resource.digest.size_bytes());
      return grpc::Status::OK;
    }
    std::string data;
    bool finished = false;
    do {
      if (request.write_offset() != static_cast<int64_t>(data.size()) || finished) {
        return {grpc::StatusCode::INVALID_ARGUMENT, "not where the last message ended"};
      }
      data += request.data();
      finished = request.finish_write();
    } while (reader->Read(&request));
    if (!finished) return {grpc::StatusCode::INVALID_ARGUMENT, "not finished"};
    reply->set_committed_size(static_cast<int64_t>(data.size()));
    if (resource.zstd) {
      auto unpacked = ZstdDecompress(data, resource.digest.size_bytes());
      data = unpacked.ok() ? *unpacked : "damaged";
    }
    return state->Keep(resource.digest, std::move(data));
  }
  State* const state;
};

// Runs commands without a sandbox, each in its own directory.
struct FakeReapi::ExecutionService final : reapi::Execution::Service {
  explicit ExecutionService(State* s) : state(s) {}

  bool Lay(const std::string& hash, const std::string& path) {
    std::string bytes;
    reapi::Directory directory;
    if (!state->Find(hash, &bytes) || !directory.ParseFromString(bytes)) return false;
    mkdir(path.c_str(), 0700);
    for (const reapi::FileNode& file : directory.files()) {
      if (!state->Find(file.digest().hash(), &bytes)) return false;
      const std::string name = absl::StrCat(path, "/", file.name());
      std::ofstream(name, std::ios::binary) << bytes;
      chmod(name.c_str(), file.is_executable() ? 0700 : 0600);
    }
    for (const reapi::DirectoryNode& below : directory.directories()) {
      if (!Lay(below.digest().hash(), absl::StrCat(path, "/", below.name()))) return false;
    }
    return true;
  }

  reapi::ExecuteResponse Run(const reapi::ExecuteRequest& request) {
    reapi::ExecuteResponse response;
    std::string bytes;
    reapi::Action action;
    reapi::Command command;
    std::string root = std::filesystem::temp_directory_path() / "action-XXXXXX";
    if (mkdtemp(root.data()) == nullptr) std::abort();
    if (!state->Find(request.action_digest().hash(), &bytes) || !action.ParseFromString(bytes) ||
        !state->Find(action.command_digest().hash(), &bytes) || !command.ParseFromString(bytes) ||
        !Lay(action.input_root_digest().hash(), root)) {
      response.mutable_status()->set_code(grpc::StatusCode::FAILED_PRECONDITION);
      response.mutable_status()->set_message("inputs are missing");
      return response;
    }
    const pid_t child = fork();
    if (child == 0) {
      if (chdir(root.c_str()) != 0) _exit(126);
      if (freopen("stderr", "w", stderr) == nullptr) _exit(126);
      std::vector<char*> argv;
      for (std::string& word : *command.mutable_arguments()) argv.push_back(&word[0]);
      argv.push_back(nullptr);
      char* environment[] = {nullptr};
      execve(argv[0], argv.data(), environment);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    reapi::ActionResult* result = response.mutable_result();
    result->set_exit_code(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    const auto slurp = [&root](const std::string& name, std::string* out) {
      std::ifstream file(absl::StrCat(root, "/", name), std::ios::binary);
      std::stringstream all;
      all << file.rdbuf();
      *out = all.str();
      return file.good() || file.eof();
    };
    std::string errors;
    if (slurp("stderr", &errors)) result->set_stderr_raw(errors);
    for (const std::string& path : command.output_paths()) {
      struct stat info;
      if (stat(absl::StrCat(root, "/", path).c_str(), &info) != 0 || !slurp(path, &bytes)) continue;
      reapi::OutputFile* file = result->add_output_files();
      file->set_path(path);
      *file->mutable_digest() = BlobDigest(bytes);
      state->Keep(file->digest(), bytes);
    }
    std::filesystem::remove_all(root);
    absl::MutexLock lock(&state->mutex);
    ++state->executed;
    if (result->exit_code() == 0) state->results[request.action_digest().hash()] = *result;
    return response;
  }

  grpc::Status Execute(grpc::ServerContext* context, const reapi::ExecuteRequest* request,
                       grpc::ServerWriter<Operation>* writer) override {
    grpc::Status status = state->Enter(context, "Execute", request->instance_name());
    if (!status.ok()) return status;
    const Manner manner = state->Now();
    if (manner.loses_inputs) {
      {
        absl::MutexLock lock(&state->mutex);
        state->manner.loses_inputs = false;
        state->blobs.clear();
      }
      google::rpc::PreconditionFailure failure;
      failure.add_violations()->set_type("MISSING");
      return WithDetail(grpc::StatusCode::FAILED_PRECONDITION, "inputs are missing", failure);
    }
    Operation operation;
    operation.set_name("operations/1");
    writer->Write(operation);
    while (manner.sleeps && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(5));
    if (manner.breaks_streams) {
      asked = *request;
      return {grpc::StatusCode::UNAVAILABLE, "going away"};
    }
    Finish(*request, &operation);
    writer->Write(operation);
    return grpc::Status::OK;
  }
  grpc::Status WaitExecution(grpc::ServerContext* context,
                             const reapi::WaitExecutionRequest* request,
                             grpc::ServerWriter<Operation>* writer) override {
    grpc::Status status = state->Enter(context, "WaitExecution", "");
    if (!status.ok()) return status;
    if (request->name() != "operations/1") return {grpc::StatusCode::NOT_FOUND, "no such"};
    Operation operation;
    operation.set_name(request->name());
    Finish(asked, &operation);
    writer->Write(operation);
    return grpc::Status::OK;
  }
  void Finish(const reapi::ExecuteRequest& request, Operation* operation) {
    reapi::ExecuteResponse response;
    bool cached = false;
    {
      absl::MutexLock lock(&state->mutex);
      const auto found = state->results.find(request.action_digest().hash());
      cached = found != state->results.end();
      if (cached) *response.mutable_result() = found->second;
    }
    if (!cached) response = Run(request);
    response.set_cached_result(cached);
    operation->set_done(true);
    operation->mutable_response()->PackFrom(response);
  }

  State* const state;
  reapi::ExecuteRequest asked;
};

struct FakeReapi::OperationsService final : google::longrunning::Operations::Service {
  explicit OperationsService(State* s) : state(s) {}
  grpc::Status CancelOperation(grpc::ServerContext* context,
                               const google::longrunning::CancelOperationRequest*,
                               google::protobuf::Empty*) override {
    return state->Enter(context, "CancelOperation", "");
  }
  State* const state;
};

FakeReapi::FakeReapi(std::shared_ptr<grpc::ServerCredentials> credentials)
    : state_(std::make_unique<State>()) {
  services_.push_back(std::make_unique<CapabilitiesService>(state_.get()));
  services_.push_back(std::make_unique<CacheService>(state_.get()));
  services_.push_back(std::make_unique<StorageService>(state_.get()));
  services_.push_back(std::make_unique<StreamService>(state_.get()));
  services_.push_back(std::make_unique<ExecutionService>(state_.get()));
  services_.push_back(std::make_unique<OperationsService>(state_.get()));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", std::move(credentials), &port);
  for (const auto& service : services_) builder.RegisterService(service.get());
  server_ = builder.BuildAndStart();
  address_ = absl::StrCat("127.0.0.1:", port);
}

FakeReapi::~FakeReapi() { Stop(); }

void FakeReapi::Stop() { server_->Shutdown(std::chrono::system_clock::now()); }

void FakeReapi::Behave(Manner manner) {
  absl::MutexLock lock(&state_->mutex);
  state_->manner = std::move(manner);
}

FakeReapi::Manner FakeReapi::manner() { return state_->Now(); }

int FakeReapi::calls(const std::string& method) {
  absl::MutexLock lock(&state_->mutex);
  return state_->calls[method];
}

std::set<std::string> FakeReapi::instances() {
  absl::MutexLock lock(&state_->mutex);
  return state_->instances;
}

size_t FakeReapi::blobs() {
  absl::MutexLock lock(&state_->mutex);
  return state_->blobs.size();
}

bool FakeReapi::Has(const std::string& hash) {
  absl::MutexLock lock(&state_->mutex);
  return state_->blobs.count(hash) != 0;
}

void FakeReapi::Forget(const std::string& hash) {
  absl::MutexLock lock(&state_->mutex);
  state_->blobs.erase(hash);
}

std::vector<std::string> FakeReapi::resources() {
  absl::MutexLock lock(&state_->mutex);
  return state_->resources;
}

int FakeReapi::executed() {
  absl::MutexLock lock(&state_->mutex);
  return state_->executed;
}

}  // namespace kiln
