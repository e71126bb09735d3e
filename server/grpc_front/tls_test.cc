// TLS between machines with real certificates: which callers are admitted, and rereading of files.
#include <sys/stat.h>

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "server/grpc_front/grpc_fixture.h"
#include "tests/e2e/server/test_certificates.h"

namespace kiln {
namespace {

class TlsTest : public GrpcFixture {
 protected:
  TlsTest() : authority_(dir_, "authority"), stranger_(dir_, "stranger") {
    authority_.Issue("server", "localhost");
    authority_.Issue("client", "build-host-17");
  }
  void Begin(const std::string& more = "", bool mutual = false) {
    GrpcFixture::Begin(absl::StrCat(
        "certificate_file: \"", authority_.PathOf("server"), "\" key_file: \"",
        authority_.KeyPathOf("server"), "\" ",
        mutual ? absl::StrCat("client_ca_file: \"", authority_.ca_file(), "\" ") : "", more));
  }
  // A client that trusts `ca` and presents the certificate in `own`, if given.
  std::unique_ptr<Stub> ConnectTls(const TestAuthority& ca, const TestAuthority* issuer = nullptr,
                                   const std::string& own = "") {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ReadFile(ca.ca_file());
    if (issuer != nullptr) {
      options.pem_cert_chain = ReadFile(issuer->PathOf(own));
      options.pem_private_key = ReadFile(issuer->KeyPathOf(own));
    }
    return Connect(grpc::SslCredentials(options));
  }
  // A connection that is refused shows as Unavailable, or as a call that does not finish in time.
  static bool Refused(Stub* stub) {
    proto::CapabilitiesReply reply;
    const grpc::Status status = Call(&Stub::Capabilities, stub, "", proto::CapabilitiesRequest(),
                                     &reply, /*deadline_ms=*/3000, /*wait=*/false);
    return status.error_code() == grpc::UNAVAILABLE ||
           status.error_code() == grpc::DEADLINE_EXCEEDED;
  }
  void AwaitServer(const TestAuthority* issuer = nullptr, const std::string& own = "") {
    const grpc::Status status = Compile(ConnectTls(authority_, issuer, own).get(), "", "x", 1);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  const TestAuthority authority_;
  const TestAuthority stranger_;
};

TEST_F(TlsTest, TokensOverTls) {
  WriteTokens("alice-0123456789 alice - read,compile\n");
  Begin(absl::StrCat("token_file: \"", TokenPath(), "\""));
  const std::unique_ptr<Stub> stub = ConnectTls(authority_);
  EXPECT_TRUE(Compile(stub.get(), "alice-0123456789", "x", 1).ok());
  EXPECT_EQ(Compile(stub.get(), "alice-0123456780", "x", 1).error_code(), grpc::UNAUTHENTICATED);
  EXPECT_EQ(Compile(stub.get(), "", "x", 1).error_code(), grpc::UNAUTHENTICATED);
  EXPECT_TRUE(Refused(ConnectTls(stranger_).get()));  // it trusts only another authority
  EXPECT_TRUE(Refused(Connect().get()));              // no TLS, no service
}

TEST_F(TlsTest, CertificatesOfCallersAreChecked) {
  Begin("", /*mutual=*/true);
  AwaitServer(&authority_, "client");
  authority_.Issue("expired", "build-host-17", /*days=*/-1);
  stranger_.Issue("strangers", "build-host-17");
  EXPECT_TRUE(Refused(ConnectTls(authority_).get()));
  EXPECT_TRUE(Refused(ConnectTls(authority_, &authority_, "expired").get()));
  EXPECT_TRUE(Refused(ConnectTls(authority_, &stranger_, "strangers").get()));
  // Callers with a certificate by the authority may only read and compile.
  const std::unique_ptr<Stub> stub = ConnectTls(authority_, &authority_, "client");
  proto::StatsReply stats;
  EXPECT_EQ(Call(&Stub::Stats, stub.get(), "", proto::StatsRequest(), &stats).error_code(),
            grpc::PERMISSION_DENIED);
}

TEST_F(TlsTest, CertificatesHaveTenantsAndRightsWhereTheyAreListed) {
  WriteTokens("certificate:build-host-17 ci team-a read\n");
  authority_.Issue("other", "build-host-18");
  Begin(absl::StrCat("token_file: \"", TokenPath(), "\""), /*mutual=*/true);
  proto::LookupReply found;
  EXPECT_TRUE(
      Lookup(ConnectTls(authority_, &authority_, "client").get(), "", std::string(32, 'k'), &found)
          .ok());
  EXPECT_EQ(Compile(ConnectTls(authority_, &authority_, "client").get(), "", "x", 1).error_code(),
            grpc::PERMISSION_DENIED);
  EXPECT_EQ(Compile(ConnectTls(authority_, &authority_, "other").get(), "", "x", 1).error_code(),
            grpc::UNAUTHENTICATED);
}

TEST_F(TlsTest, RefusesAnExpiredCertificateAndLoadsANewOne) {
  authority_.Issue("server", "localhost", /*days=*/-1);
  Begin();
  absl::SleepFor(absl::Seconds(1));
  EXPECT_TRUE(Refused(ConnectTls(authority_).get()));
  authority_.Issue("server", "localhost");
  const absl::Time give_up = absl::Now() + absl::Seconds(15);
  while (Refused(ConnectTls(authority_).get()) && absl::Now() < give_up) {
  }
  EXPECT_FALSE(Refused(ConnectTls(authority_).get()));
}

TEST_F(TlsTest, AuthoritiesOfCallersAreReadAgain) {
  const std::string authorities = TempPath("authorities.pem");
  auto trust = [&](const std::string& text) {
    WriteFile(authorities + ".new", text);
    rename((authorities + ".new").c_str(), authorities.c_str());
  };
  trust(ReadFile(authority_.ca_file()));
  stranger_.Issue("strangers", "build-host-18");
  Begin(absl::StrCat("client_ca_file: \"", authorities, "\""));
  AwaitServer(&authority_, "client");
  auto refused = [this](const TestAuthority& issuer, const std::string& own) {
    return Refused(ConnectTls(authority_, &issuer, own).get());
  };
  auto becomes = [](bool wanted, const auto& is) {
    const absl::Time give_up = absl::Now() + absl::Seconds(15);
    while (is() != wanted && absl::Now() < give_up) {
    }
    return is() == wanted;
  };
  ASSERT_TRUE(refused(stranger_, "strangers"));
  trust(ReadFile(authority_.ca_file()) + ReadFile(stranger_.ca_file()));
  EXPECT_TRUE(becomes(false, [&] { return refused(stranger_, "strangers"); }));
  EXPECT_FALSE(refused(authority_, "client"));
  // A file without a certificate changes nothing.
  trust("nonsense");
  absl::SleepFor(absl::Seconds(3));
  EXPECT_FALSE(refused(authority_, "client"));
  trust(ReadFile(stranger_.ca_file()));
  EXPECT_TRUE(becomes(true, [&] { return refused(authority_, "client"); }));
  EXPECT_FALSE(refused(stranger_, "strangers"));
}

TEST_F(TlsTest, OldVersionsOfTlsAreRefused) {
  Begin();
  AwaitServer();
  auto handshake = [this](const std::string& version) {
    return RunProgram(
        {"/bin/sh", "-c",
         absl::StrCat("openssl s_client -connect ", Address(), " -CAfile ", authority_.ca_file(),
                      " -verify_return_error -alpn h2 ", "-cipher ALL:@SECLEVEL=0 ", version,
                      " </dev/null >/dev/null 2>&1")});
  };
  EXPECT_EQ(handshake("-tls1_2"), 0);
  EXPECT_EQ(handshake("-tls1_3"), 0);
  EXPECT_NE(handshake("-tls1_1"), 0);
  EXPECT_NE(handshake("-tls1"), 0);
}

TEST_F(TlsTest, RefusesUnsafeSettingsByName) {
  ASSERT_TRUE(home_->Create().ok());
  auto status_of = [this](const std::string& service) {
    WriteFile(home_->dir() + "/kilnd.conf", "service { " + service + " }");
    return Start({BinFlag()});
  };
  EXPECT_EQ(status_of("listen: \"0.0.0.0:4711\""), 2);
  EXPECT_EQ(status_of("listen: \"127.0.0.1.example.org:4711\""), 2);
  EXPECT_EQ(status_of("listen: \"127.0.0.1:4711\" key_file: \"server.key\""), 2);
  EXPECT_EQ(status_of("listen: \"127.0.0.1:4711\" client_ca_file: \"ca.pem\""), 2);
}

TEST_F(TlsTest, TheLogNamesWrongFiles) {
  WriteFile(authority_.PathOf("server"), "no certificate");
  Begin();
  const absl::Time give_up = absl::Now() + absl::Seconds(10);
  while (LogText().find(authority_.PathOf("server") + ": ") == std::string::npos &&
         absl::Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_NE(LogText().find(authority_.PathOf("server") + ": "), std::string::npos);
  EXPECT_TRUE(Client().Compile("x", 1).ok());  // connected callers keep their service
}

}  // namespace
}  // namespace kiln
