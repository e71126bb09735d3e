// What SNodes of a kind state about themselves, in the trees of clients (TreeLayout::Make) and of
// units (CheckTree). Private to this folder.
#ifndef KILN_COMMON_LAYOUT_CHECK_FORM_H_
#define KILN_COMMON_LAYOUT_CHECK_FORM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/layout/snode_kinds.h"

namespace kiln {

// Checks the number of axes and, of lists, the cells of a chunk. InvalidArgument does not name the
// SNode.
inline absl::Status CheckSNodeForm(const SNodeFacts& kind, int axes, uint32_t chunk_size) {
  const auto bad = [](auto... parts) { return absl::InvalidArgumentError(absl::StrCat(parts...)); };
  if (kind.has_axes != (axes > 0)) return bad(kind.has_axes ? "has no axes" : "can have no axes");
  if (!kind.is_list) return absl::OkStatus();
  if (axes != 1) return bad("a ", kind.name, " SNode has one axis, not ", axes);
  if (chunk_size == 0) return bad("chunk size of zero");
  return absl::OkStatus();
}

}  // namespace kiln

#endif  // KILN_COMMON_LAYOUT_CHECK_FORM_H_
