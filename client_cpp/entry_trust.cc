#include "client_cpp/entry_trust.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
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

EntryTrust::~EntryTrust() { delete keys_.load(std::memory_order_acquire); }

// Threads that ask at the same time all read the files; the first one's keys count.
const EntryTrust::Keys& EntryTrust::UserKeys() const {
  const Keys* published = keys_.load(std::memory_order_acquire);
  if (published != nullptr) return *published;
  auto read = std::make_unique<const Keys>(ReadUserKeys(home_));
  if (keys_.compare_exchange_strong(published, read.get(), std::memory_order_acq_rel)) {
    return *read.release();
  }
  return *published;
}

absl::Status EntryTrust::Check(const EntryView& entry) const {
  const Keys& keys = UserKeys();
  const absl::Status status =
      keys.ok()
          ? CheckSigner(entry, *keys)
          : absl::PermissionDeniedError(absl::StrCat(
                "must be signed, but the trusted keys are unknown: ", keys.status().message()));
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
