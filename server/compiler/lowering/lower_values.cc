// Nodes that have a value, scalar by scalar.
#include "common/language/op_table.h"
#include "common/language/type_rules.h"
#include "server/compiler/lowering/lowering.h"

namespace kiln {

namespace {

// Up to this many elements, a run-time index selects; beyond, it goes through memory.
constexpr size_t kMaxSelected = 16;

}  // namespace

// --- Helpers ---------------------------------------------------------------------

Scalar Lowering::ScalarOf(uint32_t id) const { return types_[function_.nodes(id).type()].scalar; }

mlir::Value Lowering::ConvertTo(Scalar to, Scalar from, mlir::Value value) {
  return to == from ? value : EmitCast(b_, loc_, from, to, value, emit_);
}

mlir::Value Lowering::Int(mlir::Type type, int64_t value) {
  return b_.create<mlir::arith::ConstantOp>(loc_, b_.getIntegerAttr(type, value));
}

mlir::Value Lowering::Int32(int64_t value) { return Int(b_.getI32Type(), value); }

bool Lowering::ConstantIndex(uint32_t id, uint64_t* value) const {
  const Node& node = function_.nodes(id);
  *value = node.index();
  return node.kind() == proto::CONST;
}

Index Lowering::Linear(const Node& node, const std::vector<uint32_t>& shape) {
  Index at;
  bool constant = true;
  for (size_t d = 0; d < shape.size(); ++d) {
    uint64_t number;
    constant = constant && ConstantIndex(node.operands(1 + d), &number);
    at.number = at.number * shape[d] + number;
  }
  if (constant) return at;
  if (unit_.options().debug() || unit_.options().check_bounds()) CheckElement(node, shape);
  at.number = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    const uint32_t operand = node.operands(1 + d);
    mlir::Value index = ConvertTo(proto::I32, ScalarOf(operand), values_[operand][0]);
    at.value =
        d == 0 ? index
               : b_.create<mlir::arith::AddIOp>(
                     loc_, b_.create<mlir::arith::MulIOp>(loc_, at.value, Int32(shape[d])), index);
  }
  return at;
}

uint64_t Lowering::NumPieces(TypeId id) const {
  const Type& type = types_[id];
  if (IsLarge(type)) return 1;
  if (!type.IsStruct()) return types_.NumScalars(id);
  uint64_t pieces = 0;
  for (const auto& [name, member] : type.members) pieces += NumPieces(member);
  return pieces;
}

// The scalars and tensors of a type, in order.
void ForEachTensor(const TypeTable& types, TypeId id, llvm::function_ref<void(const Type&)> visit) {
  if (!types[id].IsStruct()) return visit(types[id]);
  for (const auto& [name, member] : types[id].members) ForEachTensor(types, member, visit);
}

// --- Handlers --------------------------------------------------------------------

Scalars Lowering::Param(const Node& node) {
  if (number_ != 0) return arguments_[node.index()];
  Scalars out;
  uint64_t slot = layout_.first_slot[node.index()];
  const auto append = [&](const Type& type) {
    if (!IsLarge(type)) {
      for (uint64_t i = 0; i < type.NumElements(); ++i) {
        out.push_back(b_.create<ir::ArgumentOp>(loc_, TypeOf(type.scalar), slot++));
      }
      return;
    }
    const uint64_t count = type.NumElements();
    out.push_back(NewArray(type.scalar, count));
    Repeat(count, [&](const Index& at) {
      mlir::Value value = b_.create<ir::ArgumentOp>(loc_, TypeOf(type.scalar), slot, at.value);
      b_.create<ir::StoreOp>(loc_, value, ElementOf(out.back(), at));
    });
    slot += count;
  };
  ForEachTensor(types_, node.type(), append);
  return out;
}

// The check has seen that all operands but conditions are of one scalar, the op's.
mlir::Value Lowering::Compute(const Node& node, const Index& at) {
  if (node.kind() == proto::PICK) return ComputePick(node, at);
  const Scalar of = ScalarOf(node.operands(0)), to = types_[node.type()].scalar;
  const auto operand = [&](int i) { return ElementAt(node.operands(i), at); };
  switch (node.kind()) {
    case proto::UNARY:
      return EmitUnary(b_, loc_, node.op(), of, operand(0), emit_);
    case proto::BINARY: {
      mlir::Value x = operand(0), y = operand(1);
      if (emit_.debug) CheckArithmetic(node.op(), of, x, y);
      return EmitBinary(b_, loc_, node.op(), of, x, y, emit_);
    }
    case proto::TERNARY: {
      mlir::Value condition = operand(0), x = operand(1), y = operand(2);
      return EmitTernary(b_, loc_, node.op(), to, condition, x, y, emit_);
    }
    default:  // CAST_TO
      if (node.op() != proto::OP_BIT_CAST) return ConvertTo(to, of, operand(0));
      return EmitBitCast(b_, loc_, of, to, operand(0));
  }
}

Scalars Lowering::Elementwise(const Node& node) {
  const Type& type = types_[node.type()];
  if (type.IsStruct()) return Operand(node, 0);  // a cast to the same struct
  if (IsLarge(type)) return Materialised(node_);
  const uint64_t count = type.NumElements();
  Scalars out;
  for (uint64_t i = 0; i < count; ++i) out.push_back(Compute(node, {i, {}, {}, {}}));
  return out;
}

// (n, k) @ (k, m), unrolled; a vector is a column on the right, a row on the left.
Scalars Lowering::Matmul(const Node& node) {
  const Type& left = types_[function_.nodes(node.operands(0)).type()];
  const Type& right = types_[function_.nodes(node.operands(1)).type()];
  if (IsLarge(left) || IsLarge(right) || IsLarge(types_[node.type()])) return MatmulInLoops(node);
  const Scalar to = types_[node.type()].scalar;
  const uint32_t inner = left.shape.back();
  const uint32_t rows = left.shape.size() == 2 ? left.shape[0] : 1;
  const uint32_t columns = right.shape.size() == 2 ? right.shape[1] : 1;
  const Scalars &a = Operand(node, 0), &b = Operand(node, 1);
  Scalars out;
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t c = 0; c < columns; ++c) {
      mlir::Value sum;
      for (uint32_t k = 0; k < inner; ++k) {
        mlir::Value product =
            EmitBinary(b_, loc_, proto::OP_MUL, to, ConvertTo(to, left.scalar, a[r * inner + k]),
                       ConvertTo(to, right.scalar, b[k * columns + c]), emit_);
        sum = k == 0 ? product : EmitBinary(b_, loc_, proto::OP_ADD, to, sum, product, emit_);
      }
      out.push_back(sum);
    }
  }
  return out;
}

Scalars Lowering::MakeTensor(const Node& node) {
  const Type& type = types_[node.type()];
  Scalars out;
  for (uint32_t operand : node.operands()) {
    out.push_back(ConvertTo(type.scalar, ScalarOf(operand), values_[operand][0]));
  }
  if (!IsLarge(type)) return out;
  mlir::Value array = NewArray(type.scalar, out.size());
  for (uint64_t i = 0; i < out.size(); ++i) {
    b_.create<ir::StoreOp>(loc_, out[i], ElementOf(array, {i, {}, {}, {}}));
  }
  return {array};
}

Scalars Lowering::MakeStruct(const Node& node) {
  Scalars out;
  for (int i = 0; i < node.operands_size(); ++i) out.append(Operand(node, i));
  return out;
}

Scalars Lowering::GetMember(const Node& node) {
  const Type& type = types_[function_.nodes(node.operands(0)).type()];
  uint64_t first = 0;
  for (uint64_t m = 0; m < node.index(); ++m) first += NumPieces(type.members[m].second);
  const Scalars& all = Operand(node, 0);
  return Scalars(all.begin() + first, all.begin() + first + NumPieces(node.type()));
}

Scalars Lowering::Extract(const Node& node) {
  const uint32_t tensor = node.operands(0);
  const Type& type = types_[function_.nodes(tensor).type()];
  Index at = Linear(node, type.shape);
  at.number = std::min<uint64_t>(at.number, type.NumElements() - 1);
  if (IsLarge(type)) return {ElementAt(tensor, at)};
  const Scalars& all = Operand(node, 0);
  if (!at.value) return {all[at.number]};
  if (all.size() > kMaxSelected) return {LoadFrom(InMemory(tensor), at)};
  mlir::Value chosen = all[0];
  for (size_t i = 1; i < all.size(); ++i) {
    mlir::Value here =
        b_.create<mlir::arith::CmpIOp>(loc_, mlir::arith::CmpIPredicate::eq, at.value, Int32(i));
    chosen = b_.create<mlir::arith::SelectOp>(loc_, here, all[i], chosen);
  }
  return {chosen};
}

Scalars Lowering::Random(const Node& node) {
  Scalars out;
  const Scalar scalar = types_[node.type()].scalar;
  const uint64_t count = types_.NumScalars(node.type());
  for (uint64_t i = 0; i < count; ++i) {
    out.push_back(b_.create<ir::RandomOp>(loc_, TypeOf(scalar)));
  }
  return out;
}

Scalars Lowering::Shape(const Node& node) {
  const int axis = node.attributes_size() > 0 ? node.attributes(0) : 0;
  return {AxisExtent(storages_.of_param[node.index()], axis, TypeOf(types_[node.type()].scalar))};
}

}  // namespace kiln
