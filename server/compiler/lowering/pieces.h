// How values are cut into pieces (Scalars in place.h): structs into members, small tensors into
// scalars; a large tensor is one piece.
#ifndef KILN_SERVER_COMPILER_LOWERING_PIECES_H_
#define KILN_SERVER_COMPILER_LOWERING_PIECES_H_

#include "common/language/type.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace kiln {

inline bool IsLarge(const Type& type) {
  return type.IsTensor() && type.NumElements() > kMaxScalarised;
}

// Calls `visit` with each scalar and tensor of the type, in order.
void ForEachTensor(const TypeTable& types, TypeId id, llvm::function_ref<void(const Type&)> visit);

uint64_t NumPieces(const TypeTable& types, TypeId id);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_PIECES_H_
