#include "common/wire/version.h"

#include "gtest/gtest.h"

namespace kiln {
namespace {

// In both orders: it does not matter which side is newer.
void ExpectAgreed(ProtocolRange a, ProtocolRange b, uint32_t version) {
  EXPECT_EQ(CommonProtocol(a, b), version);
  EXPECT_EQ(CommonProtocol(b, a), version);
}

TEST(VersionTest, TheNewestCommonVersion) {
  ExpectAgreed({3, 2}, {3, 2}, 3);
  ExpectAgreed({3, 2}, {4, 3}, 3);
  ExpectAgreed({3, 2}, {4, 1}, 3);
  ExpectAgreed({3, 2}, {2, 1}, 2);
  ExpectAgreed({3, 2}, {2, 2}, 2);
  ExpectAgreed({3, 2}, {1, 1}, 0);
  ExpectAgreed({3, 2}, {5, 4}, 0);
  EXPECT_LE(kOldestProtocolVersion, kProtocolVersion);
}

}  // namespace
}  // namespace kiln
