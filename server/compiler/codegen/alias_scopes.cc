#include "server/compiler/codegen/alias_scopes.h"

#include <cstdint>
#include <utility>

#include "llvm/IR/MDBuilder.h"

namespace kiln {
namespace {

// The set of storages that may overlap this one; 0: none does.
int64_t AliasSetOf(mlir::Attribute storage) {
  if (auto dense = llvm::dyn_cast<ir::DenseAttr>(storage)) return dense.getAlias();
  if (auto array = llvm::dyn_cast<ir::NdarrayAttr>(storage)) return array.getAlias();
  if (auto field = llvm::dyn_cast<ir::TreeFieldAttr>(storage)) return field.getAlias();
  return 0;
}

// The memory of each component of a field in a tree that overlaps no other: one for each node.
std::vector<int> NumberNodes(ir::TreeFieldAttr field, int* count) {
  std::vector<int> memories;
  llvm::DenseMap<std::pair<int64_t, int64_t>, int> of_node;
  for (int c = 0; c < field.getNumComponents(); ++c) {
    const std::pair node(field.getComponentTree(c), field.getComponentNode(c));
    const auto [memory, added] = of_node.try_emplace(node, *count);
    if (added) ++*count;
    memories.push_back(memory->second);
  }
  return memories;
}

}  // namespace

AliasScopes::AliasScopes(llvm::ArrayRef<mlir::Attribute> storages, llvm::LLVMContext& context) {
  // The first numbers are those of memories that are no storage (Other).
  int count = num_other_;
  llvm::DenseMap<int64_t, int> of_set;
  for (mlir::Attribute storage : storages) {
    auto dense = llvm::dyn_cast<ir::DenseAttr>(storage);
    auto field = llvm::dyn_cast<ir::TreeFieldAttr>(storage);
    const int64_t set = AliasSetOf(storage);
    const int64_t bases = dense ? dense.getBases() : field ? field.getNumComponents() : 1;
    if (set != 0) {
      // A set of storages that may overlap is one memory, whatever their bases.
      const auto [memory, added] = of_set.try_emplace(set, count);
      if (added) ++count;
      storages_.emplace_back(bases, memory->second);
    } else if (field) {
      storages_.push_back(NumberNodes(field, &count));
    } else {
      storages_.emplace_back();
      for (int64_t base = 0; base < bases; ++base) storages_.back().push_back(count++);
    }
  }
  MakeTags(count, context);
}

// A memory has one digit of its number in each domain. Two accesses are apart if one domain says
// so: different numbers differ in a digit. So an access lists some 8 scopes for each digit, where
// one domain of all memories would make it list every other memory.
void AliasScopes::MakeTags(int count, llvm::LLVMContext& context) {
  constexpr int kMostListed = 16, kBase = 8;
  llvm::MDBuilder md(context);
  std::vector<llvm::SmallVector<llvm::Metadata*>> scopes(count), others(count);
  const int base = count <= kMostListed ? count : kBase;
  for (int weight = 1; weight < count; weight *= base) {
    llvm::MDNode* domain = md.createAnonymousAliasScopeDomain();
    llvm::SmallVector<llvm::Metadata*> digits;
    for (int i = 0; i < base; ++i) digits.push_back(md.createAnonymousAliasScope(domain));
    for (int memory = 0; memory < count; ++memory) {
      const int digit = memory / weight % base;
      scopes[memory].push_back(digits[digit]);
      // An access states its own scopes and that it aliases none of the others.
      for (int i = 0; i < base; ++i) {
        if (i != digit) others[memory].push_back(digits[i]);
      }
    }
  }
  for (int memory = 0; memory < count; ++memory) {
    tags_.push_back(
        {llvm::MDNode::get(context, scopes[memory]), llvm::MDNode::get(context, others[memory])});
  }
}

void AliasScopes::Tag(llvm::Instruction* access, int memory) const {
  // Negative numbers name memories that are no storage.
  const Tags& tags = tags_[memory < 0 ? -memory - 1 : memory];
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, tags.scope);
  access->setMetadata(llvm::LLVMContext::MD_noalias, tags.noalias);
}

}  // namespace kiln
