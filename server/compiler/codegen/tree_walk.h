// From indices to cells of trees with sparse levels: dense levels are arithmetic, sparse
// ones a look at a container. Private to this directory.
//
// Every lookup is remembered by tree, node and the coordinates' form, as long as the code
// that it stands in dominates and nothing in the function can make it untrue (TreeEffects).
// In loops over active cells, lookups that depend on the element alone stand in its
// prologue, before the loops over its cells.
//
// An index that is out of range reaches no memory of others: reads see the ambient cell
// of the last sparse node, writes go to its dump.
#ifndef KILN_SERVER_COMPILER_CODEGEN_TREE_WALK_H_
#define KILN_SERVER_COMPILER_CODEGEN_TREE_WALK_H_

#include <map>
#include <optional>
#include <vector>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "server/compiler/codegen/affine.h"
#include "server/compiler/codegen/tree_effects.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

class FunctionEmitter;

class TreeWalker {
 public:
  // What becomes of cells that are inactive: reads see zeroes, what find leads to is lost,
  // activate makes them.
  enum class Access { kRead, kFind, kActivate };
  // Index of a cell along each physical axis, in cells of the node meant.
  using Coordinates = llvm::SmallVector<Affine, 4>;

  TreeWalker(FunctionEmitter* f, ir::KernelOp kernel) : f_(*f), kernel_(kernel), scopes_(1) {}
  void set_effects(TreeEffects effects) { effects_ = std::move(effects); }
  // Null where the storage is in no tree.
  ir::TreeFieldAttr FieldOf(int64_t storage) const {
    return ir::KernelOp(kernel_).getTreeField(storage);
  }
  // Nothing in the code makes cells active or inactive on the way to the node's.
  bool IsSteady(int64_t tree, int64_t node) const;

  // The indices of an SNode as coordinates; with one index less than it has, that of its own
  // axis is left out.
  Coordinates At(ir::TreeFieldAttr field, mlir::ValueRange indices);
  // The indices of a field as coordinates of one of its components, the offset subtracted.
  Coordinates At(ir::TreeFieldAttr field, int component, mlir::ValueRange indices);
  // The cell of a node. `certain`: the access happens whenever the element is visited.
  llvm::Value* Cell(int64_t tree, int64_t node, const Coordinates& at, Access access,
                    bool certain = false);

  // A loop along one axis over the cells of a row, from end to end of the block.
  struct Row {
    int64_t axis, extent;
    llvm::Value* index;                           // from 0 to extent - 1
    llvm::SmallPtrSet<llvm::Value*, 8> constant;  // what other coordinates are made of
  };
  // Whether a cell's `bytes` bytes at `offset`, read at constant distances along the row, are
  // in bounds of the row's own block wherever the row is, if with another cell's or field's
  // value past the row's ends.
  bool Crosses(const Row& row, int64_t tree, int64_t node, const Coordinates& at, int64_t offset,
               int64_t bytes);
  // Opens a scope in which such reads (ReadAcross) load from the own block whatever the
  // index, and replace what they see past the row's ends by values loaded before the row.
  void OpenRow(Row row);
  void CloseRow();
  void set_row_index(llvm::Value* index) { row_->row.index = index; }
  // The value that `load` reads from the address it is given; null: it is no such read.
  // Requires that nothing in the row writes what is read.
  llvm::Value* ReadAcross(int64_t tree, int64_t node, const Coordinates& at, int64_t offset,
                          int64_t bytes, llvm::function_ref<llvm::Value*(llvm::Value*)> load);

  // SNode ops.
  void Activate(ir::ActivateOp op);
  void Deactivate(ir::DeactivateOp op);
  llvm::Value* IsActive(ir::IsActiveOp op);
  llvm::Value* Length(ir::LengthOp op);
  llvm::Value* Append(ir::AppendOp op);

  // What is looked up between the two is forgotten after.
  void PushScope() { scopes_.emplace_back(); }
  void PopScope() { scopes_.pop_back(); }
  // States that a cell is active and where it lies, in the present scope.
  void Know(int64_t tree, int64_t node, const Coordinates& at, llvm::Value* cell);

  // Opens a scope whose lookups move to the end of the builder's block, if they depend on
  // nothing but `leaves`. Code goes on in `body`, to which the block leads in the end.
  void OpenPrologue(llvm::BasicBlock* body, llvm::ArrayRef<llvm::Value*> leaves,
                    bool always_visits);
  void ClosePrologue();

 private:
  using Key = std::vector<uint64_t>;
  struct Found {
    llvm::Value* pointer = nullptr;
    // i1: the indices above are in range; null: they are, or `pointer` leads elsewhere.
    llvm::Value* in_range = nullptr;
  };
  using Scope = std::map<Key, std::pair<llvm::Value*, llvm::Value*>>;
  struct Prologue {
    llvm::BasicBlock* end;  // open
    llvm::BasicBlock* body;
    size_t scope;
    llvm::SmallPtrSet<llvm::Value*, 8> leaves;
    bool always_visits;
  };
  struct OpenedRow {
    llvm::BasicBlock* end;  // before the row, open
    llvm::BasicBlock* body;
    size_t scope;
    Row row;
  };
  // A read that leaves the row's block by `shift` cells at most.
  struct Crossing {
    int64_t anchor;
    int64_t shift;
    Coordinates block;  // of the anchor's node
    Affine offset;      // in its cell
  };
  // One lookup, which recursion takes up the tree.
  struct Walk {
    int64_t tree;
    Access access;
    bool steady;  // nothing makes inactive cells active meanwhile that the walk's end is below
    bool certain;
    // A cell on the way that is known; coordinates are relative to it. -1: none.
    int64_t from = -1;
    llvm::Value* from_cell = nullptr;
  };

  llvm::IRBuilder<>& b();
  ir::SNodeAttr Node(int64_t tree, int64_t node) { return kernel_.getTree(tree).getNode(node); }
  static int64_t Anchor(ir::TreeAttr tree, int64_t node);
  bool CanChange(int64_t tree, int64_t node) const;
  bool Grows(int64_t tree, int64_t node) const;
  bool CanHoist(const Walk& walk, int64_t node, const Coordinates& at);
  bool HoistsAt(const Coordinates& at, int64_t tree, int64_t node);
  Key KeyOf(const Walk& walk, Access access, int64_t node, const Coordinates& at);
  const std::pair<llvm::Value*, llvm::Value*>* Lookup(const Key& key);
  Found Remembered(const Walk& walk, int64_t node, const Coordinates& at);
  size_t ScopeNow() const { return hoisting_ ? prologue_->scope : scopes_.size() - 1; }
  std::pair<Affine, Affine> Divide(const Affine& value, int64_t divisor);

  Found Go(const Walk& walk, int64_t node, const Coordinates& at);
  Found Step(const Walk& walk, int64_t node, const Coordinates& at);
  struct Place {
    llvm::Value* container;
    Affine number;           // of the cell, in range
    llvm::Value* in_range;   // of the walk down to here; null: true
    llvm::Value* own_range;  // of this level alone; null: true
  };
  Place PlaceOf(const Walk& walk, int64_t node, const Coordinates& at);
  Found DenseStep(const Walk& walk, int64_t node, const Place& place);
  Found PointerStep(const Walk& walk, int64_t node, const Place& place);
  Found BitmaskedStep(const Walk& walk, int64_t node, const Place& place);
  Found DynamicStep(const Walk& walk, int64_t node, const Place& place);
  llvm::Value* Activity(int64_t tree, int64_t node, const Place& place);
  llvm::Value* Neighbour(int64_t tree, int64_t node, const Coordinates& at, const Walk& walk);
  std::optional<Crossing> CrossingOf(const Row& row, int64_t tree, int64_t node,
                                     const Coordinates& at, int64_t offset, int64_t bytes);
  std::optional<Affine> OffsetBelow(const Row& row, int64_t tree, int64_t node, int64_t anchor,
                                    Coordinates at);
  llvm::Value* BeforeRow(llvm::function_ref<llvm::Value*()> emit);

  bool IsOutermost(int64_t tree, int64_t node, int64_t axis);
  llvm::Value* CellAddress(int64_t tree, int64_t node, const Place& place);
  llvm::Value* Slot(const Place& place);
  llvm::Value* Mask(int64_t tree, int64_t node, const Place& place);
  llvm::Value* NodeState(int64_t tree, int64_t node);
  llvm::Value* Spare(int64_t tree, int64_t node, Access access);
  llvm::Value* SpareBelow(int64_t tree, int64_t node, Access access);
  llvm::SmallVector<llvm::Value*> Shape(int64_t tree, int64_t node);
  llvm::Value* If(llvm::Value* condition, llvm::Value* otherwise,
                  llvm::function_ref<llvm::Value*()> then);
  llvm::Value* Select(llvm::Value* condition, llvm::Value* yes, llvm::Value* no);
  llvm::Value* And(llvm::Value* x, llvm::Value* y);
  llvm::CallInst* Call(const char* name, llvm::Type* result,
                       llvm::ArrayRef<llvm::Value*> arguments);
  llvm::Value* IsActive(int64_t tree, int64_t node, const Coordinates& at);
  Walk QueryWalk(int64_t tree, int64_t node);

  FunctionEmitter& f_;
  ir::KernelOp kernel_;
  TreeEffects effects_;
  std::vector<Scope> scopes_;
  std::optional<Prologue> prologue_;
  std::optional<OpenedRow> row_;
  bool hoisting_ = false;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_TREE_WALK_H_
