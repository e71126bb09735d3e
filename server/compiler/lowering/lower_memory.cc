// Locals, storages, and what reads and writes them.
#include <tuple>

#include "common/base/check.h"
#include "llvm/ADT/MapVector.h"
#include "server/compiler/lowering/lowering.h"

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

const std::vector<Scalar>& Lowering::ScalarsOf(TypeId type) {
  std::unique_ptr<std::vector<Scalar>>& scalars = scalars_of_[type];
  if (!scalars) {
    scalars = std::make_unique<std::vector<Scalar>>();
    types_.AppendScalars(type, scalars.get());
  }
  return *scalars;
}

void Lowering::AddArrays(TypeId id, uint64_t first, bool all, Root* root) {
  const Type& type = types_[id];
  if (type.IsTensor()) {
    if (!all && !IsLarge(type)) return;
    const uint64_t count = type.NumElements();
    root->arrays.push_back({first, count, NewArray(type.scalar, count)});
    return;
  }
  for (const auto& [name, member] : type.members) {
    AddArrays(member, first, all, root);
    first += types_.NumScalars(member);
  }
}

Place Lowering::Local(const Node& node) {
  roots_.push_back(std::make_unique<Root>());
  Root* root = roots_.back().get();
  root->scalars = &ScalarsOf(node.type());
  AddArrays(node.type(), 0, dynamic_[node_], root);
  const uint64_t count = root->scalars->size();
  root->cells.resize(count);
  const Place whole{root, 0, count, {}};
  auto array = root->arrays.begin();
  for (uint64_t i = 0; i < count; ++i) {
    if (array != root->arrays.end() && i == array->first) {
      i += array++->count - 1;
      continue;
    }
    const Scalar scalar = (*root->scalars)[i];
    root->cells[i] = b_.create<ir::LocalOp>(loc_, ir::AddrType::get(context_, TypeOf(scalar)));
    if (node.operands_size() > 0) continue;
    b_.create<ir::StoreOp>(loc_, EmitConstant(b_, loc_, scalar, 0), root->cells[i]);
  }
  if (node.operands_size() > 0) {
    StoreTo(whole, node.type(), node.operands(0));
  } else {
    for (const Root::Array& zeroed : root->arrays) {
      b_.create<ir::ZeroOp>(loc_, zeroed.count, zeroed.address);
    }
  }
  return whole;
}

Place Lowering::Element(const Node& node) {
  Place place = places_[node.operands(0)];
  const Type& type = types_[function_.nodes(node.operands(0)).type()];
  const Index at = Linear(node, type.shape);
  if (!at.value) {
    const uint64_t number = place.first + std::min(at.number, place.count - 1);
    if (!place.root->parts.empty()) return place.root->parts[number];
    return {place.root, number, 1, {}};
  }
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
  root->scalars = &ScalarsOf(node.type());
  root->storage = storages_.of_param[node.index()];
  root->indices = IndicesOf(node);
  if (unit_.options().debug() || unit_.options().check_bounds()) CheckBounds(node, root->indices);
  EnterWord(node, root);
  return {root, 0, root->scalars->size(), {}};
}

Place Lowering::Join(const Node& node) {
  roots_.push_back(std::make_unique<Root>());
  Root* root = roots_.back().get();
  root->scalars = &ScalarsOf(node.type());
  for (const uint32_t part : node.operands()) root->parts.push_back(places_[part]);
  return {root, 0, root->scalars->size(), {}};
}

mlir::Value Lowering::StorageAddress(const Root& root, uint64_t component) {
  mlir::Type type = ir::AddrType::get(context_, TypeOf((*root.scalars)[component]));
  return b_.create<ir::GlobalOp>(loc_, type, root.storage, component, root.indices,
                                 storages_.no_activate[root.storage]);
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

mlir::Value Lowering::AddressAt(const Place& place, const Index& at) {
  if (!at.value) return AddressOf(place, at.number);
  Place element = place;
  element.index = at.value;
  return DynamicAddress(element);
}

// Whether the components from `first` on lie one behind the other. Asked for every
// access, so the run that each component is in is looked for once.
bool Lowering::IsContiguous(int storage, uint64_t first, uint64_t count) {
  if (auto ndarray = llvm::dyn_cast<ir::NdarrayAttr>(storages_.attributes[storage])) {
    return !ndarray.getSoa();
  }
  auto dense = llvm::dyn_cast<ir::DenseAttr>(storages_.attributes[storage]);
  auto tree = llvm::dyn_cast<ir::TreeFieldAttr>(storages_.attributes[storage]);
  // What holds the component, and where in it.
  const auto home = [&](uint64_t i) -> std::tuple<int64_t, int64_t, int64_t> {
    if (dense) return {0, dense.getComponentBase(i), dense.getComponentOffset(i)};
    return {tree.getComponentTree(i), tree.getComponentNode(i), tree.getComponentOffset(i)};
  };
  contiguous_.resize(storages_.attributes.size());
  std::vector<uint32_t>& run = contiguous_[storage];
  const mlir::ArrayAttr types = dense ? dense.getTypes() : tree.getTypes();
  for (uint64_t i = run.size(); i < types.size(); ++i) {
    auto type = llvm::cast<mlir::TypeAttr>(types[i]).getValue();
    const int64_t bytes = (type.getIntOrFloatBitWidth() + 7) / 8;
    bool follows = i > 0;
    if (follows) {
      auto before = home(i - 1);
      std::get<2>(before) += bytes;
      follows = home(i) == before;
    }
    run.push_back(follows ? run.back() : i);
  }
  return run[first] == run[first + count - 1];
}

// Whether the place's components have bases of which each has strides of its own.
bool Lowering::HasUnevenStrides(int storage, const Place& place) {
  auto dense = llvm::dyn_cast<ir::DenseAttr>(storages_.attributes[storage]);
  return dense && !dense.getBaseStrides().empty() &&
         dense.getComponentBase(place.first) !=
             dense.getComponentBase(place.first + place.count - 1);
}

mlir::Value Lowering::SelectedAddress(const Place& place) {
  mlir::Value chosen = StorageAddress(*place.root, place.first);
  for (uint64_t i = 1; i < place.count; ++i) {
    mlir::Value here =
        b_.create<mlir::arith::CmpIOp>(loc_, mlir::arith::CmpIPredicate::eq, place.index, Int32(i));
    chosen = b_.create<mlir::arith::SelectOp>(loc_, here,
                                              StorageAddress(*place.root, place.first + i), chosen);
  }
  return chosen;
}

mlir::Value Lowering::DynamicAddress(const Place& place) {
  const Root& root = *place.root;
  mlir::Value first;
  if (root.storage < 0) {
    for (const Root::Array& array : root.arrays) {
      if (array.first == place.first) first = array.address;
    }
    KILN_CHECK(first);
  } else if (IsContiguous(root.storage, place.first, place.count)) {
    first = StorageAddress(root, place.first);
  } else if (HasUnevenStrides(root.storage, place)) {
    return SelectedAddress(place);
  } else {
    mlir::Type type = ir::AddrType::get(context_, TypeOf((*root.scalars)[place.first]));
    return b_.create<ir::ComponentOp>(loc_, type, root.storage, place.first, place.count,
                                      place.index, root.indices);
  }
  return b_.create<ir::ElementOp>(loc_, first.getType(), first, place.index);
}

// In a tree: an index chooses among components that are no array.
bool Lowering::IsScattered(const Place& place) {
  const int storage = place.root->storage;
  return place.index && storage >= 0 &&
         llvm::isa<ir::TreeFieldAttr>(storages_.attributes[storage]) &&
         !IsContiguous(storage, place.first, place.count);
}

// Of scattered components each has a branch of its own: those not chosen must not become active.
mlir::Value Lowering::Access(const Place& place, const Index& at, mlir::Type type,
                             llvm::function_ref<mlir::Value(mlir::Value)> use) {
  Place element = place;
  if (at.value) element.index = at.value;
  if (!IsScattered(element)) return use(AddressAt(place, at));
  return UseOneOf(element, 0, place.count, type, [&](uint64_t number) {
    return use(StorageAddress(*place.root, place.first + number));
  });
}

mlir::Value Lowering::AccessPart(const Place& place, const Index& at, mlir::Type type,
                                 llvm::function_ref<mlir::Value(const Place&)> use) {
  const auto part = [&](uint64_t number) -> const Place& {
    return place.root->parts[place.first + number];
  };
  const Index chosen = InPlace(place, at);
  if (!chosen.value) return use(part(chosen.number));
  Place element = place;
  element.index = chosen.value;
  FlushWrites();  // outside of the branches; and within, what each of them writes
  return UseOneOf(element, 0, place.count, type, [&](uint64_t number) {
    mlir::Value value = use(part(number));
    FlushWrites();
    return value;
  });
}

mlir::Value Lowering::UseOneOf(const Place& place, uint64_t first, uint64_t count, mlir::Type type,
                               llvm::function_ref<mlir::Value(uint64_t)> use) {
  if (count == 1) return use(first);
  const uint64_t half = count / 2;
  mlir::Value low = b_.create<mlir::arith::CmpIOp>(loc_, mlir::arith::CmpIPredicate::ult,
                                                   place.index, Int32(first + half));
  auto branch = b_.create<ir::IfOp>(loc_, type ? mlir::TypeRange(type) : mlir::TypeRange(), low);
  mlir::OpBuilder::InsertionGuard guard(b_);
  const auto arm = [&](mlir::Region& region, uint64_t from, uint64_t of) {
    b_.setInsertionPointToStart(&region.emplaceBlock());
    mlir::Value value = UseOneOf(place, from, of, type, use);
    b_.create<ir::YieldOp>(loc_, value ? mlir::ValueRange(value) : mlir::ValueRange());
  };
  arm(branch.getThenRegion(), first, half);
  arm(branch.getElseRegion(), first + half, count - half);
  return type ? branch.getResult(0) : mlir::Value();
}

// --- Memory ------------------------------------------------------------------------

mlir::Value Lowering::LoadAt(const Place& place, const Index& at, Scalar scalar) {
  mlir::Type type = TypeOf(scalar);
  if (!place.root->parts.empty()) {
    return AccessPart(place, at, type, [&](const Place& part) { return LoadAt(part, {}, scalar); });
  }
  if (place.root->word != nullptr) return LoadNumber(place, InPlace(place, at));
  return Access(place, at, type, [&](mlir::Value address) -> mlir::Value {
    return b_.create<ir::LoadOp>(loc_, type, address);
  });
}

void Lowering::StoreAt(const Place& place, const Index& at, mlir::Value value) {
  if (!place.root->parts.empty()) {
    AccessPart(place, at, {}, [&](const Place& part) -> mlir::Value {
      StoreAt(part, {}, value);
      return {};
    });
    return;
  }
  if (place.root->word != nullptr) return StoreNumber(place, InPlace(place, at), value);
  Access(place, at, {}, [&](mlir::Value address) -> mlir::Value {
    b_.create<ir::StoreOp>(loc_, value, address);
    return {};
  });
}

// One value for each scalar of a place in a join. The numbers of a word are written at once.
void Lowering::StoreParts(const Place& place, llvm::ArrayRef<mlir::Value> values) {
  llvm::MapVector<const Root*, Written> words;
  for (uint64_t i = 0; i < values.size(); ++i) {
    const Place& part = place.root->parts[place.first + i];
    if (part.root->word == nullptr || part.index) {
      StoreAt(part, {}, values[i]);
      continue;
    }
    const auto& number = part.root->word->components(static_cast<int>(part.first));
    words[part.root].emplace_back(&number, values[i]);
  }
  const Scalar compute = (*place.root->scalars)[place.first];
  for (const auto& [root, written] : words) StoreNumbers(*root, compute, written);
}

Scalars Lowering::LoadPieces(TypeId id, const Place& place) {
  const Type& type = types_[id];
  Scalars out;
  if (type.IsStruct()) {
    Place member{place.root, place.first, 0, {}};
    for (const auto& [name, of] : type.members) {
      member.count = types_.NumScalars(of);
      out.append(LoadPieces(of, member));
      member.first += member.count;
    }
    return out;
  }
  const auto load = [&](const Index& at) { return LoadAt(place, at, type.scalar); };
  if (place.index) {
    out.push_back(load({}));
  } else if (IsLarge(type)) {
    out.push_back(NewArray(type.scalar, place.count));
    Repeat(place.count, [&](const Index& at) {
      mlir::Value value = load(at);
      b_.create<ir::StoreOp>(loc_, value, ElementOf(out[0], at));
    });
  } else {
    for (uint64_t i = 0; i < place.count; ++i) out.push_back(load({i, {}, {}, {}}));
  }
  return out;
}

// Takes from `pieces` what the place holds.
void Lowering::StorePieces(TypeId id, const Place& place, llvm::ArrayRef<mlir::Value>* pieces) {
  const Type& type = types_[id];
  const auto next = [pieces] {
    mlir::Value piece = pieces->front();
    *pieces = pieces->drop_front();
    return piece;
  };
  if (type.IsStruct()) {
    Place member{place.root, place.first, 0, {}};
    for (const auto& [name, of] : type.members) {
      member.count = types_.NumScalars(of);
      StorePieces(of, member, pieces);
      member.first += member.count;
    }
  } else if (place.index) {
    StoreAt(place, {}, next());
  } else if (!place.root->parts.empty() && !IsLarge(type)) {
    StoreParts(place, pieces->take_front(place.count));
    *pieces = pieces->drop_front(place.count);
  } else if (place.root->word != nullptr && !IsLarge(type)) {
    Written written;
    for (uint64_t i = 0; i < place.count; ++i) {
      const int number = static_cast<int>(place.first + i);
      written.emplace_back(&place.root->word->components(number), next());
    }
    StoreNumbers(*place.root, (*place.root->scalars)[place.first], written);
  } else if (IsLarge(type)) {
    mlir::Value from = next();
    Repeat(place.count, [&](const Index& at) { StoreAt(place, at, LoadFrom(from, at)); });
  } else {
    for (uint64_t i = 0; i < place.count; ++i) {
      b_.create<ir::StoreOp>(loc_, next(), AddressOf(place, i));
    }
  }
}

Scalars Lowering::Load(const Node& node) {
  return LoadPieces(node.type(), places_[node.operands(0)]);
}

// The checker has seen that the value is of the place's type.
void Lowering::StoreTo(const Place& place, TypeId type, uint32_t value) {
  if (IsLarge(types_[type])) return StoreTensor(place, value);
  if (deferred_[value]) values_[value] = Materialised(value);
  llvm::ArrayRef<mlir::Value> pieces = values_[value];
  StorePieces(type, place, &pieces);
}

void Lowering::Store(const Node& node) {
  const uint32_t value = node.operands(1);
  StoreTo(places_[node.operands(0)], function_.nodes(value).type(), value);
}

mlir::Value Lowering::AtomicAt(const Place& place, const Index& at, proto::Op op, Scalar scalar,
                               mlir::Value value) {
  mlir::Type type = TypeOf(scalar);
  if (!place.root->parts.empty()) {
    return AccessPart(place, at, type,
                      [&](const Place& part) { return AtomicAt(part, {}, op, scalar, value); });
  }
  if (place.root->word != nullptr) return AtomicNumber(place, InPlace(place, at), op, value);
  return Access(place, at, type, [&](mlir::Value address) -> mlir::Value {
    return b_.create<ir::AtomicOp>(loc_, type, KindOf(op, scalar), value, address);
  });
}

Scalars Lowering::Atomic(const Node& node) {
  const Place& place = places_[node.operands(0)];
  const Type& type = types_[node.type()];
  const auto atomic = [&](const Index& at) {
    return AtomicAt(place, at, node.op(), type.scalar, ElementAt(node.operands(1), at));
  };
  if (place.index) return {atomic({})};
  Scalars out;
  if (!IsLarge(type)) {
    for (uint64_t i = 0; i < place.count; ++i) {
      out.push_back(atomic({i, {}, {}, {}}));
    }
    return out;
  }
  // The old values only where somebody asks for them.
  if (deferred_[node.operands(1)]) SettlePicked(function_.nodes(node.operands(1)));
  if (ReadsElsewhere(node.operands(1), place, false)) Settle(node.operands(1));
  if (uses_[node_] > 0) out.push_back(NewArray(type.scalar, place.count));
  RepeatOver(type, HasPick(node.operands(1)), [&](const Index& at) {
    mlir::Value old = atomic(at);
    if (!out.empty()) b_.create<ir::StoreOp>(loc_, old, ElementOf(out[0], at));
  });
  return out;
}

}  // namespace kiln
