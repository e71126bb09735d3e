// The parts of a kernel's message, by their ids. Each function requires that the part exists.
#ifndef KILN_COMMON_LANGUAGE_KERNEL_PARTS_H_
#define KILN_COMMON_LANGUAGE_KERNEL_PARTS_H_

#include <cstdint>

#include "common/language/ids.h"
#include "kiln/proto/kernel.pb.h"

namespace kiln {

// Of blocks in blocks, in one function. Bounds the recursion of all code that visits them.
inline constexpr int kMaxBlockDepth = 256;

inline const proto::Function& FunctionAt(const proto::Kernel& kernel, FunctionId id) {
  return id == kKernelBody ? kernel.body() : kernel.functions(PositionOf(id));
}
// Whether FunctionAt has the function.
inline bool HasFunction(const proto::Kernel& kernel, FunctionId id) {
  return id.number() <= static_cast<uint32_t>(kernel.functions_size());
}

// What loops name by `config`: 1 + the number of a configuration; 0: the default one.
inline const proto::LoopConfig& ConfigAt(const proto::Kernel& kernel, uint64_t config) {
  return config == 0 ? proto::LoopConfig::default_instance()
                     : kernel.loops(static_cast<int>(config - 1));
}
inline bool IsLoop(proto::NodeKind kind) {
  return kind == proto::RANGE_FOR || kind == proto::STRUCT_FOR || kind == proto::WHILE;
}

inline const proto::Node& NodeAt(const proto::Function& function, NodeId id) {
  return function.nodes(id.number());
}
inline const proto::Param& ParamAt(const proto::Function& function, ParamId id) {
  return function.params(id.number());
}
// The nodes that a block lists, in order.
inline NodeIds NodesIn(const proto::Function& function, BlockId block) {
  return NodeIds(function.blocks(block.number()).nodes());
}
inline TypeIds ReturnTypesOf(const proto::Function& function) {
  return TypeIds(function.returns());
}
// Of a parameter by value or by reference.
inline TypeId TypeOfParam(const proto::Param& param) { return TypeId(param.type()); }

}  // namespace kiln

#endif  // KILN_COMMON_LANGUAGE_KERNEL_PARTS_H_
