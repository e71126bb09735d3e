// A server whose answers are truncated, changed, or noise. The tier must return the stored entry
// or none, must not crash, and must not take long.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/bytestream/bytestream.pb.h"
#include "google/longrunning/operations.pb.h"
#include "gtest/gtest.h"
#include "server/remote/reapi/blob.h"
#include "server/remote/reapi/execution.h"
#include "server/remote/reapi/tier.h"
#include "server/remote/reapi/zstd.h"

namespace kiln {
namespace {

const char kEntry[] = "the one entry that there is, long enough to be cut in many places";

// Method's name -> a correct answer.
std::map<std::string, std::string> GoodAnswers(bool inlined, bool zstd) {
  reapi::ServerCapabilities all;
  reapi::CacheCapabilities* cache = all.mutable_cache_capabilities();
  cache->add_digest_functions(reapi::DigestFunction::SHA256);
  if (zstd) cache->add_supported_compressors(reapi::Compressor::ZSTD);
  // So small that all larger blobs are sent as streams.
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
  // With `damage`, one in three answers is damaged.
  GarbageServer(std::map<std::string, std::string> answers, int seed, bool damage = true)
      : service_(std::move(answers), seed, damage) {
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
    Service(std::map<std::string, std::string> answers, int seed, bool damage)
        : damage_(damage), answers_(std::move(answers)), random_(seed) {}
    grpc::ServerGenericBidiReactor* CreateReactor(
        grpc::GenericCallbackServerContext* context) override {
      const std::string method = context->method().substr(context->method().rfind('/') + 1);
      absl::MutexLock lock(&mutex_);
      const std::string& good = answers_[method];
      const bool as_it_is = !damage_ || random_() % 3 != 0;
      return new Answer(as_it_is ? good : Damaged(good, &random_));
    }

   private:
    const bool damage_;
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
  const Place place(Sha256Of("place"));
  int hits = 0, failures = 0;
  for (int round = 0; round < 1500; ++round) {
    auto tier = MakeReapiTier(config);  // a new tier, so it queries capabilities, too
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
  // Without both outcomes, the test proves nothing.
  EXPECT_GT(hits, 100);
  EXPECT_GT(failures, 100);
}

// The operation that answers Execute.
google::longrunning::Operation GoodOperation(const Key& key) {
  proto::CompileReply reply;
  reply.set_digest(std::string(key.view()));
  reply.set_entry(kEntry);
  const std::string bytes = reply.SerializeAsString();
  reapi::ExecuteResponse response;
  reapi::OutputFile* file = response.mutable_result()->add_output_files();
  file->set_path("reply");
  *file->mutable_digest() = BlobDigest(bytes);
  file->set_contents(bytes);
  google::longrunning::Operation operation;
  operation.set_name("operations/1");
  operation.set_done(true);
  operation.mutable_response()->PackFrom(response);
  return operation;
}

std::map<std::string, std::string> AnswersWith(const google::longrunning::Operation& operation) {
  std::map<std::string, std::string> answers = GoodAnswers(/*inlined=*/false, /*zstd=*/false);
  reapi::ServerCapabilities all;
  all.ParseFromString(answers["GetCapabilities"]);
  all.mutable_execution_capabilities()->set_exec_enabled(true);
  all.mutable_execution_capabilities()->set_digest_function(reapi::DigestFunction::SHA256);
  answers["GetCapabilities"] = all.SerializeAsString();
  answers["Execute"] = answers["WaitExecution"] = operation.SerializeAsString();
  answers["CancelOperation"] = "";
  return answers;
}

std::unique_ptr<Delegate> ClusterAt(const std::string& address) {
  proto::Execution config;
  config.mutable_server()->set_address(address);
  const char* directory = getenv("TEST_SRCDIR");
  return *MakeExecution(config, absl::StrCat(directory == nullptr ? "." : directory,
                                             directory == nullptr ? "" : "/kiln",
                                             "/server/worker/testing/fault-worker"));
}

TEST(ExecutionGarbageTest, IsTheReplyOrAStatus) {
  const Key key(Sha256Of("key"));
  GarbageServer server(AnswersWith(GoodOperation(key)), 11);
  const std::unique_ptr<Delegate> cluster = ClusterAt(server.address());
  int replies = 0, failures = 0;
  for (int round = 0; round < 400; ++round) {
    const absl::Time start = absl::Now();
    const auto reply =
        cluster->Compile(proto::CompileRequest(), key, start + absl::Milliseconds(300));
    EXPECT_LT(absl::Now() - start, absl::Seconds(5));
    failures += reply.ok() ? 0 : 1;
    if (!reply.ok()) continue;
    ++replies;
    EXPECT_EQ(reply->entry(), kEntry);
    EXPECT_EQ(reply->digest(), key.view());
  }
  // Without both outcomes, the test proves nothing.
  EXPECT_GT(replies, 50);
  EXPECT_GT(failures, 50);
}

TEST(ExecutionGarbageTest, AnErrorWithCodeOkIsNotAResult) {
  const Key key(Sha256Of("key"));
  google::longrunning::Operation operation = GoodOperation(key);
  operation.mutable_error()->set_message("all is well");
  GarbageServer server(AnswersWith(operation), 11, /*damage=*/false);
  const auto reply = ClusterAt(server.address())
                         ->Compile(proto::CompileRequest(), key, absl::Now() + absl::Seconds(5));
  EXPECT_TRUE(absl::IsDataLoss(reply.status())) << reply.status();
}

INSTANTIATE_TEST_SUITE_P(Ways, GarbageTest, testing::Combine(testing::Bool(), testing::Bool()));

}  // namespace
}  // namespace kiln
