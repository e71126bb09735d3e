// What a kernel's functions may do, the functions that they call included.
#ifndef KILN_SERVER_COMPILER_DIALECT_FUNCTION_FACTS_H_
#define KILN_SERVER_COMPILER_DIALECT_FUNCTION_FACTS_H_

#include <vector>

#include "server/compiler/dialect/dialect.h"

namespace kiln {

class FunctionFacts {
 public:
  // Valid until functions or calls change.
  explicit FunctionFacts(ir::KernelOp kernel);

  // Reads or writes memory that the call does not name: storages, temporaries.
  bool TouchesMemory(ir::CallOp call) const { return (Of(call) & kMemory) != 0; }
  // Code that another thread beside makes dearer: atomics, appends.
  bool HasAtomics(ir::CallOp call) const { return (Of(call) & kAtomics) != 0; }
  // Holds an assert, or a loop that looks: the call may end because the launch has failed.
  bool CanFail(ir::CallOp call) const { return (Of(call) & kEnds) != 0; }
  // Draws random numbers.
  bool Draws(ir::CallOp call) const { return (Of(call) & kRandom) != 0; }
  // Whether code in the region draws random numbers, by itself or by a call.
  bool Draws(mlir::Region& region) const;

 private:
  enum Fact { kMemory = 1, kAtomics = 2, kEnds = 4, kRandom = 8, kAll = 15 };
  int Of(ir::CallOp call) const {
    const uint64_t callee = call.getCallee();
    return callee < facts_.size() ? facts_[callee] : kAll;
  }

  std::vector<int> facts_;  // by function number
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_DIALECT_FUNCTION_FACTS_H_
