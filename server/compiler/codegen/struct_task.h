// Tasks over the active cells of a storage in a tree with sparse levels.
//
// The runtime hands out elements of a list (KilnElement in runtime/abi.h). Of cells: the
// dense levels between the element's cell and the storage are loops of constant extents in
// the code. Of slices: the loop runs over slots, mask words or cells of a chunk. Both know
// the address of the cell that they are at, and lookups that depend on the element alone
// stand before its loops. Where the body reads at constant distances, the ends of the loops
// are emitted apart from their middle, in which all of these cells lie in the block: no
// address is chosen there, and rows vectorise. Short rows are loops from end to end, in which
// what lies past their ends is chosen as a value. Private to this directory.
#ifndef KILN_SERVER_COMPILER_CODEGEN_STRUCT_TASK_H_
#define KILN_SERVER_COMPILER_CODEGEN_STRUCT_TASK_H_

#include "proto/artifact.pb.h"
#include "server/compiler/codegen/function_emitter.h"

namespace kiln {

void EmitStructTask(KernelState* state, ir::RangeTaskOp op, int number, proto::Task* task);
// The task, of the runtime's own code, that makes the list of a struct task's kind for it.
proto::Task ListgenFor(const proto::Task& task);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_STRUCT_TASK_H_
