#include "common/artifact/user_keys.h"

#include <unistd.h>

#include <cstdlib>

#include "common/base/status_macros.h"
#include "common/home/user_directory.h"

namespace kiln {
namespace {

std::string Named() {
  const char* given = std::getenv("KILN_TRUSTED_KEYS");
  return given == nullptr ? "" : given;
}

absl::StatusOr<std::string> OutsideHomes() {
  ASSIGN_OR_RETURN(const std::string directory, UserDirectory());
  return directory + "/.config/kiln/trusted.keys";
}

}  // namespace

std::vector<std::string> UserKeyFiles(const Home& home) {
  if (!Named().empty()) return {Named()};
  std::vector<std::string> files;
  const auto add = [&files](const std::string& path) {
    if (access(path.c_str(), F_OK) == 0) files.push_back(path);
  };
  if (const auto path = OutsideHomes(); path.ok()) add(*path);
  if (home.CheckIsOwn().ok()) add(home.KeysPath());
  return files;
}

absl::StatusOr<TrustedKeys> ReadUserKeys(const Home& home) {
  TrustedKeys keys;
  for (const std::string& file : UserKeyFiles(home)) RETURN_IF_ERROR(keys.AddFile(file));
  return keys;
}

absl::StatusOr<std::string> UserKeyFileToChange(const Home& home) {
  if (!Named().empty()) return Named();
  if (home.CheckIsOwn().ok()) return home.KeysPath();
  return OutsideHomes();
}

}  // namespace kiln
