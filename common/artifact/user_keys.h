// The trusted keys of this user's programs, and of the daemon that they start.
#ifndef KILN_COMMON_ARTIFACT_USER_KEYS_H_
#define KILN_COMMON_ARTIFACT_USER_KEYS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/artifact/signature.h"
#include "common/home/home.h"

namespace kiln {

// The user's lists: the file that KILN_TRUSTED_KEYS names, even if it is missing. Otherwise the
// existing ones of ~/.config/kiln/trusted.keys and, if the home is own, its trusted.keys.
std::vector<std::string> UserKeyFiles(const Home& home);

// The keys in them. An error names the file, and the line if there is one.
absl::StatusOr<TrustedKeys> ReadUserKeys(const Home& home);

// The list to which `kiln key trust` adds: the file that KILN_TRUSTED_KEYS names, else the home's
// list if the home is own, else ~/.config/kiln/trusted.keys.
absl::StatusOr<std::string> UserKeyFileToChange(const Home& home);

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_USER_KEYS_H_
