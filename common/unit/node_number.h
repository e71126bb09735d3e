// Numbers of nodes among all functions of a kernel. Prints, failed checks, source maps and builders
// use them. The high bits are the function, the low bits the node's id in it; so the number of a
// node in the kernel's body is its id. 0: no node.
#ifndef KILN_COMMON_UNIT_NODE_NUMBER_H_
#define KILN_COMMON_UNIT_NODE_NUMBER_H_

#include <cstdint>

#include "common/language/ids.h"

namespace kiln {

using NodeNumber = Id<struct NodeNumberKind>;
struct NodeNumberKind : KindWithNone {};

inline constexpr int kNodeBits = 22;
inline constexpr uint32_t kMaxNodes = 1u << kNodeBits;                   // of a function
inline constexpr uint32_t kMaxFunctions = (1u << (32 - kNodeBits)) - 1;  // without the body

constexpr NodeNumber NumberOfNode(FunctionId function, NodeId node) {
  return NodeNumber(function.number() << kNodeBits | node.number());
}
constexpr FunctionId FunctionOfNode(NodeNumber number) {
  return FunctionId(number.number() >> kNodeBits);
}
constexpr NodeId NodeInFunction(NodeNumber number) {
  return NodeId(number.number() & (kMaxNodes - 1));
}

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_NODE_NUMBER_H_
