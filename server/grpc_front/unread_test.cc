// Callers that send requests and do not read replies: the memory and time that kilnd-grpc spends.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "server/grpc_front/grpc_fixture.h"
#include "server/grpc_front/raw_http2.h"

namespace kiln {
namespace {

constexpr char kSlow[] = "0123456789abcdef-slow";
constexpr char kFair[] = "0123456789abcdef-fair";
constexpr char kLookup[] = "/kiln.proto.Kiln/Lookup";
constexpr int kMostKilobytes = 256 << 10;

class UnreadTest : public GrpcFixture {
 protected:
  UnreadTest() {
    WriteTokens(absl::StrCat(kSlow, " slow - read,compile\n", kFair, " fair - read,compile\n"));
  }
  std::string Tokens() const { return absl::StrCat("token_file: \"", TokenPath(), "\""); }
  // The front's process, a child of kilnd.
  pid_t Front() const {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string stat = ReadFile(entry.path().string() + "/stat");
      const size_t end = stat.rfind(')');
      if (end == std::string::npos || stat.find("(kilnd-grpc") == std::string::npos) continue;
      const std::vector<std::string> words = absl::StrSplit(stat.substr(end + 2), ' ');
      if (std::atoi(words[1].c_str()) == DaemonPid()) return std::atoi(stat.c_str());
    }
    return -1;
  }
};

// 256 calls for 3 MB each on each of three connections, none of whose replies is read.
TEST_F(UnreadTest, UnreadRepliesAreBoundedAndThenDropped) {
  Begin(Tokens());
  auto fair = Connect();
  proto::CompileReply made;
  ASSERT_TRUE(Compile(fair.get(), kFair, "big 3000000", 1, &made).ok());
  proto::CompileReply small;
  ASSERT_TRUE(Compile(fair.get(), kFair, "big 20000", 2, &small).ok());
  proto::LookupRequest request;
  request.add_digests(made.digest());
  constexpr int kConnections = 3, kCalls = 256;
  std::vector<std::unique_ptr<RawHttp2>> readers;
  for (int i = 0; i < kConnections; ++i) {
    readers.push_back(std::make_unique<RawHttp2>(port_));
    ASSERT_TRUE(readers.back()->connected() && readers.back()->Begin());
    for (int call = 0; call < kCalls; ++call) {
      ASSERT_TRUE(readers.back()->Call(2 * call + 1, kLookup, kSlow, request.SerializeAsString()));
    }
  }
  const absl::Time asked = absl::Now();
  const pid_t front = Front();
  ASSERT_GT(front, 0);
  int most = 0;
  bool ended = false;
  const absl::Time give_up = absl::Now() + absl::Seconds(150);
  while (!ended && absl::Now() < give_up) {
    most = std::max(most, ResidentKilobytes(front));
    // Other callers are served.
    proto::LookupReply reply;
    const grpc::Status status = Lookup(fair.get(), kFair, small.digest(), &reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(reply.results(0).found());
    ended = std::any_of(readers.begin(), readers.end(),
                        [](const auto& reader) { return reader->HungUp(); });
    absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_TRUE(ended) << "the server disconnects a client that does not read its reply";
  // The calls of the stalled connections were refused. HTTP/2's own keepalive would take 80
  // seconds.
  EXPECT_LT(absl::Now() - asked, absl::Seconds(70));
  if (!kSanitized) {
    EXPECT_LE(most, kMostKilobytes);
  }
  // Their room is free again.
  proto::LookupReply reply;
  EXPECT_TRUE(Lookup(fair.get(), kSlow, made.digest(), &reply).ok());
}

TEST_F(UnreadTest, ALookupNamesADigestOnce) {
  Begin(Tokens());
  auto stub = Connect();
  proto::CompileReply made;
  ASSERT_TRUE(Compile(stub.get(), kFair, "big 1000", 1, &made).ok());
  proto::LookupRequest request;
  for (int i = 0; i < 2; ++i) request.add_digests(made.digest());
  proto::LookupReply reply;
  const grpc::Status status = Call(&Stub::Lookup, stub.get(), kFair, request, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("is named twice"), std::string::npos)
      << status.error_message();
}

// A client requests omitted entries again, and each reply contains at least one.
TEST_F(UnreadTest, ALargeLookupIsAnsweredInParts) {
  Begin(Tokens());
  auto stub = Connect();
  proto::LookupRequest request;
  for (int i = 0; i < 5; ++i) {
    proto::CompileReply made;
    ASSERT_TRUE(Compile(stub.get(), kFair, "big 1500000", i, &made).ok());
    request.add_digests(made.digest());
  }
  int found = 0, replies = 0;
  while (request.digests_size() > 0) {
    proto::LookupReply reply;
    ASSERT_TRUE(Call(&Stub::Lookup, stub.get(), kFair, request, &reply).ok());
    ASSERT_LE(reply.ByteSizeLong(), (size_t{4} << 20) + 1000);
    proto::LookupRequest rest;
    for (int i = 0; i < reply.results_size(); ++i) {
      EXPECT_NE(reply.results(i).found(), reply.results(i).left_out());
      found += reply.results(i).found();
      if (reply.results(i).left_out()) rest.add_digests(request.digests(i));
    }
    ASSERT_LT(rest.digests_size(), request.digests_size());
    request = rest;
    ++replies;
  }
  EXPECT_EQ(found, 5);
  EXPECT_EQ(replies, 3);
}

}  // namespace
}  // namespace kiln
