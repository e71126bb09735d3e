// What the handlers of nodes share while they lower one function: what is lowered, where ops go,
// and what earlier nodes made.
//
// The handler of a kind of node is an overload `Lower(LoweringContext&, XNode)` in the header of
// its subject (lower_values.h, lower_loops.h, …). Handlers of nodes with a value return it in
// pieces. LowerBlock (lower_block.h) calls them; a kind without a handler does not build.
//
// Large tensors, quantised writes and indices of words have state of their own, in classes that the
// context owns and only their users include.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWERING_CONTEXT_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWERING_CONTEXT_H_

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/language/ids.h"
#include "common/language/kernel_parts.h"
#include "common/language/node_views.h"
#include "common/language/type.h"
#include "common/unit/check_unit.h"
#include "common/unit/node_number.h"
#include "kiln/proto/diagnostic.pb.h"
#include "kiln/proto/unit.pb.h"
#include "mlir/IR/Builders.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/lowering/emit_cast.h"
#include "server/compiler/lowering/emit_op.h"
#include "server/compiler/lowering/place.h"
#include "server/compiler/lowering/scalar_value.h"
#include "server/compiler/lowering/storages.h"

namespace kiln {

class LargeTensors;  // large_tensors.h
class QuantWrites;   // quant_writes.h
class WordIndices;   // quant_words.h
struct Choice;       // lower_branches.cc

// What all functions of a unit share; its owner keeps it alive while they are lowered.
struct UnitLowering {
  const proto::CompileUnit& unit;
  const CheckedUnit& checked;
  const Storages& storages;
  std::vector<proto::Diagnostic>* diagnostics;
};

// The diagnostic that `what` is not supported yet, at a node; none: at the kernel.
proto::Diagnostic NotSupported(NodeNumber node, const std::string& what);

// Passed as `c` everywhere. Its fields are open to all handlers; those of a subject belong to the
// files named beside them. Not thread-safe.
struct LoweringContext {
  // Ops go to the builder's place.
  LoweringContext(const UnitLowering& of, FunctionId id, mlir::OpBuilder builder);
  ~LoweringContext();

  // --- What is lowered ---------------------------------------------------------------

  const UnitLowering& in;
  const proto::CompileUnit& unit;
  const TypeTable& types;
  const Storages& storages;
  const FunctionId function_id;
  const proto::Function& function;
  const EmitOptions emit;

  bool IsBody() const { return function_id == kKernelBody; }
  const proto::Node& node(NodeId id) const { return NodeAt(function, id); }
  TypeId TypeIdOf(NodeId id) const { return TypeId(node(id).type()); }
  const Type& TypeOf(NodeId id) const { return types[TypeIdOf(id)]; }
  // The scalar type of a scalar or tensor node.
  Scalar ScalarOf(NodeId id) const { return TypeOf(id).scalar; }
  // The scalars of a type, flattened; the reference stays valid.
  const std::vector<Scalar>& ScalarsIn(TypeId type);
  bool ChecksBounds() const { return unit.options().debug() || unit.options().check_bounds(); }
  // The argument slot of the first scalar of a parameter of the kernel, passed by value.
  uint64_t FirstSlot(ParamId param) const { return in.checked.arguments.first_slot[param]; }
  // The descriptor of a storage parameter.
  const proto::Storage& StorageOf(ParamId param) const {
    return unit.storages(ParamAt(unit.kernel().body(), param).storage());
  }
  // The configuration that a loop names by `config`.
  const proto::LoopConfig& ConfigOf(uint64_t config) const {
    return ConfigAt(unit.kernel(), config);
  }
  // Whether a loop in the current block runs in parallel: only the outermost loops of the kernel
  // do.
  bool IsParallel(const proto::LoopConfig& config) const;

  // Reports that the current node needs `what`, which the compiler cannot do yet.
  void Unsupported(const std::string& what);

  // --- Where ops go --------------------------------------------------------------------

  mlir::OpBuilder b;
  mlir::Location loc;
  NodeId current;  // the node being lowered
  int depth = 0;   // open blocks

  // Makes a node the current one: ops and reports name it.
  void Enter(NodeId id);
  // The current node as reports name it.
  NodeNumber CurrentNode() const { return NumberOfNode(function_id, current); }
  // Whether the block at the builder's place ends with a terminator.
  bool Terminated() const;

  template <typename Op, typename... Args>
  Op Create(Args&&... args) {
    return b.create<Op>(loc, std::forward<Args>(args)...);
  }
  template <typename Op, typename... Args>
  mlir::Value CreateOrFold(Args&&... args) {
    return b.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }
  mlir::Type ValueTypeOf(Scalar scalar) { return ValueType(b.getContext(), scalar); }
  mlir::Type AddressTypeOf(Scalar scalar) {
    return ir::AddrType::get(b.getContext(), ValueTypeOf(scalar));
  }
  mlir::Value Int(mlir::Type type, int64_t value);
  mlir::Value Int32(int64_t value) { return Int(b.getI32Type(), value); }
  mlir::Value Convert(Scalar to, Scalar from, mlir::Value value) {
    return to == from ? value : EmitCast(b, loc, from, to, value, emit);
  }
  mlir::Value Add(mlir::Value x, mlir::Value y) { return Create<mlir::arith::AddIOp>(x, y); }
  mlir::Value Sub(mlir::Value x, mlir::Value y) { return Create<mlir::arith::SubIOp>(x, y); }
  mlir::Value Mul(mlir::Value x, mlir::Value y) { return Create<mlir::arith::MulIOp>(x, y); }
  mlir::Value Select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return Create<mlir::arith::SelectOp>(condition, x, y);
  }
  mlir::Value Compare(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y) {
    return Create<mlir::arith::CmpIOp>(predicate, x, y);
  }
  // Whether an i32 equals the number.
  mlir::Value Is(mlir::Value x, uint64_t number) {
    return Compare(mlir::arith::CmpIPredicate::eq, x, Int32(static_cast<int64_t>(number)));
  }

  // --- What earlier nodes made, by node ------------------------------------------------

  struct Loop {
    Scalar scalar = proto::SCALAR_NONE;  // the type of the indices
    Scalars indices;
  };
  IdVector<NodeId, Scalars> values;  // empty for deferred nodes (large_tensors.h)
  IdVector<NodeId, Place> places;
  IdVector<NodeId, Loop> loops;
  IdVector<NodeId, bool> dynamic;  // locals with a tensor that a run-time value indexes
  std::deque<Root> roots;          // what places refer to; addresses are stable

  // A root for scalars of the type.
  Root* NewRoot(TypeId type);

  // --- What belongs to a subject -------------------------------------------------------

  // lower_functions.h: the pieces of each parameter, or the address that it refers to; the arrays
  // for large tensors among the results, in order. Empty in the kernel's body.
  IdVector<ParamId, Scalars> arguments;
  Scalars result_arrays;
  const Choice* choice = nullptr;  // lower_branches.cc: the innermost open CHOOSE
  uint64_t array_bytes = 0;        // arrays.h: the size of all arrays so far

  // lower_loops.cc: storages of the hints (ti.block_local) for the next parallel loop.
  llvm::SmallVector<int64_t> block_local;

  std::unique_ptr<LargeTensors> tensors;
  std::unique_ptr<QuantWrites> writes;
  std::unique_ptr<WordIndices> words;

 private:
  absl::flat_hash_map<TypeId, std::unique_ptr<std::vector<Scalar>>> scalars_in_;
  mlir::StringAttr file_;
};

// Makes a node the current one until the end of the scope.
class AtNode {
 public:
  AtNode(LoweringContext& c, NodeId id) : c_(c), current_(c.current), loc_(c.loc) { c.Enter(id); }
  ~AtNode() {
    c_.current = current_;
    c_.loc = loc_;
  }
  AtNode(const AtNode&) = delete;
  AtNode& operator=(const AtNode&) = delete;

 private:
  LoweringContext& c_;
  const NodeId current_;
  const mlir::Location loc_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWERING_CONTEXT_H_
