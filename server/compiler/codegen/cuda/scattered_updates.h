// Updates of neighbouring elements at places that the data choose, such as `force[j] += v` of a
// vector, or the 27 cells around a particle.
//
// A thread makes each by one atomic instruction, and the threads of a warp are at other places: so
// an instruction goes to 32 sectors of the cache (of 32 bytes), and the next one, for the element
// beside it, to the same ones again. The cache takes sectors, not elements. Therefore a whole warp
// hands over its values and places in shared memory, and its lanes share the elements otherwise:
// neighbouring lanes update neighbouring elements, and an instruction goes to few sectors.
//
//   lane 0: place 7, values a b c     lane 0: a to 7     lane 1: b to 8     lane 2: c to 9
//   lane 1: place 2, values d e f     lane 3: d to 2     ...
//
// Lanes of a warp that is not whole make their own updates. What a thread sees of its own updates
// stays the same, because the lanes wait for each other after them.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_SCATTERED_UPDATES_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_SCATTERED_UPDATES_H_

#include <cstdint>

#include "llvm/IR/PassManager.h"

namespace kiln::cuda {

// States that `function` is an entry which blocks of `threads` threads run; only such are changed.
void SetBlock(llvm::Function& function, uint32_t threads);

// A pass on optimised code.
class ScatteredUpdatesPass : public llvm::PassInfoMixin<ScatteredUpdatesPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
};

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_SCATTERED_UPDATES_H_
