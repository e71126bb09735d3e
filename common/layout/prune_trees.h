// Reduces the trees of a unit to the nodes that its storages reach, so that the rest of a tree
// changes no key.
//
// Before, storages name whole trees (TreeLayout::DescribeTree) by their numbers; afterwards, parts.
// A part has the nodes that storages reach and their ancestors, in ascending order. Parts are in
// the order in which storages first name their trees; trees that no storage names are left out. A
// part's root begins at the first thing reached in the root's cell. Fields placed before it under
// the same root therefore do not matter either.
#ifndef KILN_COMMON_LAYOUT_PRUNE_TREES_H_
#define KILN_COMMON_LAYOUT_PRUNE_TREES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/layout/layout.h"

namespace kiln {

using Storages = google::protobuf::RepeatedPtrField<proto::Storage>;

// What a launch needs to know about a part.
struct ReachedTree {
  uint32_t tree;                // its number before
  std::vector<uint32_t> nodes;  // numbers in the whole tree, by node of the part
  uint64_t root_offset = 0;     // of the part's root cell in the whole tree's
};

// Gives a storage's trees other numbers: tree t becomes numbers[t], which must be there.
void RenumberTrees(const std::vector<uint32_t>& numbers, proto::TreeStorage* storage);

// InvalidArgument if a storage names a tree or node that does not exist; the arguments are then
// unspecified.
absl::StatusOr<std::vector<ReachedTree>> PruneTrees(Storages* storages, TreeParts* trees);

}  // namespace kiln

#endif  // KILN_COMMON_LAYOUT_PRUNE_TREES_H_
