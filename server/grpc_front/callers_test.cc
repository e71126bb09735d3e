#include "server/grpc_front/callers.h"

#include <sys/stat.h>

#include <cstdio>
#include <fstream>

#include "gtest/gtest.h"

namespace kiln {
namespace {

class CallersTest : public testing::Test {
 protected:
  CallersTest() : path_(testing::TempDir() + "/tokens") { Write(""); }
  ~CallersTest() override { std::remove(path_.c_str()); }
  // Writes a new file and renames it, as a rotation of tokens does.
  void Write(const std::string& text, mode_t mode = 0600) {
    const std::string aside = path_ + ".new";
    std::ofstream(aside) << text;
    chmod(aside.c_str(), mode);
    std::rename(aside.c_str(), path_.c_str());
  }
  std::string ErrorOf(const std::string& text) {
    Write(text);
    return std::string(Callers({path_}).Reload().message());
  }
  const std::string path_;
};

constexpr char kAlice[] = "Bearer 0123456789abcdef";

TEST_F(CallersTest, TokensNameCallers) {
  Write(
      "# who\n\n0123456789abcdef alice team-a read,compile\n"
      "fedcba9876543210  ci  -  read,compile,write # the shared tenant\n");
  Callers callers({path_});
  ASSERT_TRUE(callers.Reload().ok());
  const absl::StatusOr<IdentityPtr> alice = callers.Identify(kAlice, "");
  ASSERT_TRUE(alice.ok()) << alice.status();
  EXPECT_EQ((*alice)->caller.name(), "alice");
  EXPECT_EQ((*alice)->caller.tenant(), "team-a");
  EXPECT_EQ((*alice)->caller.rights(), uint32_t{proto::RIGHT_READ | proto::RIGHT_COMPILE});
  EXPECT_EQ((*callers.Identify("bearer fedcba9876543210", ""))->caller.tenant(), "");
  for (const char* wrong : {"Bearer 0123456789abcdeg", "Bearer 0123456789abcdef ", "Bearer ",
                            "Bearer", "0123456789abcdef", "Basic 0123456789abcdef", ""}) {
    EXPECT_TRUE(absl::IsUnauthenticated(callers.Identify(wrong, "").status())) << wrong;
  }
}

TEST_F(CallersTest, CertificatesAreNamedTooAndCannotBeSpelledAsTokens) {
  Write("certificate:build-host-17 ci - read\n0123456789abcdef alice - read\n");
  Callers callers({path_, /*certificates=*/true});
  ASSERT_TRUE(callers.Reload().ok());
  EXPECT_EQ((*callers.Identify("", "build-host-17"))->caller.name(), "ci");
  EXPECT_FALSE(callers.Identify("", "build-host-18").ok());
  EXPECT_FALSE(callers.Identify("Bearer certificate:build-host-17", "").ok());
  EXPECT_FALSE(callers.Identify("Bearer build-host-17", "").ok());
  // A wrong token is refused, whatever the certificate is.
  EXPECT_FALSE(callers.Identify("Bearer 0000000000000000", "build-host-17").ok());
  EXPECT_EQ((*callers.Identify(kAlice, "build-host-17"))->caller.name(), "alice");
}

TEST_F(CallersTest, WithoutTokensOtherCredentialsDecide) {
  const uint32_t normal = proto::RIGHT_READ | proto::RIGHT_COMPILE;
  EXPECT_EQ((*Callers({}).Identify("", ""))->caller.rights(), normal);
  EXPECT_EQ((*Callers({"", true}).Identify("", "host"))->caller.rights(), normal);
  EXPECT_FALSE(Callers({"", true}).Identify("", "").ok());
  EXPECT_FALSE(Callers({path_}).Identify("", "").ok());
  EXPECT_EQ((*Callers({path_, false, 1}).Identify("", ""))->caller.rights(), 1u);
}

TEST_F(CallersTest, RereadsTheFileButKeepsItsTokensIfItIsWrong) {
  Write("0123456789abcdef alice - read\n");
  Callers callers({path_});
  ASSERT_TRUE(callers.Reload().ok());
  ASSERT_TRUE(callers.Identify(kAlice, "").ok());
  Write("0123456789abcdef alice - reed\n");
  EXPECT_FALSE(callers.Reload().ok());
  EXPECT_TRUE(callers.Identify(kAlice, "").ok());
  Write("0123456789abcdeX alice - read\n");
  ASSERT_TRUE(callers.Reload().ok());
  EXPECT_FALSE(callers.Identify(kAlice, "").ok());
  EXPECT_TRUE(callers.Identify("Bearer 0123456789abcdeX", "").ok());
  std::remove(path_.c_str());
  EXPECT_FALSE(callers.Reload().ok());
  EXPECT_TRUE(callers.Identify("Bearer 0123456789abcdeX", "").ok());
}

TEST_F(CallersTest, ErrorsNameTheLineAndNoToken) {
  EXPECT_EQ(ErrorOf("\n0123456789abcdef alice -\n"),
            path_ + ": line 2: expected TOKEN NAME TENANT RIGHT,RIGHT");
  EXPECT_EQ(ErrorOf("0123456789abcdef alice - read,rite\n"),
            path_ + ": line 1: 'rite': expected read, compile, write or admin");
  EXPECT_EQ(ErrorOf("hunter2 alice - read\n"),
            path_ + ": line 1: the token is shorter than 16 characters");
  Write("0123456789abcdef alice - read\n", 0644);
  EXPECT_TRUE(absl::IsPermissionDenied(Callers({path_}).Reload()));
  EXPECT_TRUE(absl::IsNotFound(Callers({path_ + ".none"}).Reload()));
}

}  // namespace
}  // namespace kiln
