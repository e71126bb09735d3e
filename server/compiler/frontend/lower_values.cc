// Nodes that have a value, scalar by scalar.
#include "lang/op_table.h"
#include "lang/type_rules.h"
#include "server/compiler/frontend/lowering.h"

namespace kiln {

namespace {

// Up to this many elements, a run-time index selects; beyond, it goes through memory.
constexpr size_t kMaxSelected = 16;

}  // namespace

Scalars Lowering::LowerValue(const Node& node) {
  switch (node.kind()) {
    case proto::CONST:
      return {EmitConstant(b_, loc_, types_[node.type()].scalar, node.index())};
    case proto::PARAM:
      return Param(node);
    case proto::UNARY:
      return Unary(node);
    case proto::BINARY:
      return node.op() == proto::OP_MATMUL ? Matmul(node) : Binary(node);
    case proto::TERNARY:
      return Ternary(node);
    case proto::CAST_TO:
      return CastTo(node);
    case proto::MAKE_TENSOR:
      return MakeTensor(node);
    case proto::MAKE_STRUCT:
      return MakeStruct(node);
    case proto::EXTRACT:
      return Extract(node);
    case proto::GET_MEMBER:
      return GetMember(node);
    case proto::RANDOM:
      return Random(node);
    case proto::LOOP_INDEX:
      return LoopIndex(node);
    case proto::SHAPE:
      return Shape(node);
    case proto::CHOOSE:
      return Choose(node);
    case proto::LOAD:
      return Load(node);
    case proto::ATOMIC:
      return Atomic(node);
    case proto::STOP_GRADIENT:
    case proto::ASSUME_IN_RANGE:
    case proto::LOOP_UNIQUE:
      return Operand(node, 0);
    case proto::SNODE_IS_ACTIVE:
      return {EmitConstant(b_, loc_, types_[node.type()].scalar, 1)};
    default: {
      Unsupported(std::string("'") + FindNode(node.kind())->spelling + "'");
      // Something to go on with, so that more can be found.
      std::vector<Scalar> scalars;
      types_.AppendScalars(node.type(), &scalars);
      Scalars zeros;
      for (Scalar scalar : scalars) zeros.push_back(EmitConstant(b_, loc_, scalar, 0));
      return zeros;
    }
  }
}

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

Lowering::Position Lowering::Linear(const Node& node, const std::vector<uint32_t>& shape) {
  Position at{true, 0, {}};
  for (size_t d = 0; d < shape.size(); ++d) {
    uint64_t number;
    const uint32_t operand = node.operands(1 + d);
    at.constant = at.constant && ConstantIndex(operand, &number);
    at.number = at.number * shape[d] + number;
  }
  if (at.constant) return at;
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

// --- Handlers --------------------------------------------------------------------

Scalars Lowering::Param(const Node& node) {
  std::vector<Scalar> scalars;
  types_.AppendScalars(node.type(), &scalars);
  Scalars out;
  for (Scalar scalar : scalars) {
    out.push_back(b_.create<ir::ArgumentOp>(loc_, TypeOf(scalar),
                                            layout_.first_slot[node.index()] + out.size()));
  }
  return out;
}

// The scalar that the operands of an op are to have.
static Scalar OperandScalar(const OpInfo& info, Scalar result, Scalar a, Scalar b) {
  switch (info.result) {
    case proto::RESULT_BOOL:
      return b == proto::SCALAR_NONE ? a : Promote(a, b);
    case proto::RESULT_INT32:
      return a;
    default:
      return result;
  }
}

Scalars Lowering::Unary(const Node& node) {
  const Scalar from = ScalarOf(node.operands(0));
  const Scalar to =
      OperandScalar(*FindOp(node.op()), types_[node.type()].scalar, from, proto::SCALAR_NONE);
  Scalars out;
  for (mlir::Value x : Operand(node, 0)) {
    out.push_back(EmitUnary(b_, loc_, node.op(), to, ConvertTo(to, from, x), emit_));
  }
  return out;
}

Scalars Lowering::Binary(const Node& node) {
  const Scalar left = ScalarOf(node.operands(0)), right = ScalarOf(node.operands(1));
  const Scalar to = OperandScalar(*FindOp(node.op()), types_[node.type()].scalar, left, right);
  const Scalars &a = Operand(node, 0), &b = Operand(node, 1);
  const size_t count = types_.NumScalars(node.type());
  Scalars out;
  for (size_t i = 0; i < count; ++i) {
    mlir::Value x = ConvertTo(to, left, a[a.size() == 1 ? 0 : i]);
    mlir::Value y = ConvertTo(to, right, b[b.size() == 1 ? 0 : i]);
    if (emit_.debug) CheckArithmetic(node.op(), to, x, y);
    out.push_back(EmitBinary(b_, loc_, node.op(), to, x, y, emit_));
  }
  return out;
}

// (n, k) @ (k, m), unrolled; a vector is a column on the right, a row on the left.
Scalars Lowering::Matmul(const Node& node) {
  const Type& left = types_[function_.nodes(node.operands(0)).type()];
  const Type& right = types_[function_.nodes(node.operands(1)).type()];
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

Scalars Lowering::Ternary(const Node& node) {
  const Scalars &c = Operand(node, 0), &a = Operand(node, 1), &b = Operand(node, 2);
  const Scalar to = types_[node.type()].scalar;
  const Scalar of_c = ScalarOf(node.operands(0)), of_a = ScalarOf(node.operands(1)),
               of_b = ScalarOf(node.operands(2));
  const size_t count = types_.NumScalars(node.type());
  Scalars out;
  for (size_t i = 0; i < count; ++i) {
    out.push_back(EmitTernary(b_, loc_, node.op(), to,
                              ConvertTo(proto::U1, of_c, c.size() == 1 ? c[0] : c[i]),
                              ConvertTo(to, of_a, a.size() == 1 ? a[0] : a[i]),
                              ConvertTo(to, of_b, b.size() == 1 ? b[0] : b[i]), emit_));
  }
  return out;
}

Scalars Lowering::CastTo(const Node& node) {
  const Scalars& x = Operand(node, 0);
  if (types_[node.type()].IsStruct()) return x;
  const Scalar from = ScalarOf(node.operands(0)), to = types_[node.type()].scalar;
  const size_t count = types_.NumScalars(node.type());
  Scalars out;
  for (size_t i = 0; i < count; ++i) {
    mlir::Value value = x.size() == 1 ? x[0] : x[i];
    out.push_back(node.op() == proto::OP_BIT_CAST ? EmitBitCast(b_, loc_, from, to, value)
                                                  : ConvertTo(to, from, value));
  }
  return out;
}

Scalars Lowering::MakeTensor(const Node& node) {
  const Scalar to = types_[node.type()].scalar;
  Scalars out;
  for (uint32_t operand : node.operands()) {
    out.push_back(ConvertTo(to, ScalarOf(operand), values_[operand][0]));
  }
  return out;
}

Scalars Lowering::MakeStruct(const Node& node) {
  Scalars out;
  for (uint32_t operand : node.operands()) out.append(values_[operand]);
  return out;
}

Scalars Lowering::GetMember(const Node& node) {
  const Type& type = types_[function_.nodes(node.operands(0)).type()];
  uint64_t first = 0;
  for (uint64_t m = 0; m < node.index(); ++m) first += types_.NumScalars(type.members[m].second);
  const Scalars& all = Operand(node, 0);
  return Scalars(all.begin() + first, all.begin() + first + types_.NumScalars(node.type()));
}

Scalars Lowering::Extract(const Node& node) {
  const Scalars& all = Operand(node, 0);
  const Position at = Linear(node, types_[function_.nodes(node.operands(0)).type()].shape);
  if (at.constant) return {all[std::min<uint64_t>(at.number, all.size() - 1)]};
  if (all.size() <= kMaxSelected) {
    mlir::Value chosen = all[0];
    for (size_t i = 1; i < all.size(); ++i) {
      mlir::Value here =
          b_.create<mlir::arith::CmpIOp>(loc_, mlir::arith::CmpIPredicate::eq, at.value, Int32(i));
      chosen = b_.create<mlir::arith::SelectOp>(loc_, here, all[i], chosen);
    }
    return {chosen};
  }
  mlir::Type address = ir::AddrType::get(context_, all[0].getType());
  mlir::Value array = b_.create<ir::LocalArrayOp>(loc_, address, all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    b_.create<ir::StoreOp>(loc_, all[i],
                           b_.create<ir::ElementOp>(loc_, array.getType(), array, Int32(i)));
  }
  mlir::Value element = b_.create<ir::ElementOp>(loc_, array.getType(), array, at.value);
  return {b_.create<ir::LoadOp>(loc_, all[0].getType(), element)};
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
