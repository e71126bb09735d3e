// The kinds of kiln.atomic in LLVM's terms. dialect/atomic_kinds.h says the same in arith
// operations.
#ifndef KILN_SERVER_COMPILER_CODEGEN_ATOMICS_H_
#define KILN_SERVER_COMPILER_CODEGEN_ATOMICS_H_

#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

struct AtomicForm {
  ir::AtomicKind kind;
  // What computes the new value: an opcode, or if that is 0 an intrinsic.
  unsigned opcode;
  llvm::Intrinsic::ID intrinsic;
  // LLVM's atomic of the same meaning; BAD_BINOP: LLVM has none. Targets have some of them.
  llvm::AtomicRMWInst::BinOp instruction;
};

const AtomicForm& FormOf(ir::AtomicKind kind);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_ATOMICS_H_
