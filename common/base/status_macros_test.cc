#include "common/base/status_macros.h"

#include <memory>

#include "common/base/check.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

absl::StatusOr<std::unique_ptr<int>> Make(int value) {
  if (value < 0) return absl::InvalidArgumentError("negative");
  return std::make_unique<int>(value);
}

absl::StatusOr<int> Sum(int a, int b) {
  ASSIGN_OR_RETURN(const std::unique_ptr<int> first, Make(a));
  ASSIGN_OR_RETURN(auto second, Make(b));
  return *first + *second;
}

absl::Status Check(int a) {
  RETURN_IF_ERROR(Make(a).status());
  return absl::OkStatus();
}

TEST(StatusMacros, PassValuesAndErrorsOn) {
  EXPECT_EQ(*Sum(1, 2), 3);
  EXPECT_EQ(Sum(1, -2).status().message(), "negative");
  EXPECT_EQ(Sum(-1, 2).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Check(1).ok());
  EXPECT_FALSE(Check(-1).ok());
}

TEST(KilnCheck, PassesInSilence) {
  int evaluated = 0;
  if (true) KILN_CHECK(++evaluated == 1) << "never shown";
  KILN_CHECK_OK(absl::OkStatus()) << "never shown";
  EXPECT_EQ(evaluated, 1);
}

TEST(KilnCheckDeathTest, NamesTheBrokenCondition) {
  EXPECT_DEATH(KILN_CHECK(1 > 2) << "depth " << 7, "status_macros_test.cc.*1 > 2 depth 7");
  EXPECT_DEATH(KILN_CHECK_OK(absl::InternalError("lost")), "INTERNAL: lost");
}

}  // namespace
}  // namespace kiln
