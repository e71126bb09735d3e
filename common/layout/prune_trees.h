// Reduces the trees of a unit to what its storages reach, so that what else a tree holds
// changes no key.
//
// Storages come in with the numbers of whole trees (TreeLayout::DescribeTree) and go out
// with those of the parts: only nodes that storages reach, and their ancestors, ascending;
// trees in the order in which storages name them; nothing that none names. The part's
// root begins where the first thing reached in the root's cell does, so that what is
// placed beside it under the root does not matter either.
#ifndef KILN_COMMON_LAYOUT_PRUNE_TREES_H_
#define KILN_COMMON_LAYOUT_PRUNE_TREES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/layout/layout.h"

namespace kiln {

using Storages = google::protobuf::RepeatedPtrField<proto::Storage>;

// What a launch has to know of a part.
struct ReachedTree {
  uint32_t tree;                // its number before
  std::vector<uint32_t> nodes;  // numbers in the whole tree, by node of the part
  uint64_t root_offset = 0;     // of the part's root cell in the whole tree's
};

// Gives a storage's trees other numbers: tree t becomes numbers[t], which must be there.
void RenumberTrees(const std::vector<uint32_t>& numbers, proto::TreeStorage* storage);

// InvalidArgument, with nothing of use left, where a storage names what does not exist.
absl::StatusOr<std::vector<ReachedTree>> PruneTrees(Storages* storages, TreeParts* trees);

}  // namespace kiln

#endif  // KILN_COMMON_LAYOUT_PRUNE_TREES_H_
