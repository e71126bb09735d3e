#include "common/home/programs.h"

#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"

namespace kiln {

std::string ProgramIn(const std::string& folder, absl::string_view name) {
  std::string own = absl::StrCat(folder, "/", name);
  if (access(own.c_str(), X_OK) == 0) return own;
  // site-packages/kiln/bin and site-packages/kiln_compiler/bin
  const auto packages = std::filesystem::path(folder).parent_path().parent_path();
  std::string other = absl::StrCat((packages / "kiln_compiler/bin").string(), "/", name);
  return access(other.c_str(), X_OK) == 0 ? other : own;
}

std::string NoCompiler(absl::string_view worker) {
  return absl::StrCat("no compiler on this machine (", worker,
                      " cannot be run): `pip install kiln-lang[compiler]`, or name a server "
                      "(KILN_SERVER=host:port)");
}

}  // namespace kiln
