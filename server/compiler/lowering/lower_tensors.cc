// Large tensors: arrays in memory, and loops over them.
//
// What is computed element by element is deferred where that changes nothing: `c = a * 2
// + b` becomes one loop that reads a and b and writes c, with no array in between. A
// node is deferred if its user stands in the same block, nothing between the two writes
// memory, and (but for loads) it has no other user.
#include "common/base/check.h"
#include "common/language/op_table.h"
#include "server/compiler/lowering/lowering.h"

namespace kiln {

namespace {

bool WritesMemory(const proto::Node& node) {
  switch (node.kind()) {
    case proto::STORE:
    case proto::ATOMIC:
    case proto::CALL:
    case proto::SNODE_APPEND:
    case proto::SNODE_DEACTIVATE:
      return true;
    default:
      return node.blocks_size() > 0;
  }
}

bool IsElementwise(const proto::Node& node) {
  switch (node.kind()) {
    case proto::UNARY:
    case proto::TERNARY:
    case proto::CAST_TO:
    case proto::PICK:
      return true;
    default:
      return node.kind() == proto::BINARY && node.op() != proto::OP_MATMUL;
  }
}

}  // namespace

// Nodes of the block and those in it. A node is deferred until a use speaks against it.
void Lowering::FindDeferred(uint32_t block) {
  llvm::DenseMap<uint32_t, uint32_t> made;  // deferred node of this block -> writes before it
  for (uint32_t id : function_.blocks(block).nodes()) {
    const Node& node = function_.nodes(id);
    for (uint32_t operand : node.operands()) {
      ++uses_[operand];
      if (!deferred_[operand]) continue;
      const proto::NodeKind kind = function_.nodes(operand).kind();
      if (kind == proto::PARAM) continue;  // never changes
      const auto found = made.find(operand);
      const bool here = found != made.end() && found->second == writes_;
      if (!here || (kind != proto::LOAD && uses_[operand] > 1)) deferred_[operand] = false;
    }
    if (IsLarge(types_[node.type()])) {
      const bool is_load = node.kind() == proto::LOAD;
      // A function's parameters are arrays of its callers'.
      const bool is_argument = node.kind() == proto::PARAM && number_ == 0;
      deferred_[id] = is_load || is_argument || IsElementwise(node);
      if (deferred_[id]) made[id] = writes_;
    }
    if (WritesMemory(node)) ++writes_;
    for (uint32_t inner : node.blocks()) FindDeferred(inner);
  }
}

// --- Arrays and loops --------------------------------------------------------------

// Arrays lie on the stack of the thread that runs the task, which has 8 MiB.
static constexpr uint64_t kMostArrayBytes = uint64_t{4} << 20;

mlir::Value Lowering::NewArray(Scalar scalar, uint64_t count) {
  const uint64_t before = array_bytes_;
  array_bytes_ += ScalarBytes(scalar) * count;
  if (before <= kMostArrayBytes && array_bytes_ > kMostArrayBytes) {
    Unsupported("a kernel with more than 4 MiB of matrices that are variables or results");
  }
  mlir::Type address = ir::AddrType::get(context_, TypeOf(scalar));
  return b_.create<ir::LocalArrayOp>(loc_, address, static_cast<int64_t>(count));
}

mlir::Value Lowering::ElementOf(mlir::Value array, const Index& at) {
  mlir::Value index = at.value ? at.value : Int32(static_cast<int64_t>(at.number));
  return b_.create<ir::ElementOp>(loc_, array.getType(), array, index);
}

mlir::Value Lowering::LoadFrom(mlir::Value array, const Index& at) {
  mlir::Type type = llvm::cast<ir::AddrType>(array.getType()).getPointee();
  return b_.create<ir::LoadOp>(loc_, type, ElementOf(array, at));
}

void Lowering::Repeat(uint64_t count, llvm::function_ref<void(const Index&)> body) {
  FlushWrites();
  mlir::OpBuilder::InsertionGuard guard(b_);
  mlir::Value index = BeginFor(Int32(0), Int32(static_cast<int64_t>(count)));
  body({0, index, {}, {}});
  b_.create<ir::ContinueOp>(loc_);
}

// All elements of a tensor: in one loop, or `by_rows` in a nest of two.
void Lowering::RepeatOver(const Type& type, bool by_rows,
                          llvm::function_ref<void(const Index&)> body) {
  if (!by_rows || type.shape.size() < 2) return Repeat(type.NumElements(), body);
  Repeat(type.shape[0], [&](const Index& row) {
    mlir::Value first = b_.create<mlir::arith::MulIOp>(loc_, row.value, Int32(type.shape[1]));
    Repeat(type.shape[1], [&](const Index& column) {
      mlir::Value at = b_.create<mlir::arith::AddIOp>(loc_, first, column.value);
      body({0, at, row.value, column.value});
    });
  });
}

// --- Elements of values ------------------------------------------------------------

// Of a scalar the scalar itself: operands of element-wise ops may be either.
mlir::Value Lowering::ElementAt(uint32_t id, const Index& at) {
  const Node& node = function_.nodes(id);
  if (!deferred_[id]) {
    const Scalars& pieces = values_[id];
    if (IsLarge(types_[node.type()])) return LoadFrom(pieces[0], at);
    if (at.value && pieces.size() > 1) return LoadFrom(picked_.lookup(id), at);
    return pieces[pieces.size() == 1 ? 0 : at.number];
  }
  // What is reported meanwhile is about that node.
  const uint32_t user = std::exchange(node_, id);
  const mlir::Location user_loc =
      std::exchange(loc_, mlir::Location(mlir::FileLineColLoc::get(file_, Number(), 0)));
  mlir::Value value;
  if (node.kind() == proto::LOAD) {
    const Place& place = places_[node.operands(0)];
    value = LoadAt(place, at, ScalarOf(id));
  } else if (node.kind() == proto::PARAM) {
    value = b_.create<ir::ArgumentOp>(loc_, TypeOf(ScalarOf(id)),
                                      layout_.first_slot[node.index()] + at.number, at.value);
  } else {
    value = Compute(node, at);
  }
  node_ = user;
  loc_ = user_loc;
  return value;
}

mlir::Value Lowering::ComputePick(const Node& node, const Index& at) {
  const Type& type = types_[node.type()];
  const auto stride = [&](int d) { return node.attributes(1 + d); };
  const bool is_matrix = type.shape.size() == 2;
  const uint64_t columns = is_matrix ? type.shape[1] : 1;
  if (!at.value) {
    int64_t number = node.attributes(0) + int64_t(at.number / columns) * stride(0);
    if (is_matrix) number += int64_t(at.number % columns) * stride(1);
    return ElementAt(node.operands(0), {static_cast<uint64_t>(number), {}, {}, {}});
  }
  mlir::Value row = at.value, column;
  if (is_matrix) {
    mlir::Value width = Int32(static_cast<int64_t>(columns));
    row = at.row ? at.row : b_.create<mlir::arith::DivUIOp>(loc_, at.value, width).getResult();
    column =
        at.column ? at.column : b_.create<mlir::arith::RemUIOp>(loc_, at.value, width).getResult();
  }
  mlir::Value sum = b_.create<mlir::arith::MulIOp>(loc_, row, Int32(stride(0)));
  if (is_matrix) {
    mlir::Value step = b_.create<mlir::arith::MulIOp>(loc_, column, Int32(stride(1)));
    sum = b_.create<mlir::arith::AddIOp>(loc_, sum, step);
  }
  sum = b_.create<mlir::arith::AddIOp>(loc_, sum, Int32(node.attributes(0)));
  return ElementAt(node.operands(0), {0, sum, {}, {}});
}

// Whether a pick is part of what is deferred at the node: then loops go by rows.
bool Lowering::HasPick(uint32_t id) const {
  if (!deferred_[id]) return false;
  const Node& node = function_.nodes(id);
  if (node.kind() == proto::PICK) return true;
  return IsElementwise(node) &&
         llvm::any_of(node.operands(), [&](uint32_t operand) { return HasPick(operand); });
}

// The value of a large node as an array of its own.
Scalars Lowering::Materialised(uint32_t id) {
  const Node& node = function_.nodes(id);
  if (node.kind() == proto::PARAM) return Param(node);
  if (node.kind() == proto::LOAD) return Load(node);
  SettlePicked(node);
  const Type& type = types_[node.type()];
  mlir::Value array = NewArray(type.scalar, type.NumElements());
  const bool by_rows =
      node.kind() == proto::PICK ||
      llvm::any_of(node.operands(), [&](uint32_t operand) { return HasPick(operand); });
  RepeatOver(type, by_rows, [&](const Index& at) {
    mlir::Value value = Compute(node, at);
    b_.create<ir::StoreOp>(loc_, value, ElementOf(array, at));
  });
  return {array};
}

// Ends the deferring of a node.
void Lowering::Settle(uint32_t id) {
  if (!deferred_[id]) return;
  values_[id] = Materialised(id);
  deferred_[id] = false;
}

// Picks from small tensors go through memory, which must be written before the loop.
void Lowering::SettlePicked(const Node& node) {
  if (!IsElementwise(node)) return;
  for (uint32_t operand : node.operands()) {
    const Type& type = types_[function_.nodes(operand).type()];
    if (node.kind() == proto::PICK && !IsLarge(type)) {
      picked_[operand] = InMemory(operand);
    } else if (deferred_[operand]) {
      SettlePicked(function_.nodes(operand));
    }
  }
}

// An array with the elements of a tensor.
mlir::Value Lowering::InMemory(uint32_t id) {
  const Type& type = types_[function_.nodes(id).type()];
  if (IsLarge(type)) {
    if (deferred_[id]) values_[id] = Materialised(id);
    return values_[id][0];
  }
  const Scalars& all = values_[id];
  mlir::Value array = NewArray(type.scalar, all.size());
  for (uint64_t i = 0; i < all.size(); ++i) {
    b_.create<ir::StoreOp>(loc_, all[i], ElementOf(array, {i, {}, {}, {}}));
  }
  return array;
}

// Whether computing the deferred value element by element into `target` would read what
// has been overwritten: a moved element of the same memory, or memory that overlaps in
// ways that we do not know. `moved`: under a pick.
bool Lowering::ReadsElsewhere(uint32_t id, const Place& target, bool moved) {
  if (!deferred_[id]) return false;
  const Node& node = function_.nodes(id);
  if (node.kind() == proto::LOAD) {
    const Root &source = *places_[node.operands(0)].root, &written = *target.root;
    if (!source.parts.empty() || !written.parts.empty()) return true;
    if (source.storage < 0 || written.storage < 0) return moved && &source == &written;
    if (source.storage == written.storage) return moved;
    return MayAlias(source.storage, written.storage);
  }
  if (!IsElementwise(node)) return false;
  return llvm::any_of(node.operands(), [&](uint32_t operand) {
    return ReadsElsewhere(operand, target, moved || node.kind() == proto::PICK);
  });
}

bool Lowering::MayAlias(int a, int b) const {
  const auto set_of = [&](int storage) {
    auto dense = llvm::dyn_cast<ir::DenseAttr>(storages_.attributes[storage]);
    auto ndarray = llvm::dyn_cast<ir::NdarrayAttr>(storages_.attributes[storage]);
    auto tree = llvm::dyn_cast<ir::TreeFieldAttr>(storages_.attributes[storage]);
    return dense ? dense.getAlias() : ndarray ? ndarray.getAlias() : tree ? tree.getAlias() : 0;
  };
  return set_of(a) != 0 && set_of(a) == set_of(b);
}

void Lowering::StoreTensor(const Place& place, uint32_t id) {
  if (ReadsElsewhere(id, place, false)) Settle(id);
  const Node& node = function_.nodes(id);
  if (deferred_[id]) SettlePicked(node);
  RepeatOver(types_[node.type()], HasPick(id),
             [&](const Index& at) { StoreAt(place, at, ElementAt(id, at)); });
}

// --- Reductions and products -------------------------------------------------------

Scalars Lowering::Reduce(const Node& node) {
  const uint32_t tensor = node.operands(0);
  const Type& type = types_[function_.nodes(tensor).type()];
  const auto combine = [&](mlir::Value sum, mlir::Value next) {
    if (emit_.debug) CheckArithmetic(node.op(), type.scalar, sum, next);
    return EmitBinary(b_, loc_, node.op(), type.scalar, sum, next, emit_);
  };
  const uint64_t count = type.NumElements();
  if (deferred_[tensor]) SettlePicked(function_.nodes(tensor));
  mlir::Value sum = ElementAt(tensor, {});
  if (!IsLarge(type)) {
    for (uint64_t i = 1; i < count; ++i) sum = combine(sum, ElementAt(tensor, {i, {}, {}, {}}));
    return {sum};
  }
  auto loop = b_.create<ir::ForOp>(loc_, mlir::TypeRange(sum.getType()), Int32(1),
                                   Int32(static_cast<int64_t>(count)), mlir::ValueRange(sum));
  mlir::OpBuilder::InsertionGuard guard(b_);
  mlir::Block& body = loop.getBodyRegion().emplaceBlock();
  b_.setInsertionPointToStart(&body);
  mlir::Value index = body.addArgument(b_.getI32Type(), loc_);
  mlir::Value carried = body.addArgument(sum.getType(), loc_);
  mlir::Value next = combine(carried, ElementAt(tensor, {0, index, {}, {}}));
  b_.create<ir::ContinueOp>(loc_, next);
  return {loop.getResult(0)};
}

// (n, k) @ (k, m): a row of the result at a time, to which the rows of the right side
// are added, so that the innermost loop runs along rows. Sums are in the order of k.
Scalars Lowering::MatmulInLoops(const Node& node) {
  const uint32_t left = node.operands(0), right = node.operands(1);
  const Type& a = types_[function_.nodes(left).type()];
  const Type& b = types_[function_.nodes(right).type()];
  const Type& type = types_[node.type()];
  const uint64_t inner = a.shape.back();
  const uint64_t rows = a.shape.size() == 2 ? a.shape[0] : 1;
  const uint64_t columns = b.shape.size() == 2 ? b.shape[1] : 1;
  // Every element is read many times: only what lies in memory already stays deferred.
  const auto reader = [&](uint32_t id) -> std::function<mlir::Value(mlir::Value)> {
    const proto::NodeKind kind = function_.nodes(id).kind();
    const Scalar from = ScalarOf(id);
    if (deferred_[id] && (kind == proto::LOAD || kind == proto::PARAM)) {
      return [this, id, from, &type](mlir::Value at) {
        return ConvertTo(type.scalar, from, ElementAt(id, {0, at, {}, {}}));
      };
    }
    mlir::Value array = InMemory(id);
    return [this, array, from, &type](mlir::Value at) {
      return ConvertTo(type.scalar, from, LoadFrom(array, {0, at, {}, {}}));
    };
  };
  const auto read_left = reader(left), read_right = reader(right);
  const auto linear = [&](mlir::Value row, uint64_t width, mlir::Value column) {
    mlir::Value first =
        b_.create<mlir::arith::MulIOp>(loc_, row, Int32(static_cast<int64_t>(width)));
    return b_.create<mlir::arith::AddIOp>(loc_, first, column).getResult();
  };
  const auto product = [&](mlir::Value x, mlir::Value k, mlir::Value column) {
    return EmitBinary(b_, loc_, proto::OP_MUL, type.scalar, x,
                      read_right(linear(k, columns, column)), emit_);
  };
  mlir::Value array = NewArray(type.scalar, rows * columns);
  Repeat(rows, [&](const Index& row) {
    mlir::Value first = read_left(linear(row.value, inner, Int32(0)));
    Repeat(columns, [&](const Index& column) {
      mlir::Value value = product(first, Int32(0), column.value);
      b_.create<ir::StoreOp>(
          loc_, value, ElementOf(array, {0, linear(row.value, columns, column.value), {}, {}}));
    });
    mlir::OpBuilder::InsertionGuard guard(b_);
    mlir::Value k = BeginFor(Int32(1), Int32(static_cast<int64_t>(inner)));
    mlir::Value x = read_left(linear(row.value, inner, k));
    Repeat(columns, [&](const Index& column) {
      mlir::Value address = ElementOf(array, {0, linear(row.value, columns, column.value), {}, {}});
      mlir::Value old = b_.create<ir::LoadOp>(loc_, TypeOf(type.scalar), address);
      mlir::Value sum =
          EmitBinary(b_, loc_, proto::OP_ADD, type.scalar, old, product(x, k, column.value), emit_);
      b_.create<ir::StoreOp>(loc_, sum, address);
    });
    b_.create<ir::ContinueOp>(loc_);
  });
  if (IsLarge(type)) return {array};
  Scalars out;
  for (uint64_t i = 0; i < rows * columns; ++i) out.push_back(LoadFrom(array, {i, {}, {}, {}}));
  return out;
}

}  // namespace kiln
