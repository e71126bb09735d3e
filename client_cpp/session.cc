#include "client_cpp/session.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client_cpp/local_session.h"
#include "client_cpp/spawn.h"
#include "client_cpp/upstream.h"
#include "common/base/status_macros.h"
#include "common/home/home.h"
#include "common/home/programs.h"
#include "common/home/variables.h"
#include "runtime/cpu/glibc.h"

namespace kiln {
namespace {

// N of the glibc 2.N of the machines that run the kernels: $KILN_GLIBC, else this machine.
absl::StatusOr<uint32_t> WantedGlibc() {
  const char* given = std::getenv("KILN_GLIBC");
  if (given == nullptr || *given == '\0') return HostGlibc();
  if (const std::optional<uint32_t> minor = ParseGlibc(given); minor.has_value()) return *minor;
  return absl::InvalidArgumentError(
      absl::StrCat("KILN_GLIBC=", given, ": expected a version such as 2.31"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<Session>> Session::Create(const SessionOptions& given) {
  SessionOptions options = given;
  if (options.server.empty()) {
    if (const char* server = std::getenv("KILN_SERVER"); server != nullptr) {
      options.server = server;
    }
  }
  if (!options.server.empty() && options.server != "off") {
    RETURN_IF_ERROR(ParseUpstream(options.server).status());
  }
  RETURN_IF_ERROR(CheckVariablesOfPrograms());
  if (const std::optional<std::string> strict = Variable("KILN_STRICT"); strict.has_value()) {
    options.strict = *strict == "1";
  }
  options.read_only |= Variable("KILN_CACHE") == "read-only";
  if (options.glibc == 0) {
    ASSIGN_OR_RETURN(options.glibc, WantedGlibc());
  }
  ASSIGN_OR_RETURN(Home home, Home::Find(options.home));
  options.bin_dir = FindBinDir(options.bin_dir);
  return std::shared_ptr<Session>(std::make_shared<LocalSession>(std::move(home), options));
}

}  // namespace kiln
