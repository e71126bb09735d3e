#include "client_cpp/entry_trust.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/artifact/user_keys.h"

namespace kiln {
namespace {

bool IsRequired() {
  const char* text = std::getenv("KILN_REQUIRE_SIGNED");
  return text != nullptr && *text != '\0' && std::string(text) != "0";
}

}  // namespace

EntryTrust::EntryTrust(Home home) : home_(std::move(home)), required_(IsRequired()) {}

absl::Status EntryTrust::Check(const EntryView& entry) const {
  absl::call_once(read_, [this] {
    absl::StatusOr<TrustedKeys> keys = ReadUserKeys(home_);
    keys_status_ = keys.status();
    if (keys.ok()) keys_ = *std::move(keys);
  });
  const absl::Status status =
      keys_status_.ok()
          ? CheckSigner(entry, keys_)
          : absl::PermissionDeniedError(absl::StrCat(
                "must be signed, but the trusted keys are unknown: ", keys_status_.message()));
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
