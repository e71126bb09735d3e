#include "common/wire/unix_address.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace kiln {
namespace {

TEST(UnixAddressTest, NamesThePath) {
  const auto address = UnixAddress("/tmp/kiln/socket");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address->sun_family, AF_UNIX);
  EXPECT_STREQ(address->sun_path, "/tmp/kiln/socket");
}

TEST(UnixAddressTest, RefusesWhatTheKernelWouldTruncate) {
  EXPECT_TRUE(UnixAddress(std::string(107, 'a')).ok());
  EXPECT_EQ(UnixAddress(std::string(108, 'a')).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace kiln
