// How one function's nodes become ops: a handler per node kind, over the values and
// places that earlier nodes made. Private to this directory.
#ifndef KILN_SERVER_COMPILER_FRONTEND_LOWERING_H_
#define KILN_SERVER_COMPILER_FRONTEND_LOWERING_H_

#include <memory>
#include <string>
#include <vector>

#include "lang/argument_layout.h"
#include "lang/type.h"
#include "mlir/IR/Builders.h"
#include "proto/diagnostic.pb.h"
#include "proto/unit.pb.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/frontend/emit_op.h"

namespace kiln {

// A value: its scalars, members in order, tensors row-major.
using Scalars = llvm::SmallVector<mlir::Value, 4>;

// Memory that a LOCAL or GLOBAL node names, scalar by scalar.
struct Root {
  std::vector<Scalar> scalars;  // the type of each
  // Of a local: a cell per scalar, null where `arrays` has it.
  std::vector<mlir::Value> cells;
  // First scalar and array of each tensor that is indexed by a run-time value.
  struct Array {
    uint64_t first;
    uint64_t count;
    mlir::Value address;
  };
  std::vector<Array> arrays;
  // Of a storage.
  int storage = -1;
  Scalars indices;
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
  std::vector<int> of_param;
  std::string unsupported;  // what the compiler cannot do; empty: nothing
};
absl::Status CheckAccesses(const proto::CompileUnit& unit, const std::vector<uint32_t>& nodes,
                           const TypeTable& types);
LoweredStorages LowerStorages(const proto::CompileUnit& unit, const std::vector<uint32_t>& nodes,
                              const TypeTable& types, const ArgumentLayout& layout,
                              mlir::MLIRContext* context);

class Lowering {
 public:
  Lowering(const proto::CompileUnit& unit, const TypeTable& types, const ArgumentLayout& layout,
           const LoweredStorages& storages, mlir::OpBuilder builder,
           std::vector<proto::Diagnostic>* diagnostics);

  // Lowers the kernel's body at the builder's place, kiln.return included.
  void LowerKernel(const std::vector<uint32_t>& nodes);

 private:
  using Node = proto::Node;

  // lower_unit.cc: blocks, reports.
  void LowerBlock(uint32_t block);
  void LowerNode(uint32_t id);
  bool Terminated() const;
  void Unsupported(const std::string& what);
  void FindDynamicLocals(const std::vector<uint32_t>& nodes);

  // lower_values.cc
  Scalars LowerValue(const Node& node);
  Scalars Param(const Node& node);
  Scalars Unary(const Node& node);
  Scalars Binary(const Node& node);
  Scalars Matmul(const Node& node);
  Scalars Ternary(const Node& node);
  Scalars CastTo(const Node& node);
  Scalars MakeTensor(const Node& node);
  Scalars MakeStruct(const Node& node);
  Scalars Extract(const Node& node);
  Scalars GetMember(const Node& node);
  Scalars Random(const Node& node);
  Scalars Shape(const Node& node);

  // lower_memory.cc
  Place Local(const Node& node);
  Place Element(const Node& node);
  Place Member(const Node& node);
  Place Global(const Node& node);
  Scalars Load(const Node& node);
  void Store(const Node& node);
  Scalars Atomic(const Node& node);
  mlir::Value AddressOf(const Place& place, uint64_t scalar);
  mlir::Value DynamicAddress(const Place& place);
  mlir::Value StorageAddress(const Root& root, uint64_t component);
  // Arrays for the tensors of a type whose scalars start at `first`.
  void AddArrays(TypeId type, uint64_t first, Root* root);

  // lower_checks.cc: what debug mode asserts, at the node that is checked.
  void CheckBounds(const Node& node, const Scalars& indices);
  void CheckArithmetic(proto::Op op, Scalar scalar, mlir::Value x, mlir::Value y);
  mlir::Value Overflows(proto::Op op, mlir::Value x, mlir::Value y);

  // lower_control.cc
  void RangeFor(const Node& node);
  void StructFor(const Node& node);
  void While(const Node& node);
  void If(const Node& node);
  Scalars Choose(const Node& node);
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
  Scalars IndicesFromDigits(ir::DenseAttr dense, const Scalars& digits);
  Scalars AllOperands(const Node& node, int first);

  // Helpers.
  const Scalars& Operand(const Node& node, int i) const { return values_[node.operands(i)]; }
  Scalar ScalarOf(uint32_t id) const;  // element scalar of a value node
  mlir::Type TypeOf(Scalar scalar) { return ValueType(context_, scalar); }
  mlir::Value ConvertTo(Scalar to, Scalar from, mlir::Value value);
  mlir::Value Int32(int64_t value);
  mlir::Value Int(mlir::Type type, int64_t value);
  bool ConstantIndex(uint32_t id, uint64_t* value) const;
  // Row-major position of an element: a number where all indices are constant.
  struct Position {
    bool constant;
    uint64_t number;
    mlir::Value value;
  };
  Position Linear(const Node& node, const std::vector<uint32_t>& shape);
  Scalars DenseExtents(int storage, mlir::Type type);  // per digit
  mlir::Value AxisExtent(int storage, int axis, mlir::Type type);

  const proto::CompileUnit& unit_;
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

  uint32_t node_ = 0;             // being lowered
  int depth_ = 0;                 // of blocks
  std::vector<Scalars> values_;   // by node
  std::vector<Place> places_;     // by node
  std::vector<Scalars> indices_;  // of a loop, by node
  std::vector<Scalar> index_scalar_;
  std::vector<std::unique_ptr<Root>> roots_;
  std::vector<bool> dynamic_;  // locals that a run-time value indexes
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_FRONTEND_LOWERING_H_
