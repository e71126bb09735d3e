#include "tests/e2e/server/test_certificates.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {
namespace {

void OpenSsl(const std::string& arguments) {
  ASSERT_EQ(RunProgram({"/bin/sh", "-c", absl::StrCat("openssl ", arguments, " 2>/dev/null")}), 0)
      << arguments;
}

constexpr char kNewKey[] = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

}  // namespace

TestAuthority::TestAuthority(std::string dir, std::string name)
    : dir_(std::move(dir)), name_(std::move(name)) {
  OpenSsl(absl::StrCat("req -x509 ", kNewKey, " -keyout ", KeyPathOf(name_), " -out ",
                       PathOf(name_), " -days 2 -subj /CN=", name_));
}

void TestAuthority::Issue(const std::string& file, const std::string& common_name, int days) const {
  const std::string aside = file + ".new";
  const std::string request = dir_ + "/" + aside + ".csr";
  const std::string extensions = dir_ + "/extensions";
  WriteFile(extensions, "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
  OpenSsl(absl::StrCat("req ", kNewKey, " -keyout ", KeyPathOf(aside), " -out ", request,
                       " -subj /CN=", common_name));
  OpenSsl(absl::StrCat("x509 -req -in ", request, " -CA ", PathOf(name_), " -CAkey ",
                       KeyPathOf(name_), " -CAcreateserial -days ", days, " -out ", PathOf(aside),
                       " -extfile ", extensions));
  std::rename(KeyPathOf(aside).c_str(), KeyPathOf(file).c_str());
  std::rename(PathOf(aside).c_str(), PathOf(file).c_str());
}

}  // namespace kiln
