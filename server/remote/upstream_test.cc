#include "server/remote/upstream.h"

#include <grpcpp/grpcpp.h>

#include "common/wire/version.h"
#include "gtest/gtest.h"
#include "kiln/proto/service.grpc.pb.h"

namespace kiln {
namespace {

constexpr char kCompiler[] = "the compiler of both, of 32 bytes";

// Answers look-ups with entries named by their places, so many of them in a reply.
class FullReplies : public proto::Kiln::Service {
 public:
  explicit FullReplies(int in_a_reply) : in_a_reply_(in_a_reply) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    proto::Upstream config;
    config.set_address("127.0.0.1:" + std::to_string(port));
    tier_ = std::make_unique<UpstreamTier>(UpstreamKilnd::Make(config, kCompiler).value());
  }
  ~FullReplies() override { server_->Shutdown(); }

  grpc::Status Capabilities(grpc::ServerContext*, const proto::CapabilitiesRequest*,
                            proto::CapabilitiesReply* reply) override {
    reply->set_protocol(kProtocolVersion);
    reply->set_compiler(kCompiler);
    return grpc::Status::OK;
  }

  grpc::Status Lookup(grpc::ServerContext*, const proto::LookupRequest* request,
                      proto::LookupReply* reply) override {
    ++lookups;
    int found = 0;
    for (const std::string& place : request->digests()) {
      proto::LookupReply::Result* result = reply->add_results();
      if (place[0] == 'm') continue;  // a miss
      result->set_found(found < in_a_reply_);
      result->set_left_out(!result->found());
      if (result->found()) result->set_entry("entry of " + place);
      ++found;
    }
    return grpc::Status::OK;
  }

  absl::StatusOr<std::vector<std::string>> Get(const std::vector<Place>& places) {
    return tier_->Get(places, absl::Now() + absl::Seconds(20));
  }

  int lookups = 0;

 private:
  const int in_a_reply_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<UpstreamTier> tier_;
};

Place PlaceFor(char first) { return *Place::FromBytes(std::string(32, first)); }

TEST(UpstreamTest, EntriesThatAReplyLeftOutAreAskedForAgain) {
  FullReplies upstream(2);
  const auto entries =
      upstream.Get({PlaceFor('a'), PlaceFor('m'), PlaceFor('b'), PlaceFor('c'), PlaceFor('d')});
  ASSERT_TRUE(entries.ok()) << entries.status();
  std::vector<std::string> expected;
  for (const char c : {'a', 'm', 'b', 'c', 'd'}) {
    expected.push_back(c == 'm' ? "" : "entry of " + std::string(32, c));
  }
  EXPECT_EQ(*entries, expected);
  EXPECT_EQ(upstream.lookups, 2);
}

TEST(UpstreamTest, AnUpstreamThatLeavesEverythingOutIsAskedOnce) {
  FullReplies upstream(0);
  const auto entries = upstream.Get({PlaceFor('a'), PlaceFor('b')});
  ASSERT_TRUE(entries.ok()) << entries.status();
  EXPECT_EQ(*entries, std::vector<std::string>(2));
  EXPECT_EQ(upstream.lookups, 1);
}

}  // namespace
}  // namespace kiln
