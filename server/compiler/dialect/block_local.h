// The hint ti.block_local as an attribute of loops. A header of its own, because few files need it.
#ifndef KILN_SERVER_COMPILER_DIALECT_BLOCK_LOCAL_H_
#define KILN_SERVER_COMPILER_DIALECT_BLOCK_LOCAL_H_

namespace kiln {

// Of a kiln.parallel_for or a range task: the storages whose cells the threads of a block may keep
// in memory of their own (DenseI64Array). Nothing but speed depends on it.
inline constexpr char kBlockLocalAttribute[] = "block_local";

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_DIALECT_BLOCK_LOCAL_H_
