// The facts about a kernel that a process needs besides its code: which arguments it writes, and
// the source positions and texts of its messages (prints, failed asserts, indices out of range).
#ifndef KILN_CLIENT_CPP_KERNEL_FACTS_H_
#define KILN_CLIENT_CPP_KERNEL_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/language/ids.h"
#include "common/unit/node_number.h"
#include "kiln/proto/kernel.pb.h"
#include "kiln/proto/source_map.pb.h"

namespace kiln {

// For each parameter of `kernel`: whether a store, an atomic or a call may write its memory. An
// upper bound: the effects of branches that never run count.
std::vector<bool> WrittenParams(const proto::Kernel& kernel);

// The kind of each node, one byte (proto::NodeKind) each: a string for the body, then one for
// each function.
std::vector<std::string> NodeKinds(const proto::Kernel& kernel);

// For each node whose indices are checked: the parameter of the kernel that it accesses.
absl::flat_hash_map<NodeNumber, ParamId> AccessedParams(const proto::Kernel& kernel);

// Where a node comes from. Lines and columns count from 1.
struct SourcePosition {
  std::string file;
  uint32_t line = 0, column = 0, end_line = 0, end_column = 0;
  std::string function;
};

// The positions of a node, innermost call first; empty if `map` has none. `map` may come from a
// file: indices out of range are ignored.
std::vector<SourcePosition> PositionsOf(const proto::SourceMap& map, NodeNumber node);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_KERNEL_FACTS_H_
