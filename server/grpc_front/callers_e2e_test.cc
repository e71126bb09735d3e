// Tokens, rights and tenants over gRPC, end to end.
#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "common/artifact/entry.h"
#include "server/grpc_front/grpc_fixture.h"

namespace kiln {
namespace {

constexpr char kReader[] = "reader-0123456789";
constexpr char kAlice[] = "alice-0123456789";
constexpr char kBob[] = "bob-0123456789abc";
constexpr char kWriter[] = "writer-0123456789";
constexpr char kAdmin[] = "admin-0123456789a";

class CallersE2eTest : public GrpcFixture {
 protected:
  void Begin() {
    WriteTokens(absl::StrCat(kReader, " reader - read\n", kAlice, " alice team-a read,compile\n",
                             kBob, " bob team-b read,compile\n", kWriter,
                             " writer team-a read,write\n", kAdmin, " root - admin\n"));
    GrpcFixture::Begin(absl::StrCat("token_file: \"", TokenPath(), "\""));
    stub_ = Connect();
  }
  grpc::StatusCode CompileCode(const std::string& token, uint64_t seed = 1) {
    return Compile(stub_.get(), token, "x", seed).error_code();
  }

  std::unique_ptr<Stub> stub_;
};

TEST_F(CallersE2eTest, RefusesCallersWithoutAToken) {
  Begin();
  for (const char* token : {"", "reader-0123456780", "reader", "x"}) {
    EXPECT_EQ(CompileCode(token), grpc::UNAUTHENTICATED) << token;
    proto::LookupReply found;
    EXPECT_EQ(Lookup(stub_.get(), token, std::string(32, 'k'), &found).error_code(),
              grpc::UNAUTHENTICATED);
  }
  EXPECT_TRUE(Jobs().empty());
}

TEST_F(CallersE2eTest, TheTokenFileDeterminesRights) {
  Begin();
  EXPECT_EQ(CompileCode(kAlice), grpc::OK);
  const grpc::Status refused = Compile(stub_.get(), kReader, "x", 1);
  EXPECT_EQ(refused.error_code(), grpc::PERMISSION_DENIED);
  EXPECT_NE(refused.error_message().find("right to compile"), std::string::npos)
      << refused.error_message();
  EXPECT_NE(refused.error_details().find("google.rpc.ErrorInfo"), std::string::npos);
  EXPECT_NE(refused.error_details().find("rights"), std::string::npos);

  proto::LookupReply found;
  EXPECT_EQ(Lookup(stub_.get(), kReader, std::string(32, 'k'), &found).error_code(), grpc::OK);
  EXPECT_EQ(Lookup(stub_.get(), kAdmin, std::string(32, 'k'), &found).error_code(),
            grpc::PERMISSION_DENIED);
  proto::StatsReply stats;
  EXPECT_EQ(Call(&Stub::Stats, stub_.get(), kAlice, proto::StatsRequest(), &stats).error_code(),
            grpc::PERMISSION_DENIED);
  EXPECT_EQ(Call(&Stub::Stats, stub_.get(), kAdmin, proto::StatsRequest(), &stats).error_code(),
            grpc::OK);
  proto::MetricsReply metrics;
  EXPECT_EQ(
      Call(&Stub::Metrics, stub_.get(), kAlice, proto::MetricsRequest(), &metrics).error_code(),
      grpc::PERMISSION_DENIED);
  EXPECT_EQ(
      Call(&Stub::Metrics, stub_.get(), kAdmin, proto::MetricsRequest(), &metrics).error_code(),
      grpc::OK);
  EXPECT_GT(metrics.families_size(), 0);
}

TEST_F(CallersE2eTest, AnotherTenantsEntryLooksAbsent) {
  Begin();
  proto::CompileReply alices;
  ASSERT_TRUE(Compile(stub_.get(), kAlice, "x", 1, &alices).ok());
  EXPECT_EQ(alices.tier(), "compiled");
  proto::LookupReply hers, his, nobodys;
  ASSERT_TRUE(Lookup(stub_.get(), kAlice, alices.digest(), &hers).ok());
  EXPECT_TRUE(hers.results(0).found());
  ASSERT_TRUE(Lookup(stub_.get(), kBob, alices.digest(), &his).ok());
  ASSERT_TRUE(Lookup(stub_.get(), kBob, std::string(32, 'k'), &nobodys).ok());
  EXPECT_EQ(his.SerializeAsString(), nobodys.SerializeAsString());
  // Compiling does not reveal it either: the key is the same, but the worker compiles again.
  proto::CompileReply bobs;
  ASSERT_TRUE(Compile(stub_.get(), kBob, "x", 1, &bobs).ok());
  EXPECT_EQ(bobs.tier(), "compiled");
  EXPECT_EQ(bobs.digest(), alices.digest());
  EXPECT_EQ(Jobs().size(), 2u);
  // The user's own requests do not find the tenants' entries either.
  EXPECT_FALSE(Client().Lookup(alices.digest())->found());
}

TEST_F(CallersE2eTest, AWriterNeedsASignatureAndItsOwnTenant) {
  Begin();
  proto::CompileReply alices;
  ASSERT_TRUE(Compile(stub_.get(), kAlice, "x", 1, &alices).ok());
  proto::PutRequest put;
  put.add_entries(alices.entry());
  put.add_entries("no entry");
  proto::PutReply reply;
  EXPECT_EQ(Call(&Stub::Put, stub_.get(), kAlice, put, &reply).error_code(),
            grpc::PERMISSION_DENIED);
  const grpc::Status status = Call(&Stub::Put, stub_.get(), kWriter, put, &reply);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(reply.results_size(), 2);
  EXPECT_FALSE(reply.results(0).kept());
  EXPECT_NE(reply.results(0).refused(), "");
  EXPECT_FALSE(reply.results(1).kept());

  // The daemon's own user needs no signature, but the entry must be of the user's tenant.
  TestClient own = Client();
  absl::StatusOr<proto::CompileReply> shared = own.Compile("x", 5);
  ASSERT_TRUE(shared.ok());
  proto::PutRequest both;
  both.add_entries(shared->entry());
  both.add_entries(alices.entry());
  const auto kept = own.Call<proto::PutReply>(FrameType::kPut, both);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_TRUE(kept->results(0).kept()) << kept->results(0).refused();
  EXPECT_EQ(kept->results(1).refused(), "it was made for another tenant");
}

TEST_F(CallersE2eTest, TokensAreReadAgainWithoutARestart) {
  Begin();
  ASSERT_EQ(CompileCode(kAlice), grpc::OK);
  WriteTokens(absl::StrCat("new-alice-0123456789 alice team-a read,compile\n"));
  const absl::Time give_up = absl::Now() + absl::Seconds(10);
  while (CompileCode(kAlice) == grpc::OK && absl::Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_EQ(CompileCode(kAlice), grpc::UNAUTHENTICATED);
  EXPECT_EQ(CompileCode("new-alice-0123456789"), grpc::OK);
  // A faulty file refuses no caller.
  WriteTokens("nonsense\n");
  absl::SleepFor(absl::Seconds(2));
  EXPECT_EQ(CompileCode("new-alice-0123456789"), grpc::OK);
  EXPECT_NE(LogText().find("line 1: expected TOKEN NAME TENANT RIGHT,RIGHT"), std::string::npos);
}

TEST_F(CallersE2eTest, TheLogContainsNoTokens) {
  Begin();
  EXPECT_EQ(CompileCode("wrong-0123456789a"), grpc::UNAUTHENTICATED);
  EXPECT_EQ(CompileCode(kAlice), grpc::OK);
  for (const char* token : {"wrong-0123456789a", kAlice, kReader}) {
    EXPECT_EQ(LogText().find(token), std::string::npos);
  }
}

}  // namespace
}  // namespace kiln
