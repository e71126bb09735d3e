#include "client_cpp/module/module_writer.h"

#include <string>

#include "absl/status/status.h"
#include "common/module/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kiln/proto/service.pb.h"

namespace kiln {
namespace {

constexpr auto kShared = proto::LinkRequest::SHARED;

TEST(ModuleWriter, RefusesContentsThatNoModuleHasRoomFor) {
  ModuleWriter writer("mesh");
  writer.AddTree({}, {}, std::string(module::kMaxBytes, 'a'));
  writer.AddTree({}, {}, std::string(module::kMaxBytes, 'a'));  // stored once
  EXPECT_TRUE(writer.Link(kShared).ok());
  writer.AddTree({}, {}, "b");
  const absl::Status refused = writer.Link(kShared).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("have 67108865 bytes"));
}

}  // namespace
}  // namespace kiln
