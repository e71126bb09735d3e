// The functions of glibc's libmvec that LLVM may use where it vectorises a loop.
#ifndef KILN_SERVER_COMPILER_CODEGEN_VECTOR_MATH_H_
#define KILN_SERVER_COMPILER_CODEGEN_VECTOR_MATH_H_

#include "proto/target.pb.h"

namespace llvm {
class TargetLibraryInfoImpl;
}

namespace kiln {

// LLVM's own table lacks the 512-bit variants and most functions.
void AddVectorMath(proto::CpuLevel level, llvm::TargetLibraryInfoImpl* library);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_VECTOR_MATH_H_
