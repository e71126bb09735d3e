#include "server/cache/artifact_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/artifact/entry.h"

namespace kiln {

absl::StatusOr<EntryPtr> CheckEntry(const Place& place, std::string bytes) {
  absl::StatusOr<EntryView> view = DecodeEntry(bytes);
  if (!view.ok()) return view.status();
  return EntryAt(place, *view, std::move(bytes));
}

absl::StatusOr<EntryPtr> EntryAt(const Place& place, const EntryView& view, std::string bytes) {
  if (PlaceOf(view.info.tenant(), view.key) != place) {
    return absl::DataLossError(absl::StrCat("cache entry: holds place ", view.key.Hex(),
                                            ", which does not belong at ", place.Hex()));
  }
  auto entry = std::make_shared<StoredEntry>();
  entry->compile_seconds = view.info.compile_seconds();
  entry->bytes = std::move(bytes);
  return EntryPtr(std::move(entry));
}

}  // namespace kiln
