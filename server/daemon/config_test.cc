#include "server/daemon/config.h"

#include <sys/stat.h>

#include <cstdio>
#include <fstream>

#include "gtest/gtest.h"

namespace kiln {
namespace {

std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<proto::Config> config = ParseConfig(text, "/etc/kiln/kilnd.conf");
  return config.ok() ? "" : std::string(config.status().message());
}

TEST(ConfigTest, ReadsAllFields) {
  const absl::StatusOr<proto::Config> config = ParseConfig(R"(
    # a team's server
    disk { max_bytes: 10737418240 }
    workers { count: 3 job_seconds: 7 }
    service {
      listen: "[::1]:4711"
      certificate_file: "tls/server.pem"
      key_file: "/run/secrets/server.key"
    }
  )",
                                                           "/etc/kiln/kilnd.conf");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->disk().max_bytes(), uint64_t{10} << 30);
  EXPECT_EQ(config->workers().count(), 3u);
  EXPECT_EQ(config->service().certificate_file(), "/etc/kiln/tls/server.pem");
  EXPECT_EQ(config->service().key_file(), "/run/secrets/server.key");
  EXPECT_TRUE(ParseConfig("", "/etc/kiln/kilnd.conf").ok());
}

TEST(ConfigTest, ErrorsNameFileLineColumnAndField) {
  EXPECT_EQ(ErrorOf("disk {\n  max_byte: 1\n}"),
            "/etc/kiln/kilnd.conf:2:11: Message type \"kiln.proto.Disk\" has no field named "
            "\"max_byte\".");
  EXPECT_EQ(ErrorOf("workers { count: many }").substr(0, 25), "/etc/kiln/kilnd.conf:1:18");
  EXPECT_EQ(ErrorOf("workers { count: 257 }"),
            "/etc/kiln/kilnd.conf:1:11: workers.count: at most 256");
  EXPECT_EQ(ErrorOf("\n service { listen: \"4711\" }"),
            "/etc/kiln/kilnd.conf:2:12: service.listen: expected HOST:PORT");
  EXPECT_EQ(ErrorOf("service { insecure: true }"),
            "/etc/kiln/kilnd.conf:1:1: service: needs a field listen");
  EXPECT_NE(ErrorOf("disk { max_bytes: 1 max_bytes: 2 }").find("1:30: "), std::string::npos);
  EXPECT_NE(ErrorOf("disk { max_bytes: -1 }"), "");
  EXPECT_NE(ErrorOf("disk { mode: WRITE_ONLY }").find("1:8: disk.mode: READ_WRITE or READ_ONLY"),
            std::string::npos);
  EXPECT_EQ(ErrorOf("disk { mode: READ_ONLY sync: true }"), "");
  EXPECT_EQ(ErrorOf("tier { name: \"r\xe9gion\" redis { address: \"h:1\" } }"),
            "/etc/kiln/kilnd.conf:1:8: tier.name: not UTF-8");
  EXPECT_NE(ErrorOf("tier { upstream { address: \"h:1\" trusted_key: \"k:x\" } }")
                .find("tier.upstream.trusted_key: give trust.key_file instead"),
            std::string::npos);
  EXPECT_NE(ErrorOf("execution { server { address: \"h:1\" } platform { key: \"\\377\" } }"), "");
}

TEST(ConfigTest, TheFileMustBeReadable) {
  EXPECT_EQ(ReadConfig("/nowhere/kilnd.conf").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadConfig("/tmp").status().code(), absl::StatusCode::kInvalidArgument);
  const std::string path = testing::TempDir() + "/kilnd.conf";
  std::ofstream(path) << "memory { max_bytes: 5 }";
  const absl::StatusOr<proto::Config> config = ReadConfig(path);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->memory().max_bytes(), 5u);
}

TEST(ConfigTest, AFileThatOthersCanWriteToIsRefused) {
  const std::string path = testing::TempDir() + "/open.conf";
  std::ofstream(path) << "memory { max_bytes: 5 }";
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  const absl::Status status = ReadConfig(path).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_NE(status.message().find("/open.conf (mode 0666): make it yours alone"), std::string::npos)
      << status;
}

TEST(ConfigTest, LoopbackIsAnAddressNotAPrefix) {
  for (const char* address : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1"}) {
    EXPECT_TRUE(IsLoopback(address)) << address;
  }
  for (const char* address :
       {"0.0.0.0:1", "[::]:1", "127.0.0.1.example.org:1", "localhost.example.org:1", "10.0.0.1:1",
        "[::ffff:10.0.0.1]:1", "", ":1", "example.org:1"}) {
    EXPECT_FALSE(IsLoopback(address)) << address;
  }
}

}  // namespace
}  // namespace kiln
