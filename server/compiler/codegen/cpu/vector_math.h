// The functions of glibc's libmvec that LLVM may use where it vectorises a loop.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_VECTOR_MATH_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_VECTOR_MATH_H_

#include <cstdint>

namespace llvm {
class TargetLibraryInfoImpl;
}

namespace kiln::cpu {

// For machines of CPU target `level` with glibc 2.`glibc`, or any supported one if it is 0. LLVM's
// own table lacks the 512-bit variants and most functions.
void AddVectorMath(uint32_t level, uint32_t glibc, llvm::TargetLibraryInfoImpl* library);

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_VECTOR_MATH_H_
