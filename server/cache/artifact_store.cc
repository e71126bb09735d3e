#include "server/cache/artifact_store.h"

#include <utility>

#include "lang/entry.h"

namespace kiln {

absl::StatusOr<EntryPtr> CheckEntry(const Digest& key, std::string bytes) {
  absl::StatusOr<EntryView> view = DecodeEntry(bytes, &key);
  if (!view.ok()) return view.status();
  auto entry = std::make_shared<StoredEntry>();
  entry->compile_seconds = view->info.compile_seconds();
  entry->bytes = std::move(bytes);
  return EntryPtr(std::move(entry));
}

}  // namespace kiln
