#include "tests/e2e/cpp/dsl_test.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <kiln/dsl.hpp>
#include <string>

namespace kiln::dsl_test {

bool OnCuda() {
  const char* arch = std::getenv("KILN_TEST_ARCH");
  return arch != nullptr && std::string(arch) == "cuda";
}

dsl::Service OnArch(const char* arch) {
  dsl::Service service;
  service.arch = arch;
  return service;
}

dsl::Service OnTestArch() { return OnArch(OnCuda() ? "cuda" : "cpu"); }

namespace {

class Arch : public testing::Environment {
  void SetUp() override {
    if (OnCuda()) dsl::Use(OnArch("cuda"));
  }
};
const testing::Environment* const kArch = testing::AddGlobalTestEnvironment(new Arch);

}  // namespace
}  // namespace kiln::dsl_test
