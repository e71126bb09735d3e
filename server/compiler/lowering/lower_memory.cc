#include "server/compiler/lowering/lower_memory.h"

#include "llvm/ADT/MapVector.h"
#include "server/compiler/lowering/addresses.h"
#include "server/compiler/lowering/arrays.h"
#include "server/compiler/lowering/large_tensors.h"
#include "server/compiler/lowering/pieces.h"
#include "server/compiler/lowering/quant_numbers.h"
#include "server/compiler/lowering/quant_writes.h"

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
    default:  // the check of the unit lets no other op pass
      return ir::AtomicKind::xori;
  }
}

// --- Joins -------------------------------------------------------------------------

// Emits `use` of the part that holds element `at` and returns its result, of `type`; null: it has
// none. A run-time index branches.
mlir::Value UsePart(LoweringContext& c, const Place& place, const Index& at, mlir::Type type,
                    llvm::function_ref<mlir::Value(const Place&)> use) {
  const auto part = [&](uint64_t number) -> const Place& {
    return place.root->parts[place.first + number];
  };
  const Index element = IndexWithin(place, at);
  if (!element.value) return use(part(element.number));
  c.writes->Flush();  // stores that wait belong before the branch
  return UseOneOf(c, element.value, place.count, type, [&](uint64_t number) {
    mlir::Value value = use(part(number));
    c.writes->Flush();  // in its branch
    return value;
  });
}

// Stores one value to each scalar of a place in a join. Numbers of one word are stored
// together, so that those that share an exponent get one that fits them all.
void StoreParts(LoweringContext& c, const Place& place, llvm::ArrayRef<mlir::Value> values) {
  llvm::MapVector<const Root*, WrittenNumbers> words;
  for (uint64_t i = 0; i < values.size(); ++i) {
    const Place& part = place.root->parts[place.first + i];
    // With a run-time index, the word is not known here: such a number is stored alone.
    if (part.root->InWord() && !part.index) {
      words[part.root].emplace_back(&NumberAt(part), values[i]);
    } else {
      StoreAt(c, part, {}, values[i]);
    }
  }
  const Scalar compute = (*place.root->scalars)[place.first];
  for (const auto& [root, written] : words) c.writes->Store(*root, compute, written);
}

// --- Pieces ------------------------------------------------------------------------

// Calls `visit` with the type and place of each member of a struct at a place.
void ForEachMember(const LoweringContext& c, const Type& type, const Place& place,
                   llvm::function_ref<void(TypeId, const Place&)> visit) {
  Place member{place.root, place.first, 0, {}};
  for (const auto& [name, of] : type.members) {
    // Members follow each other as scalars, nested ones included.
    member.count = c.types.NumScalars(of);
    visit(of, member);
    member.first += member.count;
  }
}

Scalars LoadPieces(LoweringContext& c, TypeId id, const Place& place) {
  const Type& type = c.types[id];
  Scalars out;
  if (type.IsStruct()) {
    ForEachMember(c, type, place,
                  [&](TypeId of, const Place& member) { out.append(LoadPieces(c, of, member)); });
  } else if (place.index) {
    // A run-time index selects one scalar of a tensor.
    out.push_back(LoadAt(c, place, {}, type.scalar));
  } else if (IsLarge(type)) {
    mlir::Value array = out.emplace_back(NewArray(c, type.scalar, place.count));
    Repeat(c, place.count,
           [&](const Index& at) { StoreInto(c, array, at, LoadAt(c, place, at, type.scalar)); });
  } else {
    for (uint64_t i = 0; i < place.count; ++i) {
      out.push_back(LoadAt(c, place, Index(i), type.scalar));
    }
  }
  return out;
}

// Stores a scalar, or a tensor that is not large.
void StoreScalars(LoweringContext& c, const Place& place, llvm::ArrayRef<mlir::Value> values) {
  const Root& root = *place.root;
  if (place.index) return StoreAt(c, place, {}, values[0]);
  if (root.IsJoin()) return StoreParts(c, place, values);
  if (root.InWord()) {
    WrittenNumbers written;
    for (uint64_t i = 0; i < values.size(); ++i) {
      written.emplace_back(&NumberAt(place, i), values[i]);
    }
    return c.writes->Store(root, (*root.scalars)[place.first], written);
  }
  for (uint64_t i = 0; i < values.size(); ++i) {
    c.Create<ir::StoreOp>(values[i], AddressOf(c, place, i));
  }
}

// Stores the first pieces, as many as the type has, and drops them from `pieces`.
void StorePieces(LoweringContext& c, TypeId id, const Place& place,
                 llvm::ArrayRef<mlir::Value>* pieces) {
  const Type& type = c.types[id];
  if (type.IsStruct()) {
    return ForEachMember(c, type, place, [&](TypeId of, const Place& member) {
      StorePieces(c, of, member, pieces);
    });
  }
  const bool is_array = IsLarge(type);
  // An array is one piece, its address; a run-time index selects one scalar.
  const uint64_t count = is_array || place.index ? 1 : place.count;
  const llvm::ArrayRef<mlir::Value> own = pieces->take_front(count);
  *pieces = pieces->drop_front(count);
  if (!is_array) return StoreScalars(c, place, own);
  Repeat(c, place.count, [&](const Index& at) { StoreAt(c, place, at, LoadFrom(c, own[0], at)); });
}

}  // namespace

// --- Scalars -----------------------------------------------------------------------

mlir::Value LoadAt(LoweringContext& c, const Place& place, const Index& at, Scalar scalar) {
  mlir::Type type = c.ValueTypeOf(scalar);
  if (place.root->IsJoin()) {
    return UsePart(c, place, at, type,
                   [&](const Place& part) { return LoadAt(c, part, {}, scalar); });
  }
  if (place.root->InWord()) return LoadNumber(c, place, IndexWithin(place, at));
  return UseAddress(c, place, at, type, [&](mlir::Value address) -> mlir::Value {
    return c.Create<ir::LoadOp>(type, address);
  });
}

void StoreAt(LoweringContext& c, const Place& place, const Index& at, mlir::Value value) {
  if (place.root->IsJoin()) {
    UsePart(c, place, at, {}, [&](const Place& part) -> mlir::Value {
      StoreAt(c, part, {}, value);
      return {};
    });
    return;
  }
  if (place.root->InWord()) return StoreNumber(c, place, IndexWithin(place, at), value);
  UseAddress(c, place, at, {}, [&](mlir::Value address) -> mlir::Value {
    c.Create<ir::StoreOp>(value, address);
    return {};
  });
}

mlir::Value AtomicAt(LoweringContext& c, const Place& place, const Index& at, proto::Op op,
                     Scalar scalar, mlir::Value value) {
  mlir::Type type = c.ValueTypeOf(scalar);
  if (place.root->IsJoin()) {
    return UsePart(c, place, at, type,
                   [&](const Place& part) { return AtomicAt(c, part, {}, op, scalar, value); });
  }
  if (place.root->InWord()) return AtomicNumber(c, place, IndexWithin(place, at), op, value);
  return UseAddress(c, place, at, type, [&](mlir::Value address) -> mlir::Value {
    return c.Create<ir::AtomicOp>(type, KindOf(op, scalar), value, address);
  });
}

// --- Nodes -------------------------------------------------------------------------

void StoreTo(LoweringContext& c, const Place& place, TypeId type, NodeId value) {
  if (IsLarge(c.types[type])) return StoreTensor(c, place, value);
  llvm::ArrayRef<mlir::Value> pieces = c.tensors->Value(value);
  StorePieces(c, type, place, &pieces);
}

Scalars Lower(LoweringContext& c, LoadNode node) {
  return LoadPieces(c, node.type(), c.places[node.address()]);
}

void Lower(LoweringContext& c, StoreNode node) {
  StoreTo(c, c.places[node.address()], c.TypeIdOf(node.value()), node.value());
}

Scalars Lower(LoweringContext& c, AtomicNode node) {
  const Place& place = c.places[node.address()];
  const Type& type = c.TypeOf(node.id());
  const auto atomic = [&](const Index& at) {
    return AtomicAt(c, place, at, node.op(), type.scalar, c.tensors->Element(node.value(), at));
  };
  if (place.index) return {atomic({})};
  Scalars out;
  if (!IsLarge(type)) {
    for (uint64_t i = 0; i < place.count; ++i) out.push_back(atomic(Index(i)));
    return out;
  }
  // A large tensor: a loop. The old values get an array only if something uses them.
  c.tensors->Prepare(node.value(), place);
  const bool keeps_old = c.tensors->IsUsed(node.id());
  if (keeps_old) out.push_back(NewArray(c, type.scalar, place.count));
  RepeatOver(c, type, c.tensors->GoesByRows(node.value()), [&](const Index& at) {
    mlir::Value old = atomic(at);
    if (keeps_old) StoreInto(c, out[0], at, old);
  });
  return out;
}

}  // namespace kiln
