#include "server/cache/trust.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/artifact/entry.h"
#include "common/base/status_macros.h"

namespace kiln {

absl::Status Trust::Load(TrustOptions options) {
  options_ = std::move(options);
  for (const std::string& file : options_.key_files) RETURN_IF_ERROR(keys_.AddFile(file));
  if (options_.signing_key_file.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(SigningKey key, SigningKey::ReadFile(options_.signing_key_file));
  // What we sign comes back to us through shared tiers.
  keys_.Add(key.public_key());
  signing_ = std::move(key);
  return absl::OkStatus();
}

const char* Trust::NameOf(Outcome outcome) {
  switch (outcome) {
    case kAdmitted:
      return "admitted";
    case kDamaged:
      return "damaged";
    case kUnsigned:
      return "unsigned";
    case kUntrusted:
      return "untrusted";
    case kSigned:
      return "signed";
  }
  return "";
}

absl::StatusOr<EntryPtr> Trust::Admit(const Place& place, std::string bytes,
                                      absl::string_view source, const TrustedKeys& caller) {
  absl::StatusOr<EntryView> view = DecodeEntry(bytes);
  if (view.ok()) {
    const absl::Status text = CheckText(*view);
    if (!text.ok()) view = text;
  }
  const KeyId signer = view.ok() ? view->signer : 0;
  // Checks the signer before EntryAt, which takes the bytes that `view` refers to.
  absl::Status trusted = absl::OkStatus();
  if (view.ok() && !options_.accept_unsigned) trusted = CheckSigner(*view, keys_);
  // Keys that a caller named count for that caller's requests only.
  if (!trusted.ok() && !caller.empty()) trusted = CheckSigner(*view, caller);
  absl::StatusOr<EntryPtr> entry =
      view.ok() ? EntryAt(place, *view, std::move(bytes)) : view.status();
  if (!entry.ok()) return Refuse(kDamaged, entry.status(), source, place);
  if (!trusted.ok()) {
    return Refuse(signer == 0 ? kUnsigned : kUntrusted, trusted, source, place);
  }
  ++counts_[kAdmitted];
  return entry;
}

absl::StatusOr<EntryPtr> Trust::Vouch(const Place& place, std::string bytes) {
  absl::StatusOr<EntryView> view = DecodeEntry(bytes);
  if (!view.ok()) return view.status();
  if (signing_.has_value()) {
    SignEntry(*signing_, &bytes);
    ++counts_[kSigned];
  }
  return EntryAt(place, *view, std::move(bytes));
}

absl::Status Trust::Refuse(Outcome why, const absl::Status& status, absl::string_view source,
                           const Place& place) {
  // Each refusal counts, but only the first of a kind and source is logged: a tier full of foreign
  // entries would fill the log.
  ++counts_[why];
  const std::string text =
      absl::StrCat("refused entry ", place.Hex(), " of ", source, ": ", status.message());
  bool first;
  {
    absl::MutexLock lock(&mutex_);
    first = warned_.insert(absl::StrCat(source, " ", NameOf(why))).second;
  }
  if (first && options_.warn) {
    options_.warn(absl::StrCat(text, "; further ones like it are only counted"));
  }
  return absl::Status(status.code(), text);
}

}  // namespace kiln
