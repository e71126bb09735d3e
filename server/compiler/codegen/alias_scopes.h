// What accesses to memory tell LLVM of each other. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_ALIAS_SCOPES_H_
#define KILN_SERVER_COMPILER_CODEGEN_ALIAS_SCOPES_H_

#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Metadata.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

// Alias scopes of the memories that a kernel reaches, which tell LLVM that accesses to two of them
// never overlap. A memory is
//   - one base of a dense storage, or an ndarray;
//   - the cells of a tree's node, for the components of a storage that are in them;
//   - all storages of a set that may overlap;
//   - the temporaries; the results; the containers and lists that lead to the cells of trees.
class AliasScopes {
 public:
  AliasScopes(llvm::ArrayRef<mlir::Attribute> storages, llvm::LLVMContext& context);

  // Memories that are no storage.
  enum Other { kTemporaries = -1, kResults = -2, kTables = -3 };
  // `memory` is one of these, or what OfBase or OfComponent returned.
  void Tag(llvm::Instruction* access, int memory) const;
  int OfBase(int storage, int base) const { return storages_[storage][base]; }
  // Of a storage in a tree.
  int OfComponent(int storage, int component) const { return storages_[storage][component]; }

 private:
  struct Tags {
    llvm::MDNode* scope;
    llvm::MDNode* noalias;
  };
  void MakeTags(int count, llvm::LLVMContext& context);

  std::vector<std::vector<int>> storages_;
  std::vector<Tags> tags_;
  int num_other_ = 3;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_ALIAS_SCOPES_H_
