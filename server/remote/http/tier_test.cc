// The tier with a server in this process: it finds stored entries, and any fault of the server is a
// miss or a status, never wrong bytes.
#include "server/remote/http/tier.h"

#include <signal.h>

#include <cstdio>
#include <fstream>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "server/remote/http/testing/http_store.h"
#include "server/remote/reapi/blob.h"
#include "tests/e2e/server/test_certificates.h"

namespace kiln {
namespace {

Place PlaceFor(int i) { return Place(Sha256Of(absl::StrCat("place ", i))); }
std::string ResultPath(int i) {
  return absl::StrCat("/cache/ac/", EntryActionOf(PlaceFor(i)).action.hash());
}
std::string BlobPath(absl::string_view entry) {
  return absl::StrCat("/cache/cas/", Sha256Of(entry).Hex());
}

class HttpTierTest : public testing::Test {
 protected:
  HttpTierTest() { Make(); }
  void Make(proto::Http config = {}) {
    if (config.url().empty()) config.set_url(server_.url() + "/");
    auto made = MakeHttpTier(config);
    ASSERT_TRUE(made.ok()) << made.status();
    tier_ = *std::move(made);
  }
  absl::StatusOr<std::string> Get(int i, absl::Duration limit = absl::Seconds(10)) {
    auto got = tier_->Get({PlaceFor(i)}, absl::Now() + limit);
    if (!got.ok()) return got.status();
    return (*got)[0];
  }
  absl::Status Put(int i, absl::string_view entry) {
    return tier_->Put(PlaceFor(i), entry, absl::Now() + absl::Seconds(10));
  }

  HttpStore server_;
  std::unique_ptr<RemoteTier> tier_;
};

TEST_F(HttpTierTest, FindsStoredEntries) {
  EXPECT_EQ(*Get(1), "");
  const std::string entry(3 << 20, 'x');
  ASSERT_TRUE(Put(1, entry).ok());
  EXPECT_TRUE(*Get(1) == entry);
  EXPECT_EQ(server_.stored().size(), 2);
  EXPECT_EQ(server_.stored().count(BlobPath(entry)), 1);
  // /ac/ contains the messages that other clients of such caches expect.
  reapi::ActionResult result;
  ASSERT_TRUE(result.ParseFromString(server_.stored()[ResultPath(1)]));
  EXPECT_EQ(result.output_files(0).digest().hash(), Sha256Of(entry).Hex());
  EXPECT_EQ(server_.connections(), 1);  // kept
}

TEST_F(HttpTierTest, ExistingBlobsAreNotSentAgain) {
  ASSERT_TRUE(Put(1, "the same").ok());
  ASSERT_TRUE(Put(2, "the same").ok());
  EXPECT_EQ(server_.count("PUT"), 3);  // one blob, two results
  EXPECT_EQ(*Get(2), "the same");
}

TEST_F(HttpTierTest, FindsManyInOneRequest) {
  std::vector<Place> places;
  for (int i = 0; i < 50; ++i) {
    places.push_back(PlaceFor(i));
    if (i % 2 != 0) continue;
    ASSERT_TRUE(Put(i, absl::StrCat("entry ", i)).ok());
  }
  auto got = tier_->Get(places, absl::Now() + absl::Seconds(10));
  ASSERT_TRUE(got.ok()) << got.status();
  for (int i = 0; i < 50; ++i) EXPECT_EQ((*got)[i], i % 2 == 0 ? absl::StrCat("entry ", i) : "");
  EXPECT_LE(server_.connections(), 9);
}

TEST_F(HttpTierTest, RefusesBytesThatAreNotTheEntry) {
  ASSERT_TRUE(Put(1, "an entry").ok());
  const std::string good = server_.stored()[ResultPath(1)];
  server_.Replace(BlobPath("an entry"), "an entrY");
  EXPECT_EQ(Get(1).status().code(), absl::StatusCode::kDataLoss);
  server_.Replace(BlobPath("an entry"), "an entr");
  EXPECT_EQ(Get(1).status().code(), absl::StatusCode::kDataLoss);
  server_.Replace(BlobPath("an entry"), "an entry and more");
  EXPECT_EQ(Get(1).status().code(), absl::StatusCode::kDataLoss);
  server_.Remove(BlobPath("an entry"));
  EXPECT_EQ(*Get(1), "");
  server_.Replace(BlobPath("an entry"), "an entry");
  EXPECT_EQ(*Get(1), "an entry");

  // Results truncated and changed in every place: the tier returns the entry or nothing.
  std::mt19937 random(3);
  int failures = 0;
  for (size_t at = 0; at < good.size(); ++at) {
    for (const std::string& bad : {good.substr(0, at), [&] {
                                     std::string changed = good;
                                     changed[at] ^= static_cast<char>(1 << random() % 8);
                                     return changed;
                                   }()}) {
      server_.Replace(ResultPath(1), bad);
      const auto got = Get(1);
      failures += got.ok() ? 0 : 1;
      EXPECT_TRUE(!got.ok() || got->empty() || *got == "an entry");
    }
  }
  EXPECT_GT(failures, static_cast<int>(good.size()) / 2);
}

TEST_F(HttpTierTest, MapsCodesToStatuses) {
  const std::pair<int, absl::StatusCode> rows[] = {
      {401, absl::StatusCode::kUnauthenticated},   {403, absl::StatusCode::kPermissionDenied},
      {405, absl::StatusCode::kPermissionDenied},  {507, absl::StatusCode::kResourceExhausted},
      {500, absl::StatusCode::kUnavailable},       {400, absl::StatusCode::kInternal},
      {302, absl::StatusCode::kFailedPrecondition}};
  for (const auto& [code, expected] : rows) {
    server_.Answer(
        [code = code](const HttpStoreRequest&) { return std::make_pair(code, std::string("no")); });
    EXPECT_EQ(Get(1).status().code(), expected) << code;
    EXPECT_EQ(Put(1, "an entry").code(), expected) << code;
  }
}

TEST_F(HttpTierTest, AReadOnlyServerIsRead) {
  ASSERT_TRUE(Put(1, "an entry").ok());
  server_.Answer([](const HttpStoreRequest& request) {
    return std::make_pair(request.method == "PUT" ? 405 : 0, std::string());
  });
  EXPECT_EQ(Put(2, "another").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(*Get(1), "an entry");
}

TEST_F(HttpTierTest, AServerThatHangsCostsTheDeadline) {
  server_.Answer([](const HttpStoreRequest&) {
    absl::SleepFor(absl::Milliseconds(700));
    return std::make_pair(404, std::string());
  });
  const absl::Time start = absl::Now();
  EXPECT_EQ(Get(1, absl::Milliseconds(100)).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_LT(absl::Now() - start, absl::Milliseconds(600));
}

TEST_F(HttpTierTest, AServerThatClosesOrIsMissingIsUnavailable) {
  server_.Answer([](const HttpStoreRequest&) { return std::make_pair(-1, std::string()); });
  EXPECT_EQ(Get(1).status().code(), absl::StatusCode::kUnavailable);
  server_.Answer(nullptr);
  EXPECT_EQ(*Get(1), "");
  proto::Http config;
  {
    HttpStore gone;
    config.set_url(gone.url());
  }
  auto tier = MakeHttpTier(config);
  ASSERT_TRUE(tier.ok());
  EXPECT_EQ((*tier)->Get({PlaceFor(1)}, absl::Now() + absl::Seconds(5)).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(HttpTierTest, TokensAreSentAndReadAgain) {
  server_.Answer([](const HttpStoreRequest& request) {
    return std::make_pair(request.authorization == "Bearer one" ? 0 : 401, std::string());
  });
  const std::string path = absl::StrCat(testing::TempDir(), "/token");
  std::ofstream(path) << "two\n";
  proto::Http config;
  config.set_token_file(path);
  Make(config);
  EXPECT_EQ(Get(1).status().code(), absl::StatusCode::kUnauthenticated);
  std::ofstream(path) << "one\n";
  EXPECT_EQ(*Get(1), "");
}

// An independent server: Python's, with TLS, a user name and a password.
TEST_F(HttpTierTest, HttpsWithAPassword) {
  const std::string dir = testing::TempDir();
  const TestAuthority authority(dir, "authority");
  authority.Issue("server", "cache");
  const TestAuthority stranger(dir, "stranger");
  std::FILE* server = popen(
      absl::StrCat("exec python3 server/remote/http/testing/https_store.py ",
                   authority.PathOf("server"), " ", authority.KeyPathOf("server"), " kiln:pass42")
          .c_str(),
      "r");
  int pid = 0;
  int port = 0;
  ASSERT_EQ(std::fscanf(server, "%d %d", &pid, &port), 2);
  const std::string password = dir + "/password";
  std::ofstream(password) << "pass42\n";

  proto::Http config;
  config.set_url(absl::StrCat("https://localhost:", port, "/cache"));
  config.set_user("kiln");
  config.set_password_file(password);
  config.mutable_tls()->set_ca_file(authority.ca_file());
  Make(config);
  const std::string entry(300000, 'x');
  EXPECT_EQ(*Get(1), "");
  EXPECT_TRUE(Put(1, entry).ok());
  EXPECT_TRUE(*Get(1) == entry);
  std::ofstream(password) << "pass43\n";
  EXPECT_EQ(Get(1).status().code(), absl::StatusCode::kUnauthenticated);
  std::ofstream(password) << "pass42\n";
  EXPECT_TRUE(*Get(1) == entry);
  // A server with another authority's certificate is refused.
  config.mutable_tls()->set_ca_file(stranger.ca_file());
  Make(config);
  EXPECT_EQ(Get(1).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(Get(1).status().message(), "certificate")) << Get(1).status();
  kill(pid, SIGKILL);
  pclose(server);
}

TEST(MakeHttpTierTest, SaysWhatIsWrong) {
  const auto refusal = [](const char* url, const char* token) {
    proto::Http config;
    config.set_url(url);
    config.set_token_file(token);
    return std::string(MakeHttpTier(config).status().message());
  };
  EXPECT_EQ(refusal("cache.example", ""),
            "url: \"cache.example\": expected http://HOST/… or https://HOST/…");
  EXPECT_EQ(refusal("file:///etc", ""),
            "url: \"file:///etc\": expected http://HOST/… or https://HOST/…");
  EXPECT_EQ(refusal("https://me:secret@cache.example/x", ""),
            "url: holds a user's name or password; user and password_file are for them");
  EXPECT_EQ(refusal("http://cache.example/x", "/token"),
            "token_file: the token would travel in the clear to cache.example; use https://");
  EXPECT_EQ(refusal("https://cache.example/x", "/token"), "");
  proto::Http config;
  config.set_url("http://cache.example/x");
  config.set_user("me");
  EXPECT_EQ(MakeHttpTier(config).status().message(),
            "user and password_file belong together, and one is missing");
  config.set_password_file("/password");
  EXPECT_EQ(MakeHttpTier(config).status().message(),
            "password_file: the password would travel in the clear to cache.example; use https://");
  EXPECT_EQ(refusal("http://localhost:8080/x", "/token"), "");
}

}  // namespace
}  // namespace kiln
