#include "server/compiler/lowering/pieces.h"

namespace kiln {

void ForEachTensor(const TypeTable& types, TypeId id, llvm::function_ref<void(const Type&)> visit) {
  if (!types[id].IsStruct()) return visit(types[id]);
  for (const auto& [name, member] : types[id].members) ForEachTensor(types, member, visit);
}

uint64_t NumPieces(const TypeTable& types, TypeId id) {
  const Type& type = types[id];
  if (IsLarge(type)) return 1;
  if (!type.IsStruct()) return types.NumScalars(id);
  uint64_t pieces = 0;
  for (const auto& [name, member] : type.members) pieces += NumPieces(types, member);
  return pieces;
}

}  // namespace kiln
