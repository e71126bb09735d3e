#include "server/remote/reapi/storage.h"

#include <zstd.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "common/base/status_macros.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "server/remote/reapi/zstd.h"

namespace kiln {
namespace {

using Cas = reapi::ContentAddressableStorage;
using google::bytestream::ByteStream;

constexpr size_t kChunk = 1 << 20;      // per message of a stream
constexpr int kDigestsInCall = 4000;    // as other clients do
constexpr size_t kBlobOverhead = 256;   // digest, status and tags around a blob in a batch
constexpr size_t kWorthPacking = 1024;  // smaller blobs are sent uncompressed
constexpr int64_t kPresent =
    -1;  // committed size for a compressed upload that the server already has

std::string RandomUuid() {
  // The number only has to differ from other uploads; it is no secret. The fixed bits say that it
  // is random.
  thread_local std::mt19937_64 random((uint64_t{std::random_device{}()} << 32) |
                                      std::random_device{}());
  const uint64_t high = random();
  const uint64_t low = random();
  return absl::StrFormat("%08x-%04x-4%03x-%04x-%012x", high >> 32, high >> 16 & 0xffff,
                         high & 0xfff, (low >> 48 & 0x3fff) | 0x8000, low & 0xffffffffffff);
}

// Groups of indices whose blobs fit one call together.
std::vector<std::vector<size_t>> Batches(absl::Span<const size_t> sizes, size_t limit) {
  std::vector<std::vector<size_t>> groups;
  // Over the limit, so that the first blob starts a group.
  size_t full = limit + 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t size = sizes[i] + kBlobOverhead;
    // A blob larger than the limit would get a group of its own; FitsBatch keeps it out.
    if (groups.empty() || full + size > limit || groups.back().size() >= kDigestsInCall) {
      groups.emplace_back();
      full = 0;
    }
    groups.back().push_back(i);
    full += size;
  }
  return groups;
}

bool FitsBatch(int64_t size, const ReapiServer::Abilities& abilities) {
  return static_cast<uint64_t>(size) + kBlobOverhead <= abilities.batch_bytes;
}

// The server's message may be empty; ours names the blob.
absl::Status BlobFailure(const google::rpc::Status& status, const reapi::Digest& digest) {
  return absl::Status(static_cast<absl::StatusCode>(status.code()),
                      absl::StrCat("blob ", digest.hash(), ": ", status.message()));
}

absl::StatusOr<std::string> Checked(const reapi::Digest& digest, std::string data) {
  // A cache that others write to is not trusted: each blob is hashed.
  RETURN_IF_ERROR(CheckBlob(digest, data));
  return data;
}

// The blob in one response of a batch.
absl::StatusOr<std::string> BlobIn(const reapi::BatchReadBlobsResponse::Response& one,
                                   const reapi::Digest& digest) {
  if (one.status().code() != 0) return BlobFailure(one.status(), digest);
  switch (one.compressor()) {
    case reapi::Compressor::IDENTITY:
      return Checked(digest, one.data());
    case reapi::Compressor::ZSTD: {
      // The digest's size bounds the memory, whatever the frame claims.
      ASSIGN_OR_RETURN(std::string data, ZstdDecompress(one.data(), digest.size_bytes()));
      return Checked(digest, std::move(data));
    }
    default:
      return absl::InternalError("BatchReadBlobs: a blob in a compression that was not requested");
  }
}

}  // namespace

std::string ReapiStorage::Resource(absl::string_view kind, bool zstd,
                                   const reapi::Digest& digest) const {
  std::string name = server_->instance();
  if (!name.empty()) name += '/';
  absl::StrAppend(&name, kind, zstd ? "compressed-blobs/zstd/" : "blobs/", digest.hash(), "/",
                  digest.size_bytes());
  return name;
}

absl::StatusOr<std::vector<BlobView>> ReapiStorage::Missing(absl::Span<const BlobView> blobs,
                                                            absl::Time deadline) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, server_->channel());
  const std::unique_ptr<Cas::Stub> stub = Cas::NewStub(channel);
  std::vector<BlobView> missing;
  for (size_t begin = 0; begin < blobs.size(); begin += kDigestsInCall) {
    const absl::Span<const BlobView> asked = blobs.subspan(begin, kDigestsInCall);
    reapi::FindMissingBlobsRequest request;
    request.set_instance_name(server_->instance());
    request.set_digest_function(reapi::DigestFunction::SHA256);
    for (const BlobView& blob : asked) *request.add_blob_digests() = blob.digest;
    reapi::FindMissingBlobsResponse reply;
    grpc::ClientContext context;
    RETURN_IF_ERROR(server_->Prepare(&context, deadline));
    RETURN_IF_ERROR(
        FromGrpc(stub->FindMissingBlobs(&context, request, &reply), "FindMissingBlobs"));
    absl::flat_hash_set<std::string> lacks;
    for (const reapi::Digest& digest : reply.missing_blob_digests()) lacks.insert(digest.hash());
    for (const BlobView& blob : asked) {
      // erase, not contains: equal blobs are uploaded once.
      if (lacks.erase(blob.digest.hash()) != 0) missing.push_back(blob);
    }
  }
  return missing;
}

absl::Status ReapiStorage::Upload(absl::Span<const BlobView> blobs, absl::Time deadline) {
  ASSIGN_OR_RETURN(const Abilities abilities, server_->abilities(deadline));
  std::vector<BlobView> asked;
  for (const BlobView& blob : blobs) {
    if (blob.data.empty()) continue;  // every server has the empty blob
    if (blob.data.size() > abilities.blob_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "a blob of ", blob.data.size(), " bytes; the server takes ", abilities.blob_bytes));
    }
    asked.push_back(blob);
  }
  std::vector<BlobView> missing;
  RETURN_IF_ERROR(WithRetries(deadline, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(missing, Missing(asked, deadline));
    return absl::OkStatus();
  }));

  // Large blobs first and one by one, then the small ones in as few calls as possible.
  std::vector<BlobView> small;
  std::vector<size_t> sizes;
  for (const BlobView& blob : missing) {
    if (FitsBatch(blob.digest.size_bytes(), abilities)) {
      small.push_back(blob);
      sizes.push_back(blob.data.size());
    } else {
      RETURN_IF_ERROR(WithRetries(deadline, [&] { return SendStream(blob, abilities, deadline); }));
    }
  }
  for (const std::vector<size_t>& batch : Batches(sizes, abilities.batch_bytes)) {
    // A batch is a run of consecutive indices.
    const auto part = absl::MakeConstSpan(small).subspan(batch.front(), batch.size());
    RETURN_IF_ERROR(WithRetries(deadline, [&] { return SendBatch(part, abilities, deadline); }));
  }
  return absl::OkStatus();
}

absl::Status ReapiStorage::SendBatch(absl::Span<const BlobView> blobs, const Abilities& abilities,
                                     absl::Time deadline) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, server_->channel());
  reapi::BatchUpdateBlobsRequest request;
  request.set_instance_name(server_->instance());
  request.set_digest_function(reapi::DigestFunction::SHA256);
  for (const BlobView& blob : blobs) {
    reapi::BatchUpdateBlobsRequest::Request* one = request.add_requests();
    *one->mutable_digest() = blob.digest;
    if (abilities.zstd_updates && blob.data.size() >= kWorthPacking) {
      one->set_compressor(reapi::Compressor::ZSTD);
      one->set_data(ZstdCompress(blob.data));
    } else {
      one->set_data(std::string(blob.data));
    }
  }
  reapi::BatchUpdateBlobsResponse reply;
  grpc::ClientContext context;
  RETURN_IF_ERROR(server_->Prepare(&context, deadline));
  RETURN_IF_ERROR(FromGrpc(Cas::NewStub(channel)->BatchUpdateBlobs(&context, request, &reply),
                           "BatchUpdateBlobs"));
  absl::flat_hash_set<std::string> stored;
  for (const auto& one : reply.responses()) {
    if (one.status().code() != 0) return BlobFailure(one.status(), one.digest());
    stored.insert(one.digest().hash());
  }
  for (const BlobView& blob : blobs) {
    // Each blob needs a status: a server that leaves one out may not have stored it.
    if (!stored.contains(blob.digest.hash())) {
      return absl::InternalError(
          absl::StrCat("BatchUpdateBlobs: no status of blob ", blob.digest.hash()));
    }
  }
  return absl::OkStatus();
}

absl::Status ReapiStorage::SendStream(const BlobView& blob, const Abilities& abilities,
                                      absl::Time deadline) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, server_->channel());
  const std::unique_ptr<ByteStream::Stub> stub = ByteStream::NewStub(channel);
  // Packed whole, as the sizes in each message refer to packed bytes.
  std::string packed;
  absl::string_view data = blob.data;
  if (abilities.zstd) {
    packed = ZstdCompress(data);
    data = packed;
  }
  grpc::ClientContext context;
  RETURN_IF_ERROR(server_->Prepare(&context, deadline));
  google::bytestream::WriteResponse reply;
  const std::unique_ptr<grpc::ClientWriter<google::bytestream::WriteRequest>> writer =
      stub->Write(&context, &reply);
  google::bytestream::WriteRequest request;
  request.set_resource_name(
      // A new number for each attempt, which therefore begins at offset 0.
      Resource(absl::StrCat("uploads/", RandomUuid(), "/"), abilities.zstd, blob.digest));
  for (size_t at = 0; at < data.size(); at += kChunk) {
    const absl::string_view chunk = data.substr(at, kChunk);
    request.set_write_offset(static_cast<int64_t>(at));
    request.set_data(std::string(chunk));
    request.set_finish_write(at + chunk.size() == data.size());
    // A server that has the blob answers before it has read everything.
    if (!writer->Write(request)) break;
    // Only the first message has it.
    request.clear_resource_name();
  }
  // Also after a failed Write: Finish gives the reason.
  writer->WritesDone();
  RETURN_IF_ERROR(FromGrpc(writer->Finish(), "ByteStream.Write"));
  const int64_t committed = reply.committed_size();
  // Servers differ in what they count for compressed uploads.
  if (committed == static_cast<int64_t>(data.size()) || committed == blob.digest.size_bytes() ||
      (abilities.zstd && committed == kPresent)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat("ByteStream.Write: ", committed, " bytes of ",
                                          data.size(), " were stored of blob ",
                                          blob.digest.hash()));
}

ReapiStorage::Blobs ReapiStorage::Download(absl::Span<const reapi::Digest> digests,
                                           absl::Time deadline) {
  const absl::StatusOr<Abilities> abilities = server_->abilities(deadline);
  if (!abilities.ok()) return Blobs(digests.size(), abilities.status());
  Blobs out(digests.size(), absl::NotFoundError("the server lacks the blob"));
  std::vector<size_t> small;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < digests.size(); ++i) {
    // The empty blob is everywhere, but its digest must still be that of no bytes.
    if (digests[i].size_bytes() == 0) {
      out[i] = Checked(digests[i], "");
    } else if (FitsBatch(digests[i].size_bytes(), *abilities)) {
      small.push_back(i);
      sizes.push_back(static_cast<size_t>(digests[i].size_bytes()));
    } else {
      out[i] = ReadStream(digests[i], *abilities, deadline);
    }
  }
  for (const std::vector<size_t>& batch : Batches(sizes, abilities->batch_bytes)) {
    const auto which = absl::MakeConstSpan(small).subspan(batch.front(), batch.size());
    const absl::Status status = ReadBatch(digests, which, *abilities, deadline, &out);
    // One failed call spoils its own batch only.
    if (status.ok()) continue;
    for (const size_t i : which) out[i] = status;
  }
  return out;
}

absl::Status ReapiStorage::ReadBatch(absl::Span<const reapi::Digest> digests,
                                     absl::Span<const size_t> which, const Abilities& abilities,
                                     absl::Time deadline, Blobs* out) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, server_->channel());
  reapi::BatchReadBlobsRequest request;
  request.set_instance_name(server_->instance());
  request.set_digest_function(reapi::DigestFunction::SHA256);
  if (abilities.zstd) request.add_acceptable_compressors(reapi::Compressor::ZSTD);
  absl::flat_hash_set<std::string> asked;
  for (const size_t i : which) {
    // Several places may lead to one blob.
    if (asked.insert(digests[i].hash()).second) *request.add_digests() = digests[i];
  }
  reapi::BatchReadBlobsResponse reply;
  grpc::ClientContext context;
  RETURN_IF_ERROR(server_->Prepare(&context, deadline));
  RETURN_IF_ERROR(
      FromGrpc(Cas::NewStub(channel)->BatchReadBlobs(&context, request, &reply), "BatchReadBlobs"));
  absl::flat_hash_map<std::string, const reapi::BatchReadBlobsResponse::Response*> answers;
  // By digest, as servers need not keep the order.
  for (const auto& one : reply.responses()) answers[one.digest().hash()] = &one;
  for (const size_t i : which) {
    const auto found = answers.find(digests[i].hash());
    // A blob without a response counts as missing.
    if (found != answers.end()) (*out)[i] = BlobIn(*found->second, digests[i]);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReapiStorage::ReadStream(const reapi::Digest& digest,
                                                     const Abilities& abilities,
                                                     absl::Time deadline) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, server_->channel());
  const std::unique_ptr<ByteStream::Stub> stub = ByteStream::NewStub(channel);
  const auto size = static_cast<size_t>(digest.size_bytes());
  // Bounds the memory that a faulty server could make us use.
  const size_t most = abilities.zstd ? ZSTD_compressBound(size) : size;
  google::bytestream::ReadRequest request;
  request.set_resource_name(Resource("", abilities.zstd, digest));
  grpc::ClientContext context;
  RETURN_IF_ERROR(server_->Prepare(&context, deadline));
  const auto reader = stub->Read(&context, request);
  std::string data;
  google::bytestream::ReadResponse reply;
  bool too_much = false;
  while (!too_much && reader->Read(&reply)) {
    data += reply.data();
    too_much = data.size() > most;
  }
  // Without it, Finish would wait for the rest of the stream.
  if (too_much) context.TryCancel();
  const absl::Status status = FromGrpc(reader->Finish(), "ByteStream.Read");
  if (too_much) {
    return absl::DataLossError(
        absl::StrCat("ByteStream.Read: more than ", most, " bytes for blob ", digest.hash()));
  }
  RETURN_IF_ERROR(status);
  if (!abilities.zstd) return Checked(digest, std::move(data));
  ASSIGN_OR_RETURN(std::string unpacked, ZstdDecompress(data, size));
  return Checked(digest, std::move(unpacked));
}

}  // namespace kiln
