// Entries for tests of the stores.
#ifndef KILN_SERVER_CACHE_TEST_ENTRY_H_
#define KILN_SERVER_CACHE_TEST_ENTRY_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "common/artifact/entry.h"
#include "common/base/digest.h"
#include "server/cache/artifact_store.h"

namespace kiln {

inline Key TestKey(int number) { return Key(Sha256Of(absl::StrCat("key ", number))); }

inline Place TestPlace(int number) { return PlaceOf(TestKey(number)); }

// A whole entry of about `size` bytes that took `seconds` to make.
inline EntryPtr TestEntry(int number, size_t size = 100, double seconds = 0.5) {
  proto::ArtifactInfo info;
  info.set_compile_seconds(seconds);
  return *CheckEntry(TestPlace(number), EncodeEntry(TestKey(number), std::string(size, 'x'), info));
}

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_TEST_ENTRY_H_
