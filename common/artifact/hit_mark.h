// Marks in <home>/hits.log besides the keys that clients hit.
#ifndef KILN_COMMON_ARTIFACT_HIT_MARK_H_
#define KILN_COMMON_ARTIFACT_HIT_MARK_H_

#include "common/base/digest.h"

namespace kiln {

// A compilation that the client ran itself because no daemon answered. No key is all ones.
inline Digest FallbackMark() {
  Digest mark;
  mark.bytes.fill(0xff);
  return mark;
}

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_HIT_MARK_H_
