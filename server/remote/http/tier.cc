#include "server/remote/http/tier.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/artifact/entry.h"
#include "common/base/deterministic.h"
#include "common/base/status_macros.h"
#include "server/remote/http/client.h"
#include "server/remote/reapi/blob.h"

namespace kiln {
namespace {

// A result names one file; servers may add metadata.
constexpr size_t kMaxResultBytes = 64 << 10;
// A server may inline small files in the result.
constexpr size_t kMaxInlineBytes = 4 << 20;

class HttpTier final : public RemoteTier {
 public:
  explicit HttpTier(std::unique_ptr<HttpClient> client) : client_(std::move(client)) {}

  absl::StatusOr<std::vector<std::string>> Get(absl::Span<const Place> places,
                                               absl::Time deadline) override;
  absl::Status Put(const Place& place, absl::string_view entry, absl::Time deadline) override;

 private:
  absl::Status PutOne(std::string path, absl::string_view body, absl::Time deadline);
  // Whether the server has the blob; false if unknown.
  bool Has(const std::string& path, absl::Time deadline);

  const std::unique_ptr<HttpClient> client_;
};

// The status of a code that is neither a hit nor a miss.
absl::Status CodeFailure(int code, absl::string_view path) {
  const std::string text = absl::StrCat(path, ": the server answered with ", code);
  switch (code) {
    case 401:
      return absl::UnauthenticatedError(text);
    case 403:
    case 405:  // the code of read-only servers
      return absl::PermissionDeniedError(text);
    // Too large, or no room: the server works.
    case 413:
    case 507:
      return absl::ResourceExhaustedError(text);
    default:
      if (code >= 300 && code < 400) {
        return absl::FailedPreconditionError(
            absl::StrCat(text, ", a redirection; the configuration's url should be the final one"));
      }
      return code >= 500 ? absl::UnavailableError(text) : absl::InternalError(text);
  }
}

// The body of a reply; NotFound if the server has none.
absl::StatusOr<std::string> BodyOf(absl::StatusOr<HttpReply> reply, absl::string_view path) {
  RETURN_IF_ERROR(reply.status());
  if (reply->code == 404) return absl::NotFoundError("");
  if (reply->code != 200) return CodeFailure(reply->code, path);
  return std::move(reply->body);
}

// The output file that the result in /ac/ names.
absl::StatusOr<reapi::OutputFile> FileOf(absl::StatusOr<HttpReply> reply, absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string body, BodyOf(std::move(reply), path));
  reapi::ActionResult result;
  if (!result.ParseFromString(body)) {
    return absl::DataLossError(absl::StrCat(path, ": holds no action's result"));
  }
  return OutputOf(result, kEntryPath, kMaxEntrySize);
}

// As with the Remote Execution API, a faulty entry affects only its own place. It counts as the
// server's failure only if no entry arrived at all.
absl::StatusOr<std::vector<std::string>> HttpTier::Get(absl::Span<const Place> places,
                                                       absl::Time deadline) {
  std::vector<HttpRequest> requests(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    // The layout of Bazel's HTTP cache: results by action, files by content.
    requests[i].path = absl::StrCat("/ac/", EntryActionOf(places[i]).action.hash());
    requests[i].max_bytes = kMaxResultBytes + kMaxInlineBytes;
  }
  std::vector<absl::StatusOr<HttpReply>> replies = client_->Run(requests, deadline);

  std::vector<std::string> entries(places.size());
  absl::Status failure;
  size_t answered = 0;
  // One place for both kinds of answers: the entry in the result, and as a file of its own.
  const auto settle = [&](size_t i, const reapi::Digest& digest,
                          absl::StatusOr<std::string> bytes) {
    if (bytes.ok()) {
      if (const absl::Status good = CheckBlob(digest, *bytes); !good.ok()) bytes = good;
    }
    if (bytes.ok() || absl::IsNotFound(bytes.status())) ++answered;
    if (bytes.ok()) {
      entries[i] = *std::move(bytes);
    } else {
      failure = bytes.status();
    }
  };
  std::vector<HttpRequest> blob_requests;
  std::vector<reapi::Digest> digests;
  std::vector<size_t> whose;
  for (size_t i = 0; i < places.size(); ++i) {
    absl::StatusOr<reapi::OutputFile> file = FileOf(std::move(replies[i]), requests[i].path);
    if (!file.ok()) {
      settle(i, {}, file.status());
    } else if (!file->contents().empty()) {
      settle(i, file->digest(), std::move(*file->mutable_contents()));
    } else {
      HttpRequest request;
      request.path = absl::StrCat("/cas/", file->digest().hash());
      // The server's own number bounds what it may send; OutputOf has bounded that.
      request.max_bytes = static_cast<size_t>(file->digest().size_bytes());
      blob_requests.push_back(std::move(request));
      digests.push_back(file->digest());
      whose.push_back(i);
    }
  }
  std::vector<absl::StatusOr<HttpReply>> blobs = client_->Run(blob_requests, deadline);
  for (size_t i = 0; i < whose.size(); ++i) {
    settle(whose[i], digests[i], BodyOf(std::move(blobs[i]), blob_requests[i].path));
  }
  if (answered == 0 && !failure.ok()) return failure;
  return entries;
}

absl::Status HttpTier::PutOne(std::string path, absl::string_view body, absl::Time deadline) {
  HttpRequest request;
  request.method = HttpRequest::kPut;
  request.path = std::move(path);
  request.body = body;
  ASSIGN_OR_RETURN(const HttpReply reply, client_->Run({request}, deadline)[0]);
  if (reply.code >= 200 && reply.code < 300) return absl::OkStatus();
  return CodeFailure(reply.code, request.path);
}

bool HttpTier::Has(const std::string& path, absl::Time deadline) {
  HttpRequest request;
  request.method = HttpRequest::kHead;
  request.path = path;
  const absl::StatusOr<HttpReply> reply = client_->Run({request}, deadline)[0];
  return reply.ok() && reply->code == 200;
}

absl::Status HttpTier::Put(const Place& place, absl::string_view entry, absl::Time deadline) {
  const EntryAction action = EntryActionOf(place);
  const reapi::Digest digest = BlobDigest(entry);
  // Blobs first: a result must not name a missing blob.
  const std::string path = absl::StrCat("/cas/", digest.hash());
  // Equal entries may have been stored by another machine; a HEAD is cheaper than the upload.
  if (!Has(path, deadline)) RETURN_IF_ERROR(PutOne(path, entry, deadline));
  return PutOne(absl::StrCat("/ac/", action.action.hash()), DeterministicBytes(EntryResult(digest)),
                deadline);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RemoteTier>> MakeHttpTier(const proto::Http& config) {
  ASSIGN_OR_RETURN(std::unique_ptr<HttpClient> client, HttpClient::Make(config));
  return std::make_unique<HttpTier>(std::move(client));
}

}  // namespace kiln
