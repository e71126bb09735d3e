#include "server/remote/reapi/tier.h"

#include <deque>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "common/artifact/entry.h"
#include "common/base/status_macros.h"
#include "server/remote/reapi/blob.h"
#include "server/remote/reapi/server.h"
#include "server/remote/reapi/storage.h"

namespace kiln {
namespace {

// One look-up in progress: gRPC writes into it until it is done.
struct LookUp {
  grpc::ClientContext context;
  reapi::GetActionResultRequest request;
  reapi::ActionResult result;
  grpc::Status status;
};

// Concurrent look-ups: the protocol has no call for several places.
constexpr int kWidth = 32;

class ReapiTier final : public RemoteTier {
 public:
  explicit ReapiTier(std::unique_ptr<ReapiServer> server)
      : server_(std::move(server)), storage_(server_.get()) {}

  absl::StatusOr<std::vector<std::string>> Get(absl::Span<const Place> places,
                                               absl::Time deadline) override;
  absl::Status Put(const Place& place, absl::string_view entry, absl::Time deadline) override;

 private:
  absl::StatusOr<std::deque<LookUp>> AskAll(absl::Span<const Place> places, absl::Time deadline);

  const std::unique_ptr<ReapiServer> server_;
  ReapiStorage storage_;
};

absl::StatusOr<std::deque<LookUp>> ReapiTier::AskAll(absl::Span<const Place> places,
                                                     absl::Time deadline) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, server_->channel());
  const std::unique_ptr<reapi::ActionCache::Stub> stub = reapi::ActionCache::NewStub(channel);
  // A deque, because contexts can be neither copied nor moved, and callbacks keep references.
  std::deque<LookUp> all(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    all[i].request.set_instance_name(server_->instance());
    *all[i].request.mutable_action_digest() = EntryActionOf(places[i]).action;
    all[i].request.set_digest_function(reapi::DigestFunction::SHA256);
    // A wish: a server that grants it saves the second round trip.
    all[i].request.add_inline_output_files(kEntryPath);
    RETURN_IF_ERROR(server_->Prepare(&all[i].context, deadline));
  }
  absl::Mutex mutex;
  int under_way = 0;  // under `mutex`
  const auto below = [&under_way](int width) {
    return [&under_way, width] { return under_way < width; };
  };
  for (LookUp& one : all) {
    const auto has_room = below(kWidth);
    mutex.LockWhen(absl::Condition(&has_room));
    ++under_way;
    mutex.Unlock();
    stub->async()->GetActionResult(&one.context, &one.request, &one.result,
                                   [&one, &mutex, &under_way](grpc::Status status) {
                                     one.status = std::move(status);
                                     absl::MutexLock lock(&mutex);
                                     --under_way;
                                   });
  }
  const auto all_done = below(1);
  // No callback may outlive this function: they refer to its locals.
  mutex.LockWhen(absl::Condition(&all_done));
  mutex.Unlock();
  return all;
}

// A faulty blob or failed call affects only its own place. It counts as the tier's failure only if
// no entry arrived at all.
absl::StatusOr<std::vector<std::string>> ReapiTier::Get(absl::Span<const Place> places,
                                                        absl::Time deadline) {
  // Fails fast, and once, if the server is down or of another kind.
  RETURN_IF_ERROR(server_->abilities(deadline).status());
  ASSIGN_OR_RETURN(std::deque<LookUp> asked, AskAll(places, deadline));
  std::vector<std::string> entries(places.size());
  absl::Status failure;
  size_t answered = 0;
  std::vector<reapi::Digest> digests;
  std::vector<size_t> whose;
  for (size_t i = 0; i < places.size(); ++i) {
    // A miss is an answer, so it says that the server works.
    if (asked[i].status.error_code() == grpc::StatusCode::NOT_FOUND) {
      ++answered;
      continue;
    }
    absl::Status status = FromGrpc(asked[i].status, "GetActionResult");
    absl::StatusOr<reapi::OutputFile> file;
    if (status.ok()) {
      file = OutputOf(asked[i].result, kEntryPath, kMaxEntrySize);
      status = file.status();
    }
    if (status.ok() && !file->contents().empty())
      status = CheckBlob(file->digest(), file->contents());
    if (!status.ok()) {
      failure = std::move(status);
    } else if (!file->contents().empty()) {
      entries[i] = std::move(*file->mutable_contents());
      ++answered;
    } else {
      digests.push_back(file->digest());
      whose.push_back(i);
    }
  }
  ReapiStorage::Blobs blobs = storage_.Download(digests, deadline);
  for (size_t i = 0; i < whose.size(); ++i) {
    // A result may outlive its blob: that is a miss.
    if (blobs[i].ok() || absl::IsNotFound(blobs[i].status())) ++answered;
    if (blobs[i].ok()) entries[whose[i]] = *std::move(blobs[i]);
    if (!blobs[i].ok()) failure = blobs[i].status();
  }
  if (answered == 0 && !failure.ok()) return failure;
  return entries;
}

absl::Status ReapiTier::Put(const Place& place, absl::string_view entry, absl::Time deadline) {
  ASSIGN_OR_RETURN(const ReapiServer::Abilities abilities, server_->abilities(deadline));
  if (!abilities.update) {
    return absl::PermissionDeniedError("the server takes no action results from us");
  }
  const EntryAction action = EntryActionOf(place);
  std::vector<BlobView> blobs;
  blobs.reserve(action.inputs.size() + 2);
  for (const Blob& blob : action.inputs) blobs.push_back(blob.view());
  // The inputs are stored too: some servers accept results only of actions whose blobs they have.
  blobs.push_back({BlobDigest(entry), entry});
  const reapi::Digest digest = blobs.back().digest;
  // Blobs first: a result must not name a missing blob.
  RETURN_IF_ERROR(storage_.Upload(blobs, deadline));
  return WithRetries(deadline, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, server_->channel());
    reapi::UpdateActionResultRequest request;
    request.set_instance_name(server_->instance());
    *request.mutable_action_digest() = action.action;
    *request.mutable_action_result() = EntryResult(digest);
    request.set_digest_function(reapi::DigestFunction::SHA256);
    reapi::ActionResult reply;
    grpc::ClientContext context;
    RETURN_IF_ERROR(server_->Prepare(&context, deadline));
    return FromGrpc(
        reapi::ActionCache::NewStub(channel)->UpdateActionResult(&context, request, &reply),
        "UpdateActionResult");
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<RemoteTier>> MakeReapiTier(const proto::Reapi& config) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReapiServer> server, ReapiServer::Make(config));
  return std::make_unique<ReapiTier>(std::move(server));
}

}  // namespace kiln
