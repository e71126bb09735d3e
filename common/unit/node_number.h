// One number for a node of any function of a kernel, by which prints, failed checks,
// source maps and builders name it: the function above, the node's id below. Nodes of
// the kernel's body are numbered by their ids.
#ifndef KILN_COMMON_UNIT_NODE_NUMBER_H_
#define KILN_COMMON_UNIT_NODE_NUMBER_H_

#include <cstdint>

namespace kiln {

inline constexpr int kNodeBits = 22;
inline constexpr uint32_t kMaxNodes = 1u << kNodeBits;                   // of a function
inline constexpr uint32_t kMaxFunctions = (1u << (32 - kNodeBits)) - 1;  // beside the body

// `function` 0 is the kernel's body, 1 + i Kernel.functions[i].
inline constexpr uint32_t NodeNumber(uint32_t function, uint32_t node) {
  return function << kNodeBits | node;
}
inline constexpr uint32_t FunctionOfNode(uint32_t number) { return number >> kNodeBits; }
inline constexpr uint32_t NodeInFunction(uint32_t number) { return number & (kMaxNodes - 1); }

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_NODE_NUMBER_H_
