// A number that identifies a node of any function of a kernel. Prints, failed checks, source maps
// and builders use it. The high bits are the function, the low bits the node's id; so the number of
// a node in the kernel's body is its id.
#ifndef KILN_COMMON_UNIT_NODE_NUMBER_H_
#define KILN_COMMON_UNIT_NODE_NUMBER_H_

#include <cstdint>

namespace kiln {

inline constexpr int kNodeBits = 22;
inline constexpr uint32_t kMaxNodes = 1u << kNodeBits;                   // of a function
inline constexpr uint32_t kMaxFunctions = (1u << (32 - kNodeBits)) - 1;  // without the body

// `function` 0 is the kernel's body, 1 + i Kernel.functions[i].
inline constexpr uint32_t NodeNumber(uint32_t function, uint32_t node) {
  return function << kNodeBits | node;
}
inline constexpr uint32_t FunctionOfNode(uint32_t number) { return number >> kNodeBits; }
inline constexpr uint32_t NodeInFunction(uint32_t number) { return number & (kMaxNodes - 1); }

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_NODE_NUMBER_H_
