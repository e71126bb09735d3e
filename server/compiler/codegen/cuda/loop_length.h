// About how many iterations a loop has, for the choice of a grid. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_LOOP_LENGTH_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_LOOP_LENGTH_H_

#include "kiln/proto/artifact.pb.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln::cuda {

// States the length of a loop whose bounds are not constant as a product of arguments of the
// launch, if it is roughly one. Constants that bounds add to it are left out, since any grid is
// right. Loops whose bounds are in the device's memory have none. It counts rows of the program's
// loop, also if an iteration computes several.
void SetLength(ir::RangeTaskOp op, proto::Task* task);

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_LOOP_LENGTH_H_
