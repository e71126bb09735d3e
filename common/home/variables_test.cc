#include "common/home/variables.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace kiln {
namespace {

std::string Said(const char* name, const char* value) {
  setenv(name, value, 1);
  absl::Status status = CheckVariablesOfPrograms();
  status.Update(CheckVariablesOfKilnd());
  unsetenv(name);
  return std::string(status.message());
}

TEST(Variables, NamesWrongValuesAndWhatWasExpected) {
  EXPECT_EQ(Said("KILN_STRICT", "yes"), "KILN_STRICT=yes: expected 0 or 1");
  EXPECT_EQ(Said("KILN_WARM", "or"), "KILN_WARM=or: expected on, off or check");
  EXPECT_EQ(Said("KILN_OWNER_CHECK", "0"), "KILN_OWNER_CHECK=0: expected on or off");
  for (const char* wrong : {"0", "-1", "x", "nan", "inf", "1e9", "2s", "0.0"}) {
    EXPECT_EQ(Said("KILN_JOB_SECONDS", wrong), std::string("KILN_JOB_SECONDS=") + wrong +
                                                   ": expected a number of seconds, more than 0");
  }
  for (const char* wrong : {"-1", "2G", "1.5", "99999999999999999999"}) {
    EXPECT_EQ(Said("KILN_CACHE_BYTES", wrong),
              std::string("KILN_CACHE_BYTES=") + wrong + ": expected a number of bytes");
  }
  for (const char* wrong : {"0", "-1", "many", "1.5"}) {
    EXPECT_EQ(Said("KILN_TAPE_MB", wrong), std::string("KILN_TAPE_MB=") + wrong +
                                               ": expected a number of megabytes, at least 1");
  }
}

TEST(Variables, TakesWhatIsMeant) {
  for (const char* name : {"KILN_STRICT", "KILN_JOB_SECONDS", "KILN_CACHE_BYTES", "KILN_WARM"}) {
    EXPECT_EQ(Said(name, ""), "") << "empty is unset";
  }
  EXPECT_EQ(Said("KILN_WARM", "check"), "");
  EXPECT_EQ(Said("KILN_CACHE", "read-only"), "");
  EXPECT_EQ(Said("KILN_JOB_SECONDS", "0.5"), "");
  EXPECT_EQ(Said("KILN_CACHE_BYTES", "0"), "");
  setenv("KILN_STRICT", "1", 1);
  EXPECT_EQ(Variable("KILN_STRICT"), "1");
  setenv("KILN_STRICT", "", 1);
  EXPECT_FALSE(Variable("KILN_STRICT").has_value());
}

}  // namespace
}  // namespace kiln
