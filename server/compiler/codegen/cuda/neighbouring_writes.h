// Writes of neighbouring elements by the threads of a warp, each at its own place. Examples are the
// components of `x[i] = v`, which are 12 bytes from those of the next thread, those of
// `force[j] += v` where the data choose j, and the 27 cells around a particle.
//
// A thread makes each by one instruction, which goes to up to 32 sectors of the cache (of 32
// bytes). The next instruction, for the element beside it, goes to the same sectors again. The
// cache takes sectors, not elements. A whole warp therefore exchanges its values and places through
// shared memory. Its lanes then divide the elements anew: neighbouring lanes write neighbouring
// elements, and an instruction goes to few sectors.
//
//   lane 0: place 7, values a b c     lane 0: a to 7     lane 1: b to 8     lane 2: c to 9
//   lane 1: place 2, values d e f     lane 3: d to 2     ...
//
// Lanes of a warp that is not whole write by themselves. What a thread sees of its own writes stays
// the same, because the lanes wait for each other after them. Catanzaro, Keller and Garland, "A
// decomposition for in-place matrix transposition" (PPoPP 2014), measure what such accesses cost.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_NEIGHBOURING_WRITES_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_NEIGHBOURING_WRITES_H_

#include <cstdint>

#include "llvm/IR/PassManager.h"

namespace kiln::cuda {

// States that `function` is an entry which blocks of `threads` threads run; only such are changed.
void SetBlock(llvm::Function& function, uint32_t threads);

// A pass on optimised code.
class NeighbouringWritesPass : public llvm::PassInfoMixin<NeighbouringWritesPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
};

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_NEIGHBOURING_WRITES_H_
