#include "server/compiler/lowering/lanes.h"

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "common/base/check.h"
#include "common/layout/layout.h"
#include "llvm/Support/MathExtras.h"
#include "server/compiler/lowering/addresses.h"
#include "server/compiler/lowering/lane_arithmetic.h"
#include "server/compiler/lowering/lower_block.h"
#include "server/compiler/lowering/quant_words.h"

namespace kiln {

namespace {

// The body of one loop. Each function that may find what lanes cannot run returns false or nothing
// then, and the whole body is given up.
class Lanes {
 public:
  // `words`: the indices of the word.
  Lanes(LoweringContext& c, StructForNode loop, int storage, Scalars words)
      : c_(c),
        loop_(loop.id()),
        storage_(storage),
        words_(std::move(words)),
        axis_(LaneAxis(storage)),
        math_(c, c.storages.BitArray(storage)->word().bits()) {}

  // Emits the block's code at the builder's place; false: there is none.
  bool LowerBlock(BlockId block);

 private:
  // An index into a field: one of the loop's (axis -1: none) plus a number.
  struct At {
    int axis = -1;
    int64_t number = 0;
  };

  bool Lower(NodeId id);
  std::optional<At> IndexOf(NodeId id) const;
  std::optional<At> Sum(BinaryNode node) const;

  std::optional<LaneNumber> Value(NodeId id);
  // An operand as a number of the type.
  std::optional<LaneNumber> Operand(NodeId id, Scalar to);
  std::optional<LaneNumber> Operand(NodeId id) { return Operand(id, c_.ScalarOf(id)); }
  std::optional<LaneNumber> Load(LoadNode node);
  std::optional<LaneNumber> Binary(BinaryNode node);
  std::optional<LaneNumber> Select(TernaryNode node);
  std::optional<LaneNumber> Choose(ChooseNode node);

  bool Local(LocalNode node);
  bool Global(GlobalNode node);
  bool Store(StoreNode node);
  bool Atomic(AtomicNode node);
  bool AtomicOnCell(AtomicNode node, GlobalNode cell, const LaneNumber& number);
  bool AddToOther(AtomicNode node, const LaneNumber& number);

  // The axis of a bit array along which its words hold cells.
  int LaneAxis(int storage) const {
    return static_cast<int>(c_.storages.BitArray(storage)->word().digits(0).axis());
  }
  // How many lanes beyond the lane's own the cell is; nothing: it is not among such cells.
  std::optional<int64_t> Distance(GlobalNode cell) const;
  std::optional<int64_t> DistanceOf(NodeId address) const;
  // Whether the rest of the compiler reaches the cell, by indices that are no lanes'.
  bool IsPlain(GlobalNode cell) const;
  // The address of the word so many words beyond the loop's.
  mlir::Value Address(GlobalNode cell, int64_t word);
  // The bits of the cells at a distance, a lane's each.
  mlir::Value LoadLanes(GlobalNode cell, int64_t distance);
  bool IsSigned(GlobalNode cell) const {
    const proto::Storage* of = c_.storages.BitArray(c_.storages.Of(cell.param()));
    return of->word().components(0).quant().is_signed();
  }
  GlobalNode AsGlobal(NodeId id) const { return GlobalNode(id, c_.node(id)); }

  LoweringContext& c_;
  const NodeId loop_;
  const int storage_;
  const Scalars words_;
  const int axis_;  // LaneAxis of the loop's storage
  LaneArithmetic math_;
  bool may_be_skipped_ = false;  // in an arm of a choice, which must have no effects
  std::optional<LaneNumber> yielded_;
  // By node. Constants are in none of them: they are read where they are used.
  absl::flat_hash_map<NodeId, At> indices_;
  absl::flat_hash_map<NodeId, LaneNumber> values_;
  absl::flat_hash_map<NodeId, LaneNumber> locals_;  // what they hold now
};

// --- Cells -------------------------------------------------------------------------

std::optional<int64_t> Lanes::Distance(GlobalNode cell) const {
  const int storage = c_.storages.Of(cell.param());
  const proto::Storage* of = c_.storages.BitArray(storage);
  // Words of another width hold other numbers of cells, so its lanes are not ours.
  if (of == nullptr || of->word().bits() != math_.type().getWidth()) return std::nullopt;
  const int axis = LaneAxis(storage);
  std::optional<int64_t> distance;
  for (int i = 0; i < static_cast<int>(cell.indices().size()); ++i) {
    const auto at = indices_.find(cell.indices()[i]);
    // The lanes' index runs along the words, and only there.
    if (at == indices_.end() || (i == axis) != (at->second.axis == axis_)) return std::nullopt;
    if (i != axis) continue;
    // Both indices count from their field's offset; lanes count physical cells.
    distance = at->second.number + c_.storages.AxisOffset(storage_, axis_) -
               c_.storages.AxisOffset(storage, axis);
  }
  return distance;
}

std::optional<int64_t> Lanes::DistanceOf(NodeId address) const {
  if (c_.node(address).kind() != proto::GLOBAL) return std::nullopt;
  return Distance(AsGlobal(address));
}

bool Lanes::IsPlain(GlobalNode cell) const {
  return llvm::all_of(cell.indices(), [&](NodeId id) {
    const auto at = indices_.find(id);
    // An index that differs by lane would need one address for each lane.
    const bool varies = at != indices_.end() ? at->second.axis >= 0 : values_.count(id) > 0;
    return !varies && !c_.values[id].empty();
  });
}

mlir::Value Lanes::Address(GlobalNode cell, int64_t word) {
  Root root;
  root.storage = c_.storages.Of(cell.param());
  root.word = &c_.storages.BitArray(root.storage)->word();
  const int axis = LaneAxis(root.storage);
  for (int i = 0; i < static_cast<int>(cell.indices().size()); ++i) {
    const At& at = indices_.find(cell.indices()[i])->second;
    int64_t number = word;
    if (i != axis) {
      number = at.number - c_.storages.AxisOffset(root.storage, i);
      if (at.axis >= 0) number += c_.storages.AxisOffset(storage_, at.axis);
    }
    // Along the lanes' axis, the index is the word's number; along the others, the loop's own.
    mlir::Value index = at.axis < 0 ? c_.Int32(number) : words_[at.axis];
    if (at.axis >= 0 && number != 0) index = c_.Add(index, c_.Int32(number));
    root.indices.push_back(index);
  }
  return WordAddress(c_, root);
}

// Of one word, or the upper part of one and the lower part of the next.
mlir::Value Lanes::LoadLanes(GlobalNode cell, int64_t distance) {
  const int64_t bits = math_.type().getWidth();
  // Rounded down, so that `rest` is never negative: the cell before the first one is the last lane
  // of the word before.
  const int64_t words = llvm::divideFloorSigned(distance, bits), rest = distance - words * bits;
  const auto load = [&](int64_t word) -> mlir::Value {
    return c_.Create<ir::LoadOp>(math_.type(), Address(cell, word));
  };
  mlir::Value low = load(words);
  if (rest == 0) return low;
  low = c_.Create<mlir::arith::ShRUIOp>(low, c_.Int(math_.type(), rest));
  // `rest` is not 0 here: a shift by the width would be poison.
  mlir::Value up = c_.Int(math_.type(), bits - rest);
  mlir::Value high = c_.Create<mlir::arith::ShLIOp>(load(words + 1), up);
  return math_.Or(low, high);
}

// --- Indices -----------------------------------------------------------------------

std::optional<Lanes::At> Lanes::Sum(BinaryNode node) const {
  const bool subtracts = node.op() == proto::OP_SUB;
  if (!subtracts && node.op() != proto::OP_ADD) return std::nullopt;
  const auto a = indices_.find(node.left()), b = indices_.find(node.right());
  if (a == indices_.end() || b == indices_.end()) return std::nullopt;
  const At &left = a->second, &right = b->second;
  // One loop index at most, with factor 1. Sums of two and negated ones are no distances.
  if (right.axis >= 0 && (left.axis >= 0 || subtracts)) return std::nullopt;
  return At{std::max(left.axis, right.axis),
            left.number + (subtracts ? -right.number : right.number)};
}

std::optional<Lanes::At> Lanes::IndexOf(NodeId id) const {
  const proto::Node& node = c_.node(id);
  switch (node.kind()) {
    case proto::LOOP_INDEX: {
      const LoopIndexNode index(id, node);
      if (index.loop() != loop_) return std::nullopt;
      return At{static_cast<int>(index.dimension()), 0};
    }
    case proto::CONST:
      // Indices are i32. A constant of another type would be cast first.
      if (c_.ScalarOf(id) != proto::I32) return std::nullopt;
      return At{-1, static_cast<int32_t>(ConstNode(id, node).bits())};
    case proto::BINARY:
      return Sum(BinaryNode(id, node));
    default:
      return std::nullopt;
  }
}

// --- Values ------------------------------------------------------------------------

std::optional<LaneNumber> Lanes::Operand(NodeId id, Scalar to) {
  std::optional<LaneNumber> number;
  if (const auto known = values_.find(id); known != values_.end()) {
    number = known->second;
  } else if (c_.node(id).kind() == proto::CONST) {
    number = math_.Constant(c_.ScalarOf(id), ConstNode(id, c_.node(id)).bits());
  }
  if (!number || (!IsInt(to) && to != proto::U1)) return std::nullopt;
  // A cast to bool asks whether any bit is set; it does not keep the lowest.
  if (to == proto::U1) return math_.Bit(math_.Truth(*number));
  // A signed row of planes of an unsigned type is right modulo the type's range only: it cannot be
  // widened.
  const Scalar from = c_.ScalarOf(id);
  if (number->is_signed && !IsSignedInt(from) && ScalarBits(to) > ScalarBits(from)) {
    return std::nullopt;
  }
  return math_.Limited(std::move(*number), to);
}

std::optional<LaneNumber> Lanes::Load(LoadNode node) {
  const NodeId from = node.address();
  // Locals first: their addresses are no cells.
  if (const auto local = locals_.find(from); local != locals_.end()) return local->second;
  const std::optional<int64_t> distance = DistanceOf(from);
  if (!distance) return std::nullopt;
  const GlobalNode cell = AsGlobal(from);
  return LaneNumber{{LoadLanes(cell, *distance)}, IsSigned(cell)};
}

std::optional<LaneNumber> Lanes::Binary(BinaryNode node) {
  // The builder has given both operands one type.
  const Scalar of = c_.ScalarOf(node.left());
  const std::optional<LaneNumber> x = Operand(node.left(), of), y = Operand(node.right(), of);
  if (!x || !y) return std::nullopt;
  return math_.Binary(node.op(), of, *x, *y);
}

std::optional<LaneNumber> Lanes::Select(TernaryNode node) {
  const Scalar to = c_.ScalarOf(node.id());
  if (node.op() != proto::OP_SELECT) return std::nullopt;
  const std::optional<LaneNumber> condition = Operand(node.condition(), proto::U1),
                                  x = Operand(node.if_true(), to), y = Operand(node.if_false(), to);
  if (!condition || !x || !y) return std::nullopt;
  return math_.Limited(math_.Select(condition->planes[0], *x, *y), to);
}

// Runs both arms, which have no effects, and selects.
std::optional<LaneNumber> Lanes::Choose(ChooseNode node) {
  const Scalar to = c_.ScalarOf(node.id());
  const std::optional<LaneNumber> condition = Operand(node.condition(), proto::U1);
  if (!condition) return std::nullopt;
  const auto arm = [&](BlockId block) -> std::optional<LaneNumber> {
    if (!LowerBlock(block)) return std::nullopt;
    return std::exchange(yielded_, std::nullopt);
  };
  // Restored afterwards: a choice within an arm leaves the arm skippable.
  const bool outer = std::exchange(may_be_skipped_, true);
  const std::optional<LaneNumber> x = arm(node.then_block());
  const std::optional<LaneNumber> y = x ? arm(node.else_block()) : std::nullopt;
  may_be_skipped_ = outer;
  if (!x || !y) return std::nullopt;
  return math_.Limited(math_.Select(condition->planes[0], *x, *y), to);
}

std::optional<LaneNumber> Lanes::Value(NodeId id) {
  const proto::Node& node = c_.node(id);
  if (!c_.TypeOf(id).IsScalar()) return std::nullopt;
  switch (node.kind()) {
    case proto::LOAD:
      return Load(LoadNode(id, node));
    case proto::CAST_TO:
      // Between types of equal width it would be the identity here, but floats have no planes.
      if (node.op() == proto::OP_BIT_CAST) return std::nullopt;
      return Operand(CastToNode(id, node).value(), c_.ScalarOf(id));
    case proto::UNARY: {
      const NodeId of = UnaryNode(id, node).value();
      const std::optional<LaneNumber> x = Operand(of);
      if (!x) return std::nullopt;
      return math_.Unary(node.op(), c_.ScalarOf(of), *x);
    }
    case proto::BINARY:
      return Binary(BinaryNode(id, node));
    case proto::TERNARY:
      return Select(TernaryNode(id, node));
    case proto::CHOOSE:
      return Choose(ChooseNode(id, node));
    default:
      return std::nullopt;
  }
}

// --- Memory ------------------------------------------------------------------------

// A local is what was stored to it last: the body is a straight line.
bool Lanes::Local(LocalNode node) {
  if (!c_.TypeOf(node.id()).IsScalar()) return false;
  LaneNumber initial;
  if (node.initial()) {
    const std::optional<LaneNumber> given = Operand(node.initial(), c_.ScalarOf(node.id()));
    if (!given) return false;
    initial = *given;
  }
  locals_[node.id()] = initial;
  return true;
}

bool Lanes::Global(GlobalNode node) {
  // A cell of a lane needs no code before its use: loads and stores make the address themselves.
  if (Distance(node)) return true;
  if (!IsPlain(node)) return false;
  LowerNode(c_, node.id());
  return true;
}

bool Lanes::Store(StoreNode node) {
  const std::optional<LaneNumber> number = Operand(node.value());
  if (!number || may_be_skipped_) return false;
  if (const auto local = locals_.find(node.address()); local != locals_.end()) {
    local->second = *number;
    return true;
  }
  // A store to a neighbour's cell would be a store to two words, and to lanes of other iterations.
  if (DistanceOf(node.address()) != int64_t{0}) return false;
  c_.Create<ir::StoreOp>(math_.Plane(*number, 0), Address(AsGlobal(node.address()), 0));
  return true;
}

bool Lanes::Atomic(AtomicNode node) {
  const NodeId to = node.address();
  const Scalar scalar = c_.ScalarOf(node.id());
  const std::optional<LaneNumber> number = Operand(node.value(), scalar);
  if (!number || may_be_skipped_) return false;
  if (const auto local = locals_.find(to); local != locals_.end()) {
    std::optional<LaneNumber> made =
        math_.Binary(AtomicCombiner(node.op()), scalar, local->second, *number);
    if (!made) return false;
    // The value of an atomic op is what was there before.
    values_[node.id()] = std::exchange(local->second, std::move(*made));
    return true;
  }
  // A local from outside of the loop, or a cell.
  if (c_.node(to).kind() == proto::LOCAL) return AddToOther(node, *number);
  if (c_.node(to).kind() != proto::GLOBAL) return false;
  if (DistanceOf(to) == int64_t{0}) return AtomicOnCell(node, AsGlobal(to), *number);
  return IsPlain(AsGlobal(to)) && AddToOther(node, *number);
}

// Other threads may write to the word's cells, so it is one atomic op on the word.
bool Lanes::AtomicOnCell(AtomicNode node, GlobalNode cell, const LaneNumber& number) {
  ir::AtomicKind kind = ir::AtomicKind::xori;
  switch (node.op()) {
    case proto::OP_ATOMIC_ADD:
    case proto::OP_ATOMIC_SUB:
    case proto::OP_ATOMIC_XOR:
      break;  // the lowest bit of sums and differences, too
    case proto::OP_ATOMIC_AND:
      kind = ir::AtomicKind::andi;
      break;
    case proto::OP_ATOMIC_OR:
      kind = ir::AtomicKind::ori;
      break;
    default:
      return false;
  }
  mlir::Value address = Address(cell, 0);
  mlir::Value old = c_.Create<ir::AtomicOp>(math_.type(), kind, math_.Plane(number, 0), address);
  values_[node.id()] = LaneNumber{{old}, IsSigned(cell)};
  return true;
}

// Memory that all lanes share gets the sum of their numbers. The node then has no value: a body
// that reads the old one does not qualify.
bool Lanes::AddToOther(AtomicNode node, const LaneNumber& number) {
  const Place& place = c_.places[node.address()];
  const Scalar scalar = c_.ScalarOf(node.id());
  const bool adds = node.op() == proto::OP_ATOMIC_ADD;
  if ((!adds && node.op() != proto::OP_ATOMIC_SUB) || !IsInt(scalar) || place.root == nullptr ||
      place.root->InWord() || place.root->IsJoin() || place.count != 1 || place.index) {
    return false;
  }
  mlir::Type type = c_.ValueTypeOf(scalar);
  mlir::Value sum = math_.SumOfLanes(number, type);
  c_.Create<ir::AtomicOp>(type, adds ? ir::AtomicKind::addi : ir::AtomicKind::subi, sum,
                          AddressOf(c_, place));
  return true;
}

// --- Nodes -------------------------------------------------------------------------

bool Lanes::Lower(NodeId id) {
  const proto::Node& node = c_.node(id);
  switch (node.kind()) {
    case proto::CONST:
      LowerNode(c_, id);  // plain cells take it as an index
      break;
    case proto::GLOBAL:
      return Global(GlobalNode(id, node));
    case proto::LOCAL:
      return Local(LocalNode(id, node));
    case proto::STORE:
      return Store(StoreNode(id, node));
    case proto::ATOMIC:
      return Atomic(AtomicNode(id, node));
    case proto::YIELD:
      yielded_ = Operand(YieldNode(id, node).value());
      return yielded_.has_value();
    default:
      break;
  }
  // What may be an index is not computed as a number of lanes, too.
  // A loop index as a number would take a different value in each lane: 32 planes for nothing.
  const std::optional<At> index = IndexOf(id);
  if (index) indices_[id] = *index;
  if (index || node.kind() == proto::CONST) return true;
  std::optional<LaneNumber> value = Value(id);
  if (!value) return false;
  values_[id] = std::move(*value);
  return true;
}

bool Lanes::LowerBlock(BlockId block) {
  for (const NodeId id : NodesIn(c_.function, block)) {
    const AtNode here(c_, id);
    if (!Lower(id)) return false;
  }
  return true;
}

}  // namespace

bool CanRunByLanes(LoweringContext& c, StructForNode loop, int storage) {
  const proto::LoopConfig& config = c.ConfigOf(static_cast<uint64_t>(loop.config()));
  // Bounds checks report one iteration, and lanes run a word's iterations at once.
  if (!config.bit_vectorize() || !c.IsParallel(config) || c.ChecksBounds() ||
      c.storages.BitArray(storage) == nullptr) {
    return false;
  }
  // It can if lowering succeeds, so that is tried, in a block that is dropped.
  // Dropped with all that was emitted into it. Trying twice is simpler than a second analysis that
  // would have to agree with the lowering.
  mlir::Block nowhere;
  Scalars words;
  for (uint32_t i = 0; i < kMaxIndices; ++i) {
    words.push_back(nowhere.addArgument(c.b.getI32Type(), c.loc));
  }
  mlir::OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToStart(&nowhere);
  return Lanes(c, loop, storage, std::move(words)).LowerBlock(loop.body());
}

void LowerByLanes(LoweringContext& c, StructForNode loop, int storage, const Scalars& words) {
  const bool lowered = Lanes(c, loop, storage, words).LowerBlock(loop.body());
  KILN_CHECK(lowered) << "a body that lanes cannot run";
}

}  // namespace kiln
