#include "client_cpp/entry_trust.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lang/status_macros.h"

namespace kiln {
namespace {

bool IsRequired() {
  const char* text = std::getenv("KILN_REQUIRE_SIGNED");
  return text != nullptr && *text != '\0' && std::string(text) != "0";
}

// A group of one's own is usual, and makes directories that it may write to: it is the user.
bool OthersMayWrite(const struct stat& info) {
  return info.st_uid != geteuid() || (info.st_mode & S_IWOTH) != 0 ||
         ((info.st_mode & S_IWGRP) != 0 && info.st_gid != getegid());
}

std::string KeysPath(const Home& home) {
  const char* given = std::getenv("KILN_TRUSTED_KEYS");
  return given != nullptr && *given != '\0' ? given : home.dir() + "/trusted.keys";
}

}  // namespace

absl::StatusOr<TrustedKeys> ReadTrustedKeys(const Home& home) {
  TrustedKeys keys;
  RETURN_IF_ERROR(keys.AddFile(KeysPath(home)));
  return keys;
}

EntryTrust::EntryTrust(Home home) : home_(std::move(home)), required_(IsRequired()) {}

bool EntryTrust::IsForeign(const struct stat& file) const {
  // Who may write to one of these may put other files into it.
  absl::call_once(looked_, [this] {
    for (const std::string& path : {home_.dir(), home_.CacheDir()}) {
      struct stat info;
      if (stat(path.c_str(), &info) != 0 || OthersMayWrite(info)) foreign_directory_ = true;
    }
  });
  return foreign_directory_ || OthersMayWrite(file);
}

absl::Status EntryTrust::Check(const EntryView& entry) const {
  absl::call_once(read_, [this] {
    absl::StatusOr<TrustedKeys> keys = ReadTrustedKeys(home_);
    keys_status_ = keys.status();
    if (keys.ok()) keys_ = *std::move(keys);
  });
  const absl::Status status =
      keys_status_.ok()
          ? CheckSigner(entry, keys_)
          : absl::PermissionDeniedError(absl::StrCat(
                "must be signed, and there are no trusted keys: ", keys_status_.message()));
  if (!status.ok() && !warned_.exchange(true)) {
    std::fprintf(stderr, "kiln: not used: kernel %s, which %s\n", entry.key.Hex().c_str(),
                 std::string(status.message()).c_str());
  }
  return status;
}

absl::Status EntryTrust::CheckReply(absl::string_view entry) const {
  if (!required_ || entry.empty()) return absl::OkStatus();
  absl::StatusOr<EntryView> view = DecodeEntry(entry);
  return view.ok() ? Check(*view) : view.status();
}

}  // namespace kiln
