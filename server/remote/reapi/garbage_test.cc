// A server whose answers are damaged: cut, changed, or nothing but noise. Whatever comes,
// an entry is the one that was stored, or none; nothing crashes or takes long.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/bytestream/bytestream.pb.h"
#include "gtest/gtest.h"
#include "server/remote/reapi/blob.h"
#include "server/remote/reapi/tier.h"
#include "server/remote/reapi/zstd.h"

namespace kiln {
namespace {

const char kEntry[] = "the one entry that there is, long enough to be cut in many places";

// By the method's name, a good answer.
std::map<std::string, std::string> GoodAnswers(bool inlined, bool zstd) {
  reapi::ServerCapabilities all;
  reapi::CacheCapabilities* cache = all.mutable_cache_capabilities();
  cache->add_digest_functions(reapi::DigestFunction::SHA256);
  if (zstd) cache->add_supported_compressors(reapi::Compressor::ZSTD);
  // So small that everything else goes as a stream.
  if (zstd) cache->set_max_batch_total_size_bytes(100);
  cache->mutable_action_cache_update_capabilities()->set_update_enabled(true);
  reapi::ActionResult result = EntryResult(BlobDigest(kEntry));
  if (inlined) result.mutable_output_files(0)->set_contents(kEntry);
  reapi::BatchReadBlobsResponse blobs;
  *blobs.add_responses()->mutable_digest() = BlobDigest(kEntry);
  blobs.mutable_responses(0)->set_data(kEntry);
  google::bytestream::ReadResponse stream;
  stream.set_data(ZstdCompress(kEntry));
  google::bytestream::WriteResponse written;
  written.set_committed_size(-1);
  return {{"GetCapabilities", all.SerializeAsString()},
          {"GetActionResult", result.SerializeAsString()},
          {"UpdateActionResult", result.SerializeAsString()},
          {"FindMissingBlobs", ""},
          {"BatchUpdateBlobs", ""},
          {"BatchReadBlobs", blobs.SerializeAsString()},
          {"Read", stream.SerializeAsString()},
          {"Write", written.SerializeAsString()}};
}

std::string Damaged(std::string bytes, std::mt19937* random) {
  switch ((*random)() % 6) {
    case 0:
      bytes.resize(bytes.size() * ((*random)() % 100) / 100);
      break;
    case 1:
      for (char& c : bytes) c = static_cast<char>((*random)());
      break;
    case 2:
      bytes.append((*random)() % 50, static_cast<char>((*random)()));
      break;
    default:
      for (unsigned n = (*random)() % 3 + 1; n > 0 && !bytes.empty(); --n) {
        bytes[(*random)() % bytes.size()] ^= static_cast<char>(1 << (*random)() % 8);
      }
  }
  return bytes;
}

class GarbageServer {
 public:
  // One in `good` answers is what it should be.
  GarbageServer(std::map<std::string, std::string> answers, int seed)
      : service_(std::move(answers), seed) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  ~GarbageServer() { server_->Shutdown(std::chrono::system_clock::now()); }
  const std::string& address() const { return address_; }

 private:
  // Reads one message, answers with one, ends.
  class Answer final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Answer(const std::string& bytes) {
      const grpc::Slice slice(bytes);
      buffer_ = grpc::ByteBuffer(&slice, 1);
      StartRead(&request_);
    }
    void OnReadDone(bool) override {
      StartWriteAndFinish(&buffer_, grpc::WriteOptions(), grpc::Status::OK);
    }
    void OnDone() override { delete this; }

   private:
    grpc::ByteBuffer request_;
    grpc::ByteBuffer buffer_;
  };
  class Service final : public grpc::CallbackGenericService {
   public:
    Service(std::map<std::string, std::string> answers, int seed)
        : answers_(std::move(answers)), random_(seed) {}
    grpc::ServerGenericBidiReactor* CreateReactor(
        grpc::GenericCallbackServerContext* context) override {
      const std::string method = context->method().substr(context->method().rfind('/') + 1);
      absl::MutexLock lock(&mutex_);
      const std::string& good = answers_[method];
      return new Answer(random_() % 3 != 0 ? good : Damaged(good, &random_));
    }

   private:
    absl::Mutex mutex_;
    std::map<std::string, std::string> answers_;
    std::mt19937 random_;
  };

  Service service_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

class GarbageTest : public testing::TestWithParam<std::tuple<bool, bool>> {};

TEST_P(GarbageTest, IsAMissOrAStatus) {
  const auto [inlined, zstd] = GetParam();
  GarbageServer server(GoodAnswers(inlined, zstd), 7);
  proto::Reapi config;
  config.set_address(server.address());
  const Digest place = Sha256Of("place");
  int hits = 0, failures = 0;
  for (int round = 0; round < 1500; ++round) {
    auto tier = MakeReapiTier(config);  // knows nothing: capabilities are asked for, too
    ASSERT_TRUE(tier.ok());
    const absl::Time deadline = absl::Now() + absl::Seconds(5);
    auto got = (*tier)->Get({place}, deadline);
    failures += got.ok() ? 0 : 1;
    if (got.ok() && !(*got)[0].empty()) {
      EXPECT_EQ((*got)[0], kEntry);
      ++hits;
    }
    if (round % 10 == 0)
      (*tier)->Put(place, kEntry, absl::Now() + absl::Milliseconds(300)).IgnoreError();
    ASSERT_LT(absl::Now(), deadline) << "round " << round;
  }
  // Both ways were gone, or this shows nothing.
  EXPECT_GT(hits, 100);
  EXPECT_GT(failures, 100);
}

INSTANTIATE_TEST_SUITE_P(Ways, GarbageTest, testing::Combine(testing::Bool(), testing::Bool()));

}  // namespace
}  // namespace kiln
