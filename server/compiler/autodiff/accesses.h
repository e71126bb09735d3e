// The boxes of cells that a kernel writes and that its gradient reads again.
//
// A gradient kernel runs after all kernels of a program's forward part. What it reads again must
// not have been overwritten by a kernel launched in between. The launches' arguments are not known
// here: each index of an access is an interval whose ends are numbers, or numbers plus a multiple
// of an argument. So x[t, i] and x[t + 1, i] do not collide, whatever i is. The client compares the
// boxes (client_cpp/access_history.h).
//
// A box may contain more cells than the kernel accesses, never fewer. Which cells are active is not
// part of it.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_ACCESSES_H_
#define KILN_SERVER_COMPILER_AUTODIFF_ACCESSES_H_

#include "server/compiler/dialect/dialect.h"

namespace kiln {

// Add to the kernel's attribute `accesses`: what it writes, before it is differentiated; and what
// its gradient reads of storages that are no companions.
void AddWrites(ir::KernelOp kernel);
void AddReads(ir::KernelOp kernel);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_ACCESSES_H_
