// Locals, storages, and what reads and writes them.
#include "lang/check.h"
#include "server/compiler/frontend/lowering.h"

namespace kiln {

namespace {

ir::AtomicKind KindOf(proto::Op op, Scalar scalar) {
  const bool is_float = IsFloat(scalar), is_signed = IsSignedInt(scalar);
  switch (op) {
    case proto::OP_ATOMIC_ADD:
      return is_float ? ir::AtomicKind::addf : ir::AtomicKind::addi;
    case proto::OP_ATOMIC_SUB:
      return is_float ? ir::AtomicKind::subf : ir::AtomicKind::subi;
    case proto::OP_ATOMIC_MUL:
      return is_float ? ir::AtomicKind::mulf : ir::AtomicKind::muli;
    case proto::OP_ATOMIC_MIN:
      return is_float    ? ir::AtomicKind::minf
             : is_signed ? ir::AtomicKind::minsi
                         : ir::AtomicKind::minui;
    case proto::OP_ATOMIC_MAX:
      return is_float    ? ir::AtomicKind::maxf
             : is_signed ? ir::AtomicKind::maxsi
                         : ir::AtomicKind::maxui;
    case proto::OP_ATOMIC_AND:
      return ir::AtomicKind::andi;
    case proto::OP_ATOMIC_OR:
      return ir::AtomicKind::ori;
    default:
      return ir::AtomicKind::xori;
  }
}

}  // namespace

// --- Places ------------------------------------------------------------------------

void Lowering::AddArrays(TypeId id, uint64_t first, Root* root) {
  const Type& type = types_[id];
  if (type.IsTensor()) {
    mlir::Type address = ir::AddrType::get(context_, TypeOf(type.scalar));
    const uint64_t count = type.NumElements();
    root->arrays.push_back(
        {first, count, b_.create<ir::LocalArrayOp>(loc_, address, static_cast<int64_t>(count))});
    return;
  }
  for (const auto& [name, member] : type.members) {
    AddArrays(member, first, root);
    first += types_.NumScalars(member);
  }
}

Place Lowering::Local(const Node& node) {
  roots_.push_back(std::make_unique<Root>());
  Root* root = roots_.back().get();
  types_.AppendScalars(node.type(), &root->scalars);
  if (dynamic_[node_]) AddArrays(node.type(), 0, root);
  const uint64_t count = root->scalars.size();
  root->cells.resize(count);
  const Scalars* init = node.operands_size() > 0 ? &Operand(node, 0) : nullptr;
  const Scalar from = init ? ScalarOf(node.operands(0)) : proto::SCALAR_NONE;
  if (!init) {
    for (const Root::Array& array : root->arrays) {
      b_.create<ir::ZeroOp>(loc_, array.count, array.address);
    }
  }
  const Place whole{root, 0, count, {}};
  auto array = root->arrays.begin();
  for (uint64_t i = 0; i < count; ++i) {
    while (array != root->arrays.end() && i >= array->first + array->count) ++array;
    const bool in_array = array != root->arrays.end() && i >= array->first;
    const Scalar scalar = root->scalars[i];
    if (!in_array) {
      root->cells[i] = b_.create<ir::LocalOp>(loc_, ir::AddrType::get(context_, TypeOf(scalar)));
    } else if (!init) {
      continue;
    }
    mlir::Value value = EmitConstant(b_, loc_, scalar, 0);
    if (init) {
      value = (*init)[init->size() == 1 ? 0 : i];
      // A struct's scalars need no conversion: its type is the local's.
      if (from != proto::SCALAR_NONE) value = ConvertTo(scalar, from, value);
    }
    b_.create<ir::StoreOp>(loc_, value, AddressOf(whole, i));
  }
  return whole;
}

Place Lowering::Element(const Node& node) {
  Place place = places_[node.operands(0)];
  const Type& type = types_[function_.nodes(node.operands(0)).type()];
  const Position at = Linear(node, type.shape);
  if (at.constant) return {place.root, place.first + std::min(at.number, place.count - 1), 1, {}};
  place.index = at.value;
  return place;
}

Place Lowering::Member(const Node& node) {
  Place place = places_[node.operands(0)];
  const Type& type = types_[function_.nodes(node.operands(0)).type()];
  for (uint64_t m = 0; m < node.index(); ++m) {
    place.first += types_.NumScalars(type.members[m].second);
  }
  place.count = types_.NumScalars(node.type());
  return place;
}

Place Lowering::Global(const Node& node) {
  roots_.push_back(std::make_unique<Root>());
  Root* root = roots_.back().get();
  types_.AppendScalars(node.type(), &root->scalars);
  root->storage = storages_.of_param[node.index()];
  for (uint32_t operand : node.operands()) {
    root->indices.push_back(ConvertTo(proto::I32, ScalarOf(operand), values_[operand][0]));
  }
  if (unit_.options().debug() || unit_.options().check_bounds()) CheckBounds(node, root->indices);
  return {root, 0, root->scalars.size(), {}};
}

mlir::Value Lowering::StorageAddress(const Root& root, uint64_t component) {
  mlir::Type type = ir::AddrType::get(context_, TypeOf(root.scalars[component]));
  return b_.create<ir::GlobalOp>(loc_, type, root.storage, component, root.indices);
}

mlir::Value Lowering::AddressOf(const Place& place, uint64_t scalar) {
  if (place.index) return DynamicAddress(place);
  const Root& root = *place.root;
  const uint64_t at = place.first + scalar;
  if (root.storage >= 0) return StorageAddress(root, at);
  if (root.cells[at]) return root.cells[at];
  for (const Root::Array& array : root.arrays) {
    if (at < array.first || at >= array.first + array.count) continue;
    return b_.create<ir::ElementOp>(loc_, array.address.getType(), array.address,
                                    Int32(at - array.first));
  }
  KILN_CHECK(false);
  return {};
}

// Elements `stride` bytes apart are an array; others are selected among.
mlir::Value Lowering::DynamicAddress(const Place& place) {
  const Root& root = *place.root;
  mlir::Value first;
  bool contiguous = true;
  if (root.storage >= 0) {
    first = StorageAddress(root, place.first);
    auto dense = llvm::dyn_cast<ir::DenseAttr>(storages_.attributes[root.storage]);
    auto ndarray = llvm::dyn_cast<ir::NdarrayAttr>(storages_.attributes[root.storage]);
    contiguous = !ndarray || !ndarray.getSoa();
    const int64_t bytes = ScalarBytes(root.scalars[place.first]);
    for (uint64_t i = 1; dense && i < place.count; ++i) {
      const int64_t here = place.first + i;
      contiguous = contiguous && dense.getComponentBase(here) == dense.getComponentBase(here - 1) &&
                   dense.getComponentOffset(here) == dense.getComponentOffset(here - 1) + bytes;
    }
  } else {
    for (const Root::Array& array : root.arrays) {
      if (array.first == place.first) first = array.address;
    }
    KILN_CHECK(first);
  }
  if (contiguous) return b_.create<ir::ElementOp>(loc_, first.getType(), first, place.index);
  mlir::Value chosen = first;
  for (uint64_t i = 1; i < place.count; ++i) {
    mlir::Value here =
        b_.create<mlir::arith::CmpIOp>(loc_, mlir::arith::CmpIPredicate::eq, place.index, Int32(i));
    chosen =
        b_.create<mlir::arith::SelectOp>(loc_, here, StorageAddress(root, place.first + i), chosen);
  }
  return chosen;
}

// --- Memory ------------------------------------------------------------------------

Scalars Lowering::Load(const Node& node) {
  const Place& place = places_[node.operands(0)];
  const uint64_t count = place.index ? 1 : place.count;
  Scalars out;
  for (uint64_t i = 0; i < count; ++i) {
    out.push_back(b_.create<ir::LoadOp>(loc_, TypeOf(place.root->scalars[place.first + i]),
                                        AddressOf(place, i)));
  }
  return out;
}

void Lowering::Store(const Node& node) {
  const Place& place = places_[node.operands(0)];
  const Scalars& value = Operand(node, 1);
  const Scalar from = ScalarOf(node.operands(1));
  const uint64_t count = place.index ? 1 : place.count;
  for (uint64_t i = 0; i < count; ++i) {
    mlir::Value scalar = value[value.size() == 1 ? 0 : i];
    if (from != proto::SCALAR_NONE) {
      scalar = ConvertTo(place.root->scalars[place.first + i], from, scalar);
    }
    b_.create<ir::StoreOp>(loc_, scalar, AddressOf(place, i));
  }
}

Scalars Lowering::Atomic(const Node& node) {
  const Place& place = places_[node.operands(0)];
  const Scalars& value = Operand(node, 1);
  const Scalar from = ScalarOf(node.operands(1));
  const uint64_t count = place.index ? 1 : place.count;
  Scalars out;
  for (uint64_t i = 0; i < count; ++i) {
    const Scalar to = place.root->scalars[place.first + i];
    mlir::Value scalar = ConvertTo(to, from, value[value.size() == 1 ? 0 : i]);
    out.push_back(b_.create<ir::AtomicOp>(loc_, TypeOf(to), KindOf(node.op(), to), scalar,
                                          AddressOf(place, i)));
  }
  return out;
}

}  // namespace kiln
