// kilnds whose shared tier is a build cache (Remote Execution API, HTTP), and that compile misses
// on a build cluster. The workers' log counts compilations by local workers.
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/artifact/entry.h"
#include "common/artifact/signature.h"
#include "server/remote/http/testing/http_store.h"
#include "server/remote/reapi/testing/fake_reapi.h"
#include "tests/e2e/server/cluster_fixture.h"
#include "tests/e2e/server/test_certificates.h"

namespace kiln {
namespace {

constexpr char kUnsigned[] = "trust { accept_unsigned: true }\n";

class BuildCacheTest : public ClusterTest {
 protected:
  static std::string Reapi(const FakeReapi& server) {
    return absl::StrCat("tier { get_ms: 5000 reapi { address: \"", server.address(),
                        "\" instance: \"main\" } }\n");
  }
  static std::string Execution(const FakeReapi& server, bool trusted) {
    return absl::StrCat("execution { server { address: \"", server.address(),
                        "\" } trusted: ", trusted ? "true" : "false", " }\n");
  }
  // Checks that kilnd 1 finds at `tier` an entry that kilnd 0 compiled.
  void ExpectShared(const std::string& tier) {
    const auto made = Client(0).Compile("x", 1);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->tier(), "compiled");
    ASSERT_TRUE(Eventually([&] {
      const auto found = Client(1).Lookup(made->digest());
      return found.ok() && found->found() && found->tier() == tier &&
             found->entry() == made->entry();
    })) << LogText(0)
        << LogText(1);
    EXPECT_EQ(Client(1).Compile("x", 1)->tier(), "memory");
    EXPECT_EQ(Jobs().size(), 1u);
  }
};

TEST_F(BuildCacheTest, KilndsShareARemoteExecutionCache) {
  FakeReapi server;
  StartKilnds(2, Reapi(server) + kUnsigned);
  ExpectShared("reapi");
  EXPECT_EQ(server.instances(), std::set<std::string>{"main"});
}

TEST_F(BuildCacheTest, OverMutualTlsWithAToken) {
  const TestAuthority authority(dir_, "ca");
  authority.Issue("server", "cache");
  authority.Issue("client", "kiln");
  WriteFile(TempPath("token"), "a-secret\n");
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = ReadFile(authority.ca_file());
  options.pem_key_cert_pairs.push_back(
      {ReadFile(authority.KeyPathOf("server")), ReadFile(authority.PathOf("server"))});
  FakeReapi server(grpc::SslServerCredentials(options));
  FakeReapi::Manner manner;
  manner.token = "a-secret";
  manner.zstd = true;
  server.Behave(manner);
  // Relative paths are taken from the configuration's directory.
  StartKilnds(2, absl::StrCat("tier { get_ms: 5000 reapi { address: \"", server.address(),
                              "\" token_file: \"token\" tls { enabled: true ca_file: \"ca.pem\" "
                              "certificate_file: \"client.pem\" key_file: \"client.key\" } } }\n",
                              kUnsigned));
  ExpectShared("reapi");
}

TEST_F(BuildCacheTest, KilndsShareAnHttpCache) {
  HttpStore server;
  StartKilnds(2, absl::StrCat("tier { name: \"web\" get_ms: 5000 http { url: \"", server.url(),
                              "\" } }\n", kUnsigned));
  ExpectShared("web");
}

TEST_F(BuildCacheTest, EntriesWithoutATrustedSignatureAreMisses) {
  FakeReapi server;
  StartKilnds(2, Reapi(server));
  ASSERT_TRUE(Client(0).Compile("x", 1).ok());
  ASSERT_TRUE(Eventually([&] { return server.calls("UpdateActionResult") > 0; }));
  EXPECT_EQ(Client(1).Compile("x", 1)->tier(), "compiled");
  EXPECT_EQ(Jobs().size(), 2u);
}

TEST_F(BuildCacheTest, DamagedEntriesAreMisses) {
  FakeReapi server;
  StartKilnds(2, Reapi(server) + kUnsigned);
  ASSERT_TRUE(Client(0).Compile("x", 1).ok());
  ASSERT_TRUE(Eventually([&] { return server.calls("UpdateActionResult") > 0; }));
  FakeReapi::Manner manner;
  manner.corrupts = true;
  server.Behave(manner);
  const auto reply = Client(1).Compile("x", 1);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->tier(), "compiled");
}

TEST_F(BuildCacheTest, AReadOnlyCacheIsStillRead) {
  FakeReapi server;
  StartKilnds(1, Reapi(server) + kUnsigned);
  ASSERT_TRUE(Client(0).Compile("x", 1).ok());
  ASSERT_TRUE(Eventually([&] { return server.calls("UpdateActionResult") > 0; }));
  FakeReapi::Manner manner;
  manner.update_enabled = false;
  server.Behave(manner);
  homes_.push_back(std::make_unique<Home>(*Home::Find(TempPath("home1"))));
  StartKilnd(1);
  for (int i = 2; i < 8; ++i) EXPECT_EQ(Client(1).Compile("x", i)->tier(), "compiled");
  ASSERT_TRUE(Eventually([&] { return absl::StrContains(LogText(1), "is only read"); }))
      << LogText(1);
  EXPECT_EQ(Client(1).Compile("x", 1)->tier(), "reapi");
}

TEST_F(BuildCacheTest, AMissingCacheFailsNoRequest) {
  auto server = std::make_unique<FakeReapi>();
  StartKilnds(1, Reapi(*server) + kUnsigned);
  ASSERT_TRUE(Client(0).Compile("x", 1).ok());
  server.reset();
  for (int i = 2; i < 12; ++i) {
    const absl::Time start = absl::Now();
    ASSERT_TRUE(Client(0).Compile("x", i).ok());
    EXPECT_LT(absl::Now() - start, absl::Seconds(2));
  }
}

TEST_F(BuildCacheTest, MissesAreCompiledOnTheCluster) {
  FakeReapi server;
  StartKilnds(1, Execution(server, /*trusted=*/true));
  const auto made = Client(0).Compile("x", 1);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->tier(), "compiled") << LogText(0);
  EXPECT_EQ(server.executed(), 1);
  EXPECT_EQ(Jobs().size(), 0u);
  EXPECT_EQ(Client(0).Compile("x", 1)->tier(), "memory");
  // Diagnostics also come back from the cluster.
  const auto wrong = Client(0).Compile("error", 2);
  ASSERT_TRUE(wrong.ok()) << wrong.status();
  EXPECT_EQ(wrong->diagnostics_size(), 1);
  EXPECT_EQ(Jobs().size(), 0u);
}

TEST_F(BuildCacheTest, OnlyWhatOwnWorkersCompiledIsSigned) {
  auto server = std::make_unique<FakeReapi>();
  WriteFile(TempPath("key"), SigningKey::Generate("builders")->Text() + "\n");
  ASSERT_EQ(chmod(TempPath("key").c_str(), 0600), 0);
  StartKilnds(1, Execution(*server, /*trusted=*/true) + "trust { signing_key_file: \"key\" }\n");
  const auto there = Client(0).Compile("x", 1);
  ASSERT_TRUE(there.ok()) << there.status();
  EXPECT_EQ(there->tier(), "compiled");
  EXPECT_EQ(DecodeEntry(there->entry())->signer, 0u);
  server.reset();
  const auto here = Client(0).Compile("x", 2);
  ASSERT_TRUE(here.ok()) << here.status();
  EXPECT_NE(DecodeEntry(here->entry())->signer, 0u);
}

TEST_F(BuildCacheTest, ResultsOfAClusterThatIsNotTrustedNeedASignature) {
  FakeReapi server;
  StartKilnds(1, Execution(server, /*trusted=*/false));
  EXPECT_EQ(Client(0).Compile("x", 1)->tier(), "compiled");
  EXPECT_EQ(Jobs().size(), 1u);
}

TEST_F(BuildCacheTest, LocalWorkersCompileWithoutTheCluster) {
  auto server = std::make_unique<FakeReapi>();
  StartKilnds(1, Execution(*server, /*trusted=*/true));
  EXPECT_TRUE(Client(0).Compile("x", 1).ok());
  // A job that kills the cluster's worker is retried locally.
  EXPECT_EQ(Jobs().size(), 0u);
  EXPECT_FALSE(Client(0).Compile("die", 2).ok());
  EXPECT_GE(Jobs().size(), 1u);
  server.reset();
  const absl::Time start = absl::Now();
  EXPECT_EQ(Client(0).Compile("x", 3)->tier(), "compiled");
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
}

}  // namespace
}  // namespace kiln
