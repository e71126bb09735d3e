// From indices to cells of trees with sparse levels. Private to this folder.
//
// A walk follows the path from the root to a node. At each level it computes which cell of the
// container the indices name (Place), and steps into that cell. Through dense levels it steps by
// arithmetic, through sparse ones by code that looks into the container (tree_containers.cc).
//
// Two cells of each sparse node (KilnNode) replace its inactive cells and those of indices out of
// range. A walk therefore needs no branch, and reaches nothing else:
//   the ambient cell  for reads. It holds zeros, and nothing writes to it. Containers in it are
//                     therefore empty, and a walk that goes on below it ends in an ambient cell.
//   the dump cell     for writes that do not activate. Nothing reads it.
//
// Coordinates are sums of terms with bounds (affine.h): loops' indices and digits of list elements
// are in a known range. Where the bounds show that a digit is in range, no test is emitted.
//
// The anchor of a node is the last node on its path whose cells have memory of their own. From an
// anchor's cell down, all is at fixed distances: that is a block.
//
// Every lookup is remembered by tree, node and form of the coordinates, in a scope: as long as its
// code dominates, and unless code of the function may invalidate it (TreeEffects). In loops over
// active cells, lookups that depend on the element alone are emitted in its prologue, before the
// loops over its cells.
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
  // Where a walk goes from an inactive cell: kRead to the ambient cell, kFind to the dump cell;
  // kActivate makes the cell active.
  enum class Access { kRead, kFind, kActivate };
  // A cell's index along each physical axis, in cells of its node.
  using Coordinates = llvm::SmallVector<Affine, 4>;

  TreeWalker(FunctionEmitter* f, ir::KernelOp kernel) : f_(*f), kernel_(kernel), scopes_(1) {}
  void set_effects(TreeEffects effects) { effects_ = std::move(effects); }
  // Null where the storage is in no tree.
  ir::TreeFieldAttr FieldOf(int64_t storage) const {
    return ir::KernelOp(kernel_).getTreeField(storage);
  }
  // Whether nothing in the code activates or deactivates cells on the path to the node.
  bool IsSteady(int64_t tree, int64_t node) const;
  // The KilnNode of a sparse node.
  llvm::Value* NodeState(int64_t tree, int64_t node);

  // The indices of an SNode as coordinates. Ops that name a container lack the index of its axis.
  Coordinates At(ir::TreeFieldAttr field, mlir::ValueRange indices);
  // The indices of a field as coordinates of one of its components, the offset subtracted.
  Coordinates At(ir::TreeFieldAttr field, int component, mlir::ValueRange indices);
  // The address of a node's cell. `certain`: the access happens whenever the element is visited.
  llvm::Value* Cell(int64_t tree, int64_t node, const Coordinates& at, Access access,
                    bool certain = false);

  // A row: a loop along one axis over neighbouring cells, from end to end of their block.
  struct Row {
    int64_t axis, extent;
    llvm::Value* index;                           // from 0 to extent - 1
    llvm::SmallPtrSet<llvm::Value*, 8> constant;  // leaves that the row does not change
  };
  // Whether the row may load `bytes` bytes at `offset` of the cell at `at` from its own block for
  // every index. The cell is at a constant distance along the row. Past the row's ends the load is
  // still within the block, but sees another cell or field.
  bool Crosses(const Row& row, int64_t tree, int64_t node, const Coordinates& at, int64_t offset,
               int64_t bytes);
  // Opens a scope in which such reads (ReadAcross) load from the own block for every index. Past
  // the row's ends they select values that are loaded before the row from the next blocks.
  void OpenRow(Row row);
  void CloseRow();
  void set_row_index(llvm::Value* index) { row_->row.index = index; }
  // The value that `load` reads from the address that it gets; null if this is not such a read.
  // Requires that nothing in the row writes to what is read.
  llvm::Value* ReadAcross(int64_t tree, int64_t node, const Coordinates& at, int64_t offset,
                          int64_t bytes, llvm::function_ref<llvm::Value*(llvm::Value*)> load);

  // SNode ops.
  void Activate(ir::ActivateOp op);
  void Deactivate(ir::DeactivateOp op);
  llvm::Value* IsActive(ir::IsActiveOp op);
  llvm::Value* Length(ir::LengthOp op);
  llvm::Value* Append(ir::AppendOp op);

  // Lookups between the two are forgotten afterwards.
  void PushScope() { scopes_.emplace_back(); }
  void PopScope() { scopes_.pop_back(); }
  // States that a cell is active, and its address, in the present scope.
  void Know(int64_t tree, int64_t node, const Coordinates& at, llvm::Value* cell);

  // Opens a scope whose lookups are emitted at the end of the builder's block if they depend on
  // `leaves` only. Code continues in `body`; ClosePrologue makes the block branch to it.
  // `always_visits`: each element has an active cell that the body runs for.
  void OpenPrologue(llvm::BasicBlock* body, llvm::ArrayRef<llvm::Value*> leaves,
                    bool always_visits);
  void ClosePrologue();

 private:
  using Key = std::vector<uint64_t>;
  struct Found {
    llvm::Value* pointer = nullptr;  // to the cell
    // i1: the indices are in range; null if they are, or if `pointer` is a stand-in where they are
    // not.
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
  // A read along a row, `shift` cells from the row's index.
  struct Crossing {
    int64_t anchor;
    int64_t shift;
    Coordinates block;  // which cell of the anchor
    Affine offset;      // of the read, in that cell
  };
  // One lookup. It recurses from the node up to the root.
  struct Walk {
    int64_t tree;
    Access access;
    bool steady;  // no code makes inactive cells on the path active
    bool certain;
    // A cell on the path whose address is known. Coordinates are relative to it. -1: none.
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
  bool SplitByBlock(int64_t tree, int64_t node, int64_t anchor, Coordinates* blocks,
                    Coordinates* rests, llvm::SmallVectorImpl<int64_t>* open);
  llvm::Value* Neighbour(int64_t tree, int64_t node, const Coordinates& at, const Walk& walk);
  static bool SplitAlongRow(const Row& row, const Affine& at, Crossing* crossing, Affine* rest);
  std::optional<Crossing> CrossingOf(const Row& row, int64_t tree, int64_t node,
                                     const Coordinates& at, int64_t offset, int64_t bytes);
  std::optional<Affine> OffsetBelow(const Row& row, int64_t tree, int64_t node, int64_t anchor,
                                    Coordinates at);
  llvm::Value* BeforeRow(llvm::function_ref<llvm::Value*()> emit);

  bool IsOutermost(int64_t tree, int64_t node, int64_t axis);
  llvm::Value* CellAddress(int64_t tree, int64_t node, const Place& place);
  llvm::Value* Slot(const Place& place);
  // What a pointer node's slot leads to; null: the cell is inactive.
  llvm::Value* LoadSlot(int64_t tree, int64_t node, llvm::Value* slot);
  llvm::Value* Mask(int64_t tree, int64_t node, const Place& place);
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
