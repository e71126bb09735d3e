// More connections without credentials than kilnd-grpc has descriptors: it still serves
// authenticated callers, rereads tokens, and disconnects the strangers.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "server/grpc_front/grpc_fixture.h"
#include "server/grpc_front/raw_http2.h"

namespace kiln {
namespace {

constexpr char kToken[] = "0123456789abcdef-known";
constexpr char kRevoked[] = "0123456789abcdef-revoked";
constexpr int kDescriptors = 256;
constexpr int kStrangers = 400;

class StrangersTest : public GrpcFixture {
 protected:
  // Starts kilnd with few descriptors, for itself and its fronts.
  void BeginWithFewDescriptors() {
    WriteTokens(
        absl::StrCat(kToken, " known - read,compile\n", kRevoked, " revoked - read,compile\n"));
    ASSERT_TRUE(home_->Create().ok());
    WriteFile(home_->dir() + "/kilnd.conf",
              absl::StrCat("service { listen: \"", Address(), "\" token_file: \"", TokenPath(),
                           "\" }\n"));
    ASSERT_EQ(
        RunProgram({"/bin/sh", "-c", absl::StrCat("ulimit -n ", kDescriptors, " && exec \"$@\""),
                    "sh", KilndPath(), "--home=" + home_->dir(), "--worker=" + worker_,
                    "--daemonize", "--workers=1", BinFlag()}),
        0);
  }
  static grpc::StatusCode Ask(Stub* stub, const std::string& token) {
    proto::CapabilitiesReply reply;
    return Call(&Stub::Capabilities, stub, token, proto::CapabilitiesRequest(), &reply,
                /*deadline_ms=*/10000)
        .error_code();
  }
  std::unique_ptr<RawHttp2> Stranger() const {
    auto stranger = std::make_unique<RawHttp2>(port_);
    stranger->Begin();
    return stranger;
  }
};

TEST_F(StrangersTest, RefuseNoCallerAndKeepNoTokenValid) {
  BeginWithFewDescriptors();
  auto early = Connect();
  ASSERT_EQ(Ask(early.get(), kRevoked), grpc::StatusCode::OK);
  std::vector<std::unique_ptr<RawHttp2>> strangers;
  strangers.reserve(kStrangers);
  for (int i = 0; i < kStrangers; ++i) strangers.push_back(Stranger());
  EXPECT_EQ(Ask(early.get(), kToken), grpc::StatusCode::OK) << "a caller from before";
  EXPECT_EQ(Ask(Connect().get(), kToken), grpc::StatusCode::OK) << "a new caller";
  WriteTokens(absl::StrCat(kToken, " known - read,compile\n"));
  grpc::StatusCode revoked = grpc::StatusCode::OK;
  for (int i = 0; i < 300 && revoked != grpc::StatusCode::UNAUTHENTICATED; ++i) {
    // The attack continues.
    for (int j = 0; j < 4; ++j) strangers[(4 * i + j) % kStrangers] = Stranger();
    revoked = Ask(early.get(), kRevoked);
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(revoked, grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(LogText().find("Too many open files"), std::string::npos);
  EXPECT_EQ(LogText().find("kilnd does not answer"), std::string::npos);
  // Finally all strangers are disconnected.
  const absl::Time give_up = absl::Now() + absl::Seconds(60);
  const auto ended = [](const std::unique_ptr<RawHttp2>& stranger) { return stranger->Ended(); };
  while (!std::all_of(strangers.begin(), strangers.end(), ended) && absl::Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(100));
  }
  EXPECT_TRUE(std::all_of(strangers.begin(), strangers.end(), ended));
  EXPECT_EQ(Ask(early.get(), kToken), grpc::StatusCode::OK);
}

// A Watch of the server's health needs no credentials, and is long.
TEST_F(StrangersTest, WatchersOfItsHealthStayConnected) {
  BeginWithFewDescriptors();
  ASSERT_EQ(Ask(Connect().get(), kToken), grpc::StatusCode::OK);
  RawHttp2 watcher(port_);
  ASSERT_TRUE(watcher.Begin() && watcher.Call(1, "/grpc.health.v1.Health/Watch", "", ""));
  const std::unique_ptr<RawHttp2> stranger = Stranger();
  const absl::Time give_up = absl::Now() + absl::Seconds(60);
  while (!stranger->Ended() && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(100));
  EXPECT_TRUE(stranger->Ended());
  absl::SleepFor(absl::Seconds(2));
  EXPECT_FALSE(watcher.Ended());
}

}  // namespace
}  // namespace kiln
