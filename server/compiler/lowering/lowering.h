// How one function's nodes become ops: a handler per node kind, over the values and
// places that earlier nodes made. Private to this directory.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWERING_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWERING_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/language/op_table.h"
#include "common/language/type.h"
#include "common/unit/argument_layout.h"
#include "common/unit/check_unit.h"
#include "common/unit/node_number.h"
#include "mlir/IR/Builders.h"
#include "proto/diagnostic.pb.h"
#include "proto/unit.pb.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/lowering/emit_op.h"

namespace kiln {

// A value in pieces, members in order: its scalars, tensors row-major. A large tensor is
// one piece, the address of an array that nothing writes to while the value is used.
using Scalars = llvm::SmallVector<mlir::Value, 4>;

inline bool IsLarge(const Type& type) {
  return type.IsTensor() && type.NumElements() > kMaxScalarised;
}

// The scalars and tensors of a type, in order.
void ForEachTensor(const TypeTable& types, TypeId id, llvm::function_ref<void(const Type&)> visit);

// Where an element stands in its tensor, row-major: a number, or a run-time i32. Loops
// over two dimensions say the row and the column too.
struct Index {
  uint64_t number = 0;
  mlir::Value value;
  mlir::Value row, column;
};

struct Place;

// Memory that a LOCAL, GLOBAL or JOIN node names, scalar by scalar.
struct Root {
  const std::vector<Scalar>* scalars;  // the type of each; a type's own
  // Of a local: a cell per scalar, null where `arrays` has it.
  std::vector<mlir::Value> cells;
  // First scalar and array of each tensor that is large or indexed by a run-time value.
  struct Array {
    uint64_t first;
    uint64_t count;
    mlir::Value address;
  };
  std::vector<Array> arrays;
  // Of a storage.
  int storage = -1;
  Scalars indices;
  // Of quantised numbers: what lies in the words, which the indices number; how many bits
  // further up than in the first cell of a quant array (null: not at all).
  const proto::Word* word = nullptr;
  mlir::Value shift;
  // Of a join: where each scalar is.
  std::vector<Place> parts;
};

// Part of a root: `count` scalars from `first` on, or the one at first + index.
struct Place {
  const Root* root = nullptr;
  uint64_t first = 0;
  uint64_t count = 0;
  mlir::Value index;  // i32; null: none
};

// The storages that the kernel's parameters name, in parameter order, and the
// position of each parameter's (-1: none). lower_storages.cc.
struct LoweredStorages {
  mlir::ArrayAttr attributes;
  mlir::ArrayAttr trees;  // null: the unit has none
  std::vector<int> of_param;
  std::vector<bool> no_activate;  // by position: accesses make no cell active
  // Debug mode, by position: that of the last sparse SNode above, where the kernel makes cells
  // above inactive; else -1.
  std::vector<int> last_sparse;
  // By position: the first parameter's storage that is there, where it is a quant array.
  std::vector<const proto::Storage*> quant_arrays;
};

inline const proto::Function& FunctionAt(const proto::CompileUnit& unit, size_t number) {
  return number == 0 ? unit.kernel().body() : unit.kernel().functions(static_cast<int>(number - 1));
}
absl::Status CheckAccesses(const proto::CompileUnit& unit, const ReachedNodes& nodes,
                           const TypeTable& types);
LoweredStorages LowerStorages(const proto::CompileUnit& unit, const ReachedNodes& nodes,
                              const TypeTable& types, const ArgumentLayout& layout,
                              mlir::MLIRContext* context);

// Makes function `number` - 1 at the builder's place. lower_function.cc.
void LowerFunction(const proto::CompileUnit& unit, uint32_t number, const TypeTable& types,
                   const ArgumentLayout& layout, const LoweredStorages& storages,
                   const std::vector<uint32_t>& nodes, mlir::OpBuilder builder,
                   std::vector<proto::Diagnostic>* diagnostics);

class Lowering {
 public:
  // `number` 0: the kernel's body, else function number - 1.
  Lowering(const proto::CompileUnit& unit, uint32_t number, const TypeTable& types,
           const ArgumentLayout& layout, const LoweredStorages& storages, mlir::OpBuilder builder,
           std::vector<proto::Diagnostic>* diagnostics);

  // Lowers the kernel's body at the builder's place, kiln.return included.
  void LowerKernel(const std::vector<uint32_t>& nodes);
  // Lowers a function's body; the builder's block has its arguments.
  void LowerFunction(const std::vector<uint32_t>& nodes);

 private:
  using Node = proto::Node;

  // lower_unit.cc: blocks, reports.
  void LowerBlock(uint32_t block);
  void LowerNode(uint32_t id);
  bool Terminated() const;
  void Unsupported(const std::string& what);
  void FindDynamicLocals(const std::vector<uint32_t>& nodes);

  // lower_values.cc
  Scalars Param(const Node& node);
  Scalars Elementwise(const Node& node);
  mlir::Value Compute(const Node& node, const Index& at);
  Scalars Matmul(const Node& node);
  Scalars MakeTensor(const Node& node);
  Scalars MakeStruct(const Node& node);
  Scalars Extract(const Node& node);
  Scalars GetMember(const Node& node);
  Scalars Random(const Node& node);
  Scalars Shape(const Node& node);

  // lower_snodes.cc: trees.
  Scalars SNodeOp(const Node& node);
  Scalars AddressNumber(const Node& node);
  Scalars IndicesOf(const Node& node);
  ir::TreeAttr TreeOf(ir::TreeFieldAttr field) const;
  void TreeStructFor(const Node& node, int storage, ir::TreeFieldAttr field);

  // lower_tensors.cc: large tensors.
  void FindDeferred(uint32_t block);
  mlir::Value ElementAt(uint32_t id, const Index& at);
  mlir::Value ComputePick(const Node& node, const Index& at);
  Scalars Materialised(uint32_t id);
  mlir::Value InMemory(uint32_t id);
  bool ReadsElsewhere(uint32_t id, const Place& target, bool moved);
  bool HasPick(uint32_t id) const;
  mlir::Value NewArray(Scalar scalar, uint64_t count);
  mlir::Value ElementOf(mlir::Value array, const Index& at);
  mlir::Value LoadFrom(mlir::Value array, const Index& at);
  void Repeat(uint64_t count, llvm::function_ref<void(const Index&)> body);
  void RepeatOver(const Type& type, bool rows, llvm::function_ref<void(const Index&)> body);
  void StoreTensor(const Place& place, uint32_t id);
  void Settle(uint32_t id);
  void SettlePicked(const Node& node);
  bool MayAlias(int storage, int other) const;
  Scalars Reduce(const Node& node);
  Scalars MatmulInLoops(const Node& node);

  // lower_function.cc
  struct Copy {
    const Place* place;
    mlir::Value local;
  };
  Place Reference(const Node& node);
  mlir::Value ReferenceTo(const Place& place, llvm::SmallVectorImpl<Copy>* copies);
  Scalars Call(const Node& node);
  void ReturnFromFunction(const Node& node);

  // lower_memory.cc
  Place Local(const Node& node);
  Place Element(const Node& node);
  Place Member(const Node& node);
  Place Global(const Node& node);
  Place Join(const Node& node);
  Scalars Load(const Node& node);
  void Store(const Node& node);
  Scalars Atomic(const Node& node);
  Scalars LoadPieces(TypeId type, const Place& place);
  void StorePieces(TypeId type, const Place& place, llvm::ArrayRef<mlir::Value>* pieces);
  void StoreTo(const Place& place, TypeId type, uint32_t value);
  mlir::Value AddressOf(const Place& place, uint64_t scalar);
  mlir::Value AddressAt(const Place& place, const Index& at);
  mlir::Value DynamicAddress(const Place& place);
  bool IsScattered(const Place& place);
  // Has `use` make the access to element `at` of a place, and answers its value, of `type`;
  // null: it has none.
  mlir::Value Access(const Place& place, const Index& at, mlir::Type type,
                     llvm::function_ref<mlir::Value(mlir::Value)> use);
  // The same of a join: `use` gets the place of the element.
  mlir::Value AccessPart(const Place& place, const Index& at, mlir::Type type,
                         llvm::function_ref<mlir::Value(const Place&)> use);
  // Branches by the place's index: `use` gets the number of the element.
  mlir::Value UseOneOf(const Place& place, uint64_t first, uint64_t count, mlir::Type type,
                       llvm::function_ref<mlir::Value(uint64_t)> use);
  mlir::Value LoadAt(const Place& place, const Index& at, Scalar scalar);
  void StoreAt(const Place& place, const Index& at, mlir::Value value);
  void StoreParts(const Place& place, llvm::ArrayRef<mlir::Value> values);
  mlir::Value AtomicAt(const Place& place, const Index& at, proto::Op op, Scalar scalar,
                       mlir::Value value);
  mlir::Value SelectedAddress(const Place& place);
  bool HasUnevenStrides(int storage, const Place& place);
  mlir::Value StorageAddress(const Root& root, uint64_t component);
  bool IsContiguous(int storage, uint64_t first, uint64_t count);
  // Arrays for the tensors of a type whose scalars start at `first`: the large ones, or all.
  void AddArrays(TypeId type, uint64_t first, bool all, Root* root);
  const std::vector<Scalar>& ScalarsOf(TypeId type);

  // lower_quant.cc: quantised numbers. `number` is one of a word's; values are of the
  // compute type, words signless integers.
  void EnterWord(const Node& node, Root* root);
  mlir::Value WordAddress(const Root& root);
  mlir::Value LoadNumber(const Place& place, const Index& at);
  void StoreNumber(const Place& place, const Index& at, mlir::Value value);
  // Numbers of one word, and what is written to each.
  using Written = llvm::SmallVector<std::pair<const proto::QuantNumber*, mlir::Value>>;
  void StoreNumbers(const Root& root, Scalar compute, const Written& written);
  mlir::Value AtomicNumber(const Place& place, const Index& at, proto::Op op, mlir::Value value);
  // Writes to numbers of a shared exponent wait for others to the same word: at once, none is
  // measured by what the others were.
  void FlushWrites();
  bool LeavesWrites(const Node& node) const;
  void FlushIfRead(const Root& root);
  mlir::Value Update(const Root& root, llvm::function_ref<mlir::Value(mlir::Value)> change);
  // Indices of words from those of a loop's dimensions, innermost cells apart.
  using WordsOf = llvm::function_ref<Scalars(const Scalars&)>;
  void OverWords(const Node& node, int storage, const Scalars& words, uint64_t config,
                 WordsOf words_of);
  Scalars OverCells(int storage, const Scalars& words);
  void EnterWords(uint32_t id, int storage, const Scalars& words, bool by_words);
  Scalars IndicesInWords(int storage, const Scalars& words, const Scalars& cells);
  static Index InPlace(const Place& place, const Index& at) {
    return place.index ? Index{0, place.index, {}, {}} : at;
  }
  int64_t CellsInWord(int storage, int64_t axis) const;
  int64_t AxisOffset(int storage, int64_t axis) const;

  // lower_lanes.cc: loops over single bits, a word at a time.
  class Lanes;
  struct ByWords {
    int storage;
    uint32_t node;  // the loop
    Scalars words;  // indices of the word that an iteration is at
  };
  const proto::Storage* BitsOf(int storage) const;
  bool GoesByWords(const Node& node, int storage);
  void LowerByWords(const ByWords& loop, uint32_t block);

  // lower_checks.cc: what debug mode asserts, at the node that is checked.
  void CheckBounds(const Node& node, const Scalars& indices);
  // The same where not all indices of the storage are given: `axes` says which.
  void CheckBounds(const Node& node, const Scalars& indices, llvm::ArrayRef<int> axes);
  void CheckAppended(const Scalars& indices, ir::TreeFieldAttr field, mlir::Value number);
  void CheckVisited(int storage, ir::TreeFieldAttr field, const Scalars& at);
  void CheckElement(const Node& node, const std::vector<uint32_t>& shape);
  void CheckArithmetic(proto::Op op, Scalar scalar, mlir::Value x, mlir::Value y);
  mlir::Value ToInt64(Scalar scalar, mlir::Value x);
  mlir::Value Overflows(proto::Op op, Scalar scalar, mlir::Value x, mlir::Value y);
  mlir::Value LosesBits(Scalar scalar, mlir::Value x, mlir::Value y);
  void PrintOverflow(proto::Op op, Scalar scalar, mlir::Value x, mlir::Value y);

  // lower_control.cc
  void RangeFor(const Node& node);
  void StructFor(const Node& node);
  void While(const Node& node);
  void If(const Node& node);
  Scalars Choose(const Node& node);
  void Yield(const Node& node);
  void Return(const Node& node);
  void Print(const Node& node);
  void Assert(const Node& node);
  Scalars LoopIndex(const Node& node);
  bool IsParallel(const proto::LoopConfig& config) const;
  bool HasBreak(uint32_t block) const;
  void LoopBody(uint32_t block);
  mlir::Value BeginFor(mlir::Value lower, mlir::Value upper);
  // Loops over a box; `enter` gets the indices at the start of the body.
  void Nest(const Scalars& lowers, const Scalars& uppers, uint64_t config_index, int over,
            uint32_t block, llvm::function_ref<void(Scalars)> enter);
  void SerialNest(const Scalars& lowers, const Scalars& uppers, uint32_t block,
                  llvm::function_ref<void(Scalars)> enter);
  void ParallelNest(const Scalars& lowers, const Scalars& uppers, const proto::LoopConfig& config,
                    int over, uint32_t block, llvm::function_ref<void(Scalars)> enter);
  // The indices of a field without sparse levels from its digits: of each digit the axis (of
  // `axes`) and the extent.
  Scalars IndicesFromDigits(llvm::ArrayRef<std::pair<int64_t, int64_t>> levels, int64_t axes,
                            const Scalars& digits);
  Scalars AddOffsets(Scalars indices, llvm::ArrayRef<int64_t> offset);
  // The pieces of the operands from `first` on, and how many scalars each has.
  Scalars AllOperands(const Node& node, int first, mlir::DenseI64ArrayAttr* counts);

  // Helpers.
  const Scalars& Operand(const Node& node, int i) {
    const uint32_t id = node.operands(i);
    if (deferred_[id]) values_[id] = Materialised(id);
    return values_[id];
  }
  uint64_t NumPieces(TypeId type) const;
  Scalar ScalarOf(uint32_t id) const;  // element scalar of a value node
  mlir::Type TypeOf(Scalar scalar) { return ValueType(context_, scalar); }
  mlir::Value ConvertTo(Scalar to, Scalar from, mlir::Value value);
  mlir::Value Int32(int64_t value);
  mlir::Value Int(mlir::Type type, int64_t value);
  bool ConstantIndex(uint32_t id, uint64_t* value) const;
  // Row-major position of an element: a number where all indices are constant.
  Index Linear(const Node& node, const std::vector<uint32_t>& shape);
  Scalars DenseExtents(int storage, mlir::Type type);  // per digit
  mlir::Value AxisExtent(int storage, int axis, mlir::Type type);

  // Of the node being lowered, as reports name it.
  uint32_t Number() const { return NodeNumber(number_, node_); }

  const proto::CompileUnit& unit_;
  const uint32_t number_;
  const proto::Function& function_;
  const TypeTable& types_;
  const ArgumentLayout& layout_;
  mlir::OpBuilder b_;
  mlir::MLIRContext* context_;
  mlir::Location loc_;
  EmitOptions emit_;
  std::vector<proto::Diagnostic>* diagnostics_;
  const LoweredStorages& storages_;
  mlir::StringAttr file_;

  struct PendingWrites {
    Root root;
    Scalar compute;
    Written numbers;
    mlir::Location loc;
  };
  std::unique_ptr<PendingWrites> pending_;
  // Of an index over a quant array: the number of the word, and of the cell in it.
  struct InWord {
    mlir::Value word, cell;
    int64_t cells, offset;
  };
  llvm::DenseMap<mlir::Value, InWord> in_word_;
  std::optional<ByWords> by_words_;  // of the loop body that is lowered next
  int open_loops_ = 0;               // within a parallel loop's body, over the cells of a word

  uint32_t node_ = 0;             // being lowered
  int depth_ = 0;                 // of blocks
  std::vector<Scalars> values_;   // by node
  std::vector<Place> places_;     // by node
  std::vector<Scalars> indices_;  // of a loop, by node
  std::vector<Scalar> index_scalar_;
  std::vector<std::unique_ptr<Root>> roots_;
  std::vector<bool> dynamic_;  // locals that a run-time value indexes
  uint64_t array_bytes_ = 0;   // of NewArray
  // Large tensors that their users compute or read element by element.
  std::vector<bool> deferred_;
  std::vector<uint32_t> uses_;                    // by node
  uint32_t writes_ = 0;                           // nodes met by FindDeferred that write memory
  llvm::DenseMap<uint32_t, mlir::Value> picked_;  // small tensors in memory, for picks
  // Of each open CHOOSE, by piece: the array of a large one (or null), its elements.
  struct Choice {
    Scalars arrays;
    llvm::SmallVector<uint64_t> counts;
  };
  std::vector<Choice> choices_;
  absl::flat_hash_map<TypeId, std::unique_ptr<std::vector<Scalar>>> scalars_of_;
  std::vector<std::vector<uint32_t>> contiguous_;  // by storage; see IsContiguous
  // Of a function, not of the kernel's body.
  std::vector<Scalars> arguments_;  // by parameter: pieces, or the address
  Scalars result_arrays_;           // where large tensors of the results go, in order
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWERING_H_
