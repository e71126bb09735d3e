// Loops with `bit_vectorize` over quant arrays of single bits, a word at a time.
//
//   for i in x:                       for each word w of x:
//       n = x[i - 1] + x[i + 1]           a = x.w << 1 | x.(w - 1) >> 31
//       y[i] = n == 2                     b = x.w >> 1 | x.(w + 1) << 31
//                                         y.w = a & b
//
// A number of the body is a row of words: word k holds bit k of it for each iteration of a
// word (a lane), so that sums are adders made of bit-wise operations. Bodies that are
// straight lines of integer arithmetic over such bits are lowered so; all others go bit by bit
// (lower_quant.cc). Updates of other memory add up the ones of each word.
#include <algorithm>
#include <optional>

#include "common/base/check.h"
#include "common/language/op_table.h"
#include "common/language/type_rules.h"
#include "common/layout/layout.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "server/compiler/lowering/lowering.h"

namespace kiln {

namespace arith = mlir::arith;

namespace {

// Beyond this, numbers cost more by words than one by one.
constexpr size_t kMostPlanes = 16;

}  // namespace

class Lowering::Lanes {
 public:
  // Of the loop over the storage: its node, and what numbers the words, by index.
  Lanes(Lowering* lowering, int storage, uint32_t loop, Scalars words)
      : l_(*lowering), b_(lowering->b_), storage_(storage), loop_(loop), words_(std::move(words)) {
    const proto::Word& word = BitsOf(storage)->word();
    axis_ = static_cast<int>(word.digits(0).axis());
    type_ = b_.getIntegerType(word.bits());
    zero_ = l_.Int(type_, 0);
    ones_ = l_.Int(type_, -1);
  }

  // Makes the block's code at the builder's place; false where the block is none for it.
  bool Lower(uint32_t block);

  // The storage, if it is a quant array of single bits along one axis that fills its words.
  const proto::Storage* BitsOf(int storage) const { return l_.BitsOf(storage); }

 private:
  // Of each lane a number: bit k in word k; above the last all zeros, or copies of the last.
  struct Number {
    llvm::SmallVector<mlir::Value, 4> planes;
    bool is_signed = false;
  };
  // One of the loop's indices (-1: none), and a number.
  struct At {
    int axis = -1;
    int64_t number = 0;
  };

  bool LowerNode(uint32_t id);
  bool IsPlain(const Node& node) const;
  std::optional<At> IndexOf(const Node& node) const;
  std::optional<Number> Value(const Node& node);
  std::optional<Number> Constant(uint32_t id) const;
  std::optional<Number> Load(const Node& node);
  std::optional<Number> Unary(const Node& node);
  std::optional<Number> Binary(const Node& node);
  std::optional<Number> Select(const Node& node);
  std::optional<Number> Choose(const Node& node);
  std::optional<Number> Combine(proto::Op op, Scalar of, const Number& x, const Number& y);
  std::optional<Number> Operand(const Node& node, int i, Scalar to);
  bool Store(const Node& node);
  bool Atomic(const Node& node);
  bool AddOnes(const Node& node, const Place& place, const Number& number);

  std::optional<Number> Limited(Number number, Scalar scalar);
  std::optional<int64_t> Distance(const Node& place) const;
  mlir::Value Address(const Node& place, int64_t word);
  mlir::Value LoadWord(const Node& place, int64_t distance);

  // What folds is one of the two constants or an operand.
  template <typename Op>
  mlir::Value Make(mlir::Value x, mlir::Value y) {
    if (x == zero_ || x == ones_) std::swap(x, y);
    mlir::Value made = b_.createOrFold<Op>(l_.loc_, x, y);
    llvm::APInt constant;
    if (!mlir::matchPattern(made, mlir::m_ConstantInt(&constant))) return made;
    return constant.isZero() ? zero_ : ones_;
  }
  mlir::Value And(mlir::Value x, mlir::Value y) { return Make<arith::AndIOp>(x, y); }
  mlir::Value Or(mlir::Value x, mlir::Value y) { return Make<arith::OrIOp>(x, y); }
  mlir::Value Xor(mlir::Value x, mlir::Value y) { return Make<arith::XOrIOp>(x, y); }
  mlir::Value Not(mlir::Value x) { return Xor(x, ones_); }
  mlir::Value Plane(const Number& x, size_t k) const {
    if (k < x.planes.size()) return x.planes[k];
    return x.is_signed ? x.planes.back() : zero_;
  }
  mlir::Value Truth(const Number& x) {
    mlir::Value any = zero_;
    for (mlir::Value plane : x.planes) any = Or(any, plane);
    return any;
  }
  Number Bit(mlir::Value plane) { return {{plane}, false}; }
  Number Add(const Number& x, const Number& y, bool subtracts);
  Number Mux(mlir::Value condition, const Number& x, const Number& y);
  mlir::Value Less(const Number& x, const Number& y) { return Add(x, y, true).planes.back(); }

  Lowering& l_;
  mlir::OpBuilder& b_;
  int storage_;
  uint32_t loop_;
  Scalars words_;
  int axis_;  // of the loop's indices, along which words hold the lanes
  mlir::Type type_;
  mlir::Value zero_, ones_;
  bool pure_ = false;  // in a block that may not be chosen
  std::optional<Number> yielded_;
  llvm::DenseMap<uint32_t, At> indices_;     // by node
  llvm::DenseMap<uint32_t, Number> values_;  // by node
  llvm::DenseMap<uint32_t, Number> locals_;  // by node: what they hold now
};

const proto::Storage* Lowering::BitsOf(int storage) const {
  const proto::Storage* of = storages_.quant_arrays[storage];
  if (of == nullptr || of->word().digits_size() != 1) return nullptr;
  const proto::Word& word = of->word();
  const proto::QuantType& quant = word.components(0).quant();
  const bool full = quant.kind() == proto::QuantType::QUANT_INT && quant.bits() == 1 &&
                    word.components_size() == 1 && word.digits(0).extent() == word.bits();
  return full ? of : nullptr;
}

// --- Numbers -----------------------------------------------------------------------

// As many planes as the type has bits hold every number of it.
std::optional<Lowering::Lanes::Number> Lowering::Lanes::Limited(Number number, Scalar scalar) {
  const auto bits = static_cast<size_t>(ScalarBits(scalar));
  if (number.planes.size() >= bits) {
    number.planes.resize(bits);
    number.is_signed = IsSignedInt(scalar);
  }
  while (!number.is_signed && !number.planes.empty() && number.planes.back() == zero_) {
    number.planes.pop_back();
  }
  if (number.planes.size() > kMostPlanes) return std::nullopt;
  return number;
}

// A plane more than either has, so that nothing is lost.
Lowering::Lanes::Number Lowering::Lanes::Add(const Number& x, const Number& y, bool subtracts) {
  Number sum;
  sum.is_signed = subtracts || x.is_signed || y.is_signed;
  const bool mixed = sum.is_signed && (!x.is_signed || !y.is_signed);
  const size_t planes = std::max(x.planes.size(), y.planes.size()) + 1 + (mixed ? 1 : 0);
  mlir::Value carry = subtracts ? ones_ : zero_;
  for (size_t k = 0; k < planes; ++k) {
    mlir::Value a = Plane(x, k), b = Plane(y, k);
    if (subtracts) b = Not(b);
    mlir::Value half = Xor(a, b);
    sum.planes.push_back(Xor(half, carry));
    carry = Or(And(a, b), And(half, carry));
  }
  return sum;
}

Lowering::Lanes::Number Lowering::Lanes::Mux(mlir::Value condition, const Number& x,
                                             const Number& y) {
  Number chosen;
  chosen.is_signed = x.is_signed || y.is_signed;
  const size_t planes =
      std::max(x.planes.size(), y.planes.size()) + (x.is_signed != y.is_signed ? 1 : 0);
  for (size_t k = 0; k < planes; ++k) {
    chosen.planes.push_back(Or(And(condition, Plane(x, k)), And(Not(condition), Plane(y, k))));
  }
  return chosen;
}

// --- Places ------------------------------------------------------------------------

// Not of the loop's: the kernel's code reaches it as it does elsewhere.
bool Lowering::Lanes::IsPlain(const Node& node) const {
  return std::all_of(node.operands().begin(), node.operands().end(), [&](uint32_t id) {
    const auto at = indices_.find(id);
    return at != indices_.end() ? at->second.axis < 0 && !l_.values_[id].empty()
                                : values_.count(id) == 0 && !l_.values_[id].empty();
  });
}

// How many lanes further on an element lies than the loop's own; nothing: elsewhere.
std::optional<int64_t> Lowering::Lanes::Distance(const Node& place) const {
  const int storage = l_.storages_.of_param[place.index()];
  const proto::Storage* of = BitsOf(storage);
  if (of == nullptr || of->word().bits() != type_.getIntOrFloatBitWidth()) return std::nullopt;
  const int axis = static_cast<int>(of->word().digits(0).axis());
  std::optional<int64_t> distance;
  for (int i = 0; i < place.operands_size(); ++i) {
    const auto at = indices_.find(place.operands(i));
    if (at == indices_.end() || (i == axis) != (at->second.axis == axis_)) return std::nullopt;
    if (i != axis) continue;
    distance = at->second.number + l_.AxisOffset(storage_, axis_) - l_.AxisOffset(storage, axis);
  }
  return distance;
}

// Of the word so many words on from the loop's own.
mlir::Value Lowering::Lanes::Address(const Node& place, int64_t word) {
  Root root;
  root.storage = l_.storages_.of_param[place.index()];
  root.word = &BitsOf(root.storage)->word();
  const int axis = static_cast<int>(root.word->digits(0).axis());
  for (int i = 0; i < place.operands_size(); ++i) {
    const At& at = indices_.find(place.operands(i))->second;
    int64_t number = word;
    if (i != axis) {
      number = at.number - l_.AxisOffset(root.storage, i);
      if (at.axis >= 0) number += l_.AxisOffset(storage_, at.axis);
    }
    mlir::Value index = at.axis < 0 ? l_.Int32(number) : words_[at.axis];
    if (at.axis >= 0 && number != 0) {
      index = b_.create<arith::AddIOp>(l_.loc_, index, l_.Int32(number));
    }
    root.indices.push_back(index);
  }
  return l_.WordAddress(root);
}

// The lanes of elements at a distance: of one word, or parts of two.
mlir::Value Lowering::Lanes::LoadWord(const Node& place, int64_t distance) {
  const int64_t bits = type_.getIntOrFloatBitWidth();
  const int64_t words = llvm::divideFloorSigned(distance, bits), rest = distance - words * bits;
  const auto load = [&](int64_t word) -> mlir::Value {
    return b_.create<ir::LoadOp>(l_.loc_, type_, Address(place, word));
  };
  mlir::Value low = load(words);
  if (rest == 0) return low;
  low = b_.create<arith::ShRUIOp>(l_.loc_, low, l_.Int(type_, rest));
  mlir::Value high = b_.create<arith::ShLIOp>(l_.loc_, load(words + 1), l_.Int(type_, bits - rest));
  return Or(low, high);
}

// --- Nodes -------------------------------------------------------------------------

std::optional<Lowering::Lanes::At> Lowering::Lanes::IndexOf(const Node& node) const {
  const auto operand = [&](int i) { return indices_.find(node.operands(i)); };
  switch (node.kind()) {
    case proto::LOOP_INDEX:
      if (node.operands(0) != loop_) return std::nullopt;
      return At{static_cast<int>(node.index()), 0};
    case proto::CONST:
      if (l_.types_[node.type()].scalar != proto::I32) return std::nullopt;
      return At{-1, static_cast<int32_t>(node.index())};
    case proto::BINARY: {
      const bool subtracts = node.op() == proto::OP_SUB;
      if (!subtracts && node.op() != proto::OP_ADD) return std::nullopt;
      const auto a = operand(0), b = operand(1);
      if (a == indices_.end() || b == indices_.end()) return std::nullopt;
      if (b->second.axis >= 0 && (a->second.axis >= 0 || subtracts)) return std::nullopt;
      const int64_t number = subtracts ? -b->second.number : b->second.number;
      return At{std::max(a->second.axis, b->second.axis), a->second.number + number};
    }
    default:
      return std::nullopt;
  }
}

std::optional<Lowering::Lanes::Number> Lowering::Lanes::Constant(uint32_t id) const {
  const Node& node = l_.function_.nodes(id);
  const Scalar scalar = l_.types_[node.type()].scalar;
  if (node.kind() != proto::CONST || (!IsInt(scalar) && scalar != proto::U1)) return std::nullopt;
  const int unused = 64 - ScalarBits(scalar);
  const uint64_t bits = node.index() << unused;
  const bool negative = IsSignedInt(scalar) && (bits >> 63) != 0;
  const uint64_t value =
      negative ? static_cast<uint64_t>(static_cast<int64_t>(bits) >> unused) : bits >> unused;
  Number number;
  number.is_signed = negative;
  const uint64_t left = negative ? ~value : value;
  const size_t planes = (left == 0 ? 0 : llvm::Log2_64(left) + 1) + (negative ? 1 : 0);
  if (planes > kMostPlanes) return std::nullopt;
  for (size_t k = 0; k < planes; ++k) {
    number.planes.push_back((value >> k & 1) != 0 ? ones_ : zero_);
  }
  return number;
}

// An operand as a number of the type.
std::optional<Lowering::Lanes::Number> Lowering::Lanes::Operand(const Node& node, int i,
                                                                Scalar to) {
  const uint32_t id = node.operands(i);
  const auto known = values_.find(id);
  std::optional<Number> number;
  if (known != values_.end()) {
    number = known->second;
  } else {
    number = Constant(id);
  }
  if (!number || (!IsInt(to) && to != proto::U1)) return std::nullopt;
  if (to == proto::U1) return Bit(Truth(*number));
  // What stands for a number modulo the type's is not widened.
  const Scalar from = l_.ScalarOf(id);
  if (number->is_signed && !IsSignedInt(from) && ScalarBits(to) > ScalarBits(from)) {
    return std::nullopt;
  }
  return Limited(std::move(*number), to);
}

std::optional<Lowering::Lanes::Number> Lowering::Lanes::Load(const Node& node) {
  const uint32_t from = node.operands(0);
  if (const auto local = locals_.find(from); local != locals_.end()) return local->second;
  const Node& place = l_.function_.nodes(from);
  if (place.kind() != proto::GLOBAL) return std::nullopt;
  const std::optional<int64_t> distance = Distance(place);
  if (!distance) return std::nullopt;
  const proto::Storage* of = BitsOf(l_.storages_.of_param[place.index()]);
  return Number{{LoadWord(place, *distance)}, of->word().components(0).quant().is_signed()};
}

std::optional<Lowering::Lanes::Number> Lowering::Lanes::Unary(const Node& node) {
  const Scalar of = l_.ScalarOf(node.operands(0));
  const std::optional<Number> x = Operand(node, 0, of);
  if (!x) return std::nullopt;
  switch (node.op()) {
    case proto::OP_LOGICAL_NOT:
      return Bit(Not(Truth(*x)));
    case proto::OP_BIT_NOT:
      if (of == proto::U1) return Bit(Not(Plane(*x, 0)));
      return Combine(proto::OP_SUB, of, {{ones_}, true}, *x);
    case proto::OP_NEG:
      return Combine(proto::OP_SUB, of, {}, *x);
    default:
      return std::nullopt;
  }
}

std::optional<Lowering::Lanes::Number> Lowering::Lanes::Binary(const Node& node) {
  const Scalar of = l_.ScalarOf(node.operands(0));
  const std::optional<Number> x = Operand(node, 0, of), y = Operand(node, 1, of);
  if (!x || !y) return std::nullopt;
  return Combine(node.op(), of, *x, *y);
}

// The operands are of one type.
std::optional<Lowering::Lanes::Number> Lowering::Lanes::Combine(proto::Op op, Scalar of,
                                                                const Number& x, const Number& y) {
  const bool ordered = IsSignedInt(of) || (!x.is_signed && !y.is_signed);
  const size_t planes = std::max(x.planes.size(), y.planes.size()) + 1;
  const auto each = [&](auto&& combine) {
    Number made;
    made.is_signed = x.is_signed || y.is_signed;
    for (size_t k = 0; k < planes; ++k) made.planes.push_back(combine(Plane(x, k), Plane(y, k)));
    return Limited(std::move(made), of);
  };
  const auto differ = [&] {
    mlir::Value any = zero_;
    for (size_t k = 0; k < planes; ++k) any = Or(any, Xor(Plane(x, k), Plane(y, k)));
    return any;
  };
  switch (op) {
    case proto::OP_ADD:
    case proto::OP_SUB:
      return Limited(Add(x, y, op == proto::OP_SUB), of);
    case proto::OP_BIT_AND:
      return each([&](mlir::Value a, mlir::Value b) { return And(a, b); });
    case proto::OP_BIT_OR:
      return each([&](mlir::Value a, mlir::Value b) { return Or(a, b); });
    case proto::OP_BIT_XOR:
      return each([&](mlir::Value a, mlir::Value b) { return Xor(a, b); });
    case proto::OP_LOGICAL_AND:
      return Bit(And(Truth(x), Truth(y)));
    case proto::OP_LOGICAL_OR:
      return Bit(Or(Truth(x), Truth(y)));
    case proto::OP_EQ:
      return Bit(Not(differ()));
    case proto::OP_NE:
      return Bit(differ());
    default:
      break;
  }
  if (!ordered) return std::nullopt;
  switch (op) {
    case proto::OP_LT:
      return Bit(Less(x, y));
    case proto::OP_GT:
      return Bit(Less(y, x));
    case proto::OP_LE:
      return Bit(Not(Less(y, x)));
    case proto::OP_GE:
      return Bit(Not(Less(x, y)));
    default:
      return std::nullopt;
  }
}

std::optional<Lowering::Lanes::Number> Lowering::Lanes::Select(const Node& node) {
  const Scalar to = l_.types_[node.type()].scalar;
  if (node.op() != proto::OP_SELECT) return std::nullopt;
  const std::optional<Number> condition = Operand(node, 0, proto::U1), x = Operand(node, 1, to),
                              y = Operand(node, 2, to);
  if (!condition || !x || !y) return std::nullopt;
  return Limited(Mux(condition->planes[0], *x, *y), to);
}

// Both blocks, where neither has an effect.
std::optional<Lowering::Lanes::Number> Lowering::Lanes::Choose(const Node& node) {
  const Scalar to = l_.types_[node.type()].scalar;
  const std::optional<Number> condition = Operand(node, 0, proto::U1);
  if (!condition) return std::nullopt;
  const bool pure = std::exchange(pure_, true);
  std::optional<Number> arms[2];
  bool all = true;
  for (int i = 0; i < 2 && all; ++i) {
    all = Lower(node.blocks(i)) && yielded_.has_value();
    arms[i] = std::exchange(yielded_, std::nullopt);
  }
  pure_ = pure;
  if (!all) return std::nullopt;
  return Limited(Mux(condition->planes[0], *arms[0], *arms[1]), to);
}

std::optional<Lowering::Lanes::Number> Lowering::Lanes::Value(const Node& node) {
  if (!l_.types_[node.type()].IsScalar()) return std::nullopt;
  switch (node.kind()) {
    case proto::LOAD:
      return Load(node);
    case proto::CAST_TO:
      if (node.op() == proto::OP_BIT_CAST) return std::nullopt;
      return Operand(node, 0, l_.types_[node.type()].scalar);
    case proto::UNARY:
      return Unary(node);
    case proto::BINARY:
      return Binary(node);
    case proto::TERNARY:
      return Select(node);
    case proto::CHOOSE:
      return Choose(node);
    default:
      return std::nullopt;
  }
}

bool Lowering::Lanes::Store(const Node& node) {
  const uint32_t to = node.operands(0);
  const Node& place = l_.function_.nodes(to);
  const std::optional<Number> number = Operand(node, 1, l_.ScalarOf(node.operands(1)));
  if (!number || pure_) return false;
  if (const auto local = locals_.find(to); local != locals_.end()) {
    local->second = *number;
    return true;
  }
  if (place.kind() != proto::GLOBAL || Distance(place) != int64_t{0}) return false;
  b_.create<ir::StoreOp>(l_.loc_, Plane(*number, 0), Address(place, 0));
  return true;
}

bool Lowering::Lanes::Atomic(const Node& node) {
  const uint32_t to = node.operands(0);
  const Node& place = l_.function_.nodes(to);
  const Scalar scalar = l_.types_[node.type()].scalar;
  std::optional<Number> number = Operand(node, 1, scalar);
  if (!number || pure_) return false;
  if (const auto local = locals_.find(to); local != locals_.end()) {
    std::optional<Number> made = Combine(AtomicCombiner(node.op()), scalar, local->second, *number);
    if (!made) return false;
    values_[l_.node_] = std::exchange(local->second, std::move(*made));
    return true;
  }
  if (place.kind() == proto::LOCAL) return AddOnes(node, l_.places_[to], *number);
  if (place.kind() != proto::GLOBAL) return false;
  if (Distance(place) != int64_t{0}) {
    return IsPlain(place) && AddOnes(node, l_.places_[to], *number);
  }
  ir::AtomicKind kind = ir::AtomicKind::xori;
  switch (node.op()) {
    case proto::OP_ATOMIC_ADD:
    case proto::OP_ATOMIC_SUB:
    case proto::OP_ATOMIC_XOR:
      break;  // the lowest bit of sums and differences
    case proto::OP_ATOMIC_AND:
      kind = ir::AtomicKind::andi;
      break;
    case proto::OP_ATOMIC_OR:
      kind = ir::AtomicKind::ori;
      break;
    default:
      return false;
  }
  const proto::Storage* of = BitsOf(l_.storages_.of_param[place.index()]);
  mlir::Value old =
      b_.create<ir::AtomicOp>(l_.loc_, type_, kind, Plane(*number, 0), Address(place, 0));
  values_[l_.node_] = Number{{old}, of->word().components(0).quant().is_signed()};
  return true;
}

// Sums of all lanes, to memory that they share. What it was before is nobody's to ask.
bool Lowering::Lanes::AddOnes(const Node& node, const Place& place, const Number& number) {
  const Scalar scalar = l_.types_[node.type()].scalar;
  const bool adds = node.op() == proto::OP_ATOMIC_ADD;
  if ((!adds && node.op() != proto::OP_ATOMIC_SUB) || !IsInt(scalar) || place.root == nullptr ||
      place.root->word != nullptr || !place.root->parts.empty() || place.count != 1 ||
      place.index) {
    return false;
  }
  mlir::Type type = l_.TypeOf(scalar);
  mlir::Value sum = l_.Int(type, 0);
  for (size_t k = 0; k < number.planes.size(); ++k) {
    mlir::Value ones = b_.create<mlir::math::CtPopOp>(l_.loc_, number.planes[k]);
    const unsigned from = type_.getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
    if (from < to) ones = b_.create<arith::ExtUIOp>(l_.loc_, type, ones);
    if (from > to) ones = b_.create<arith::TruncIOp>(l_.loc_, type, ones);
    ones = b_.createOrFold<arith::ShLIOp>(l_.loc_, ones, l_.Int(type, static_cast<int64_t>(k)));
    const bool negative = number.is_signed && k + 1 == number.planes.size();
    sum = negative ? b_.createOrFold<arith::SubIOp>(l_.loc_, sum, ones)
                   : b_.createOrFold<arith::AddIOp>(l_.loc_, sum, ones);
  }
  b_.create<ir::AtomicOp>(l_.loc_, type, adds ? ir::AtomicKind::addi : ir::AtomicKind::subi, sum,
                          l_.AddressAt(place, {}));
  return true;
}

bool Lowering::Lanes::LowerNode(uint32_t id) {
  const Node& node = l_.function_.nodes(id);
  switch (node.kind()) {
    case proto::CONST:
      l_.LowerNode(id);  // for what is not of the lanes
      break;
    case proto::GLOBAL:
      if (Distance(node)) return true;
      if (!IsPlain(node)) return false;
      l_.LowerNode(id);
      return true;
    case proto::LOCAL: {
      if (!l_.types_[node.type()].IsScalar()) return false;
      Number initial;
      if (node.operands_size() > 0) {
        const std::optional<Number> given = Operand(node, 0, l_.types_[node.type()].scalar);
        if (!given) return false;
        initial = *given;
      }
      locals_[id] = initial;
      return true;
    }
    case proto::STORE:
      return Store(node);
    case proto::ATOMIC:
      return Atomic(node);
    case proto::YIELD:
      yielded_ = Operand(node, 0, l_.ScalarOf(node.operands(0)));
      return yielded_.has_value();
    default:
      break;
  }
  const std::optional<At> index = IndexOf(node);
  if (index) indices_[id] = *index;
  if (index || node.kind() == proto::CONST) return true;  // numbers are read where they are used
  std::optional<Number> value = Value(node);
  if (!value) return false;
  values_[id] = std::move(*value);
  return true;
}

bool Lowering::Lanes::Lower(uint32_t block) {
  for (const uint32_t id : l_.function_.blocks(block).nodes()) {
    const uint32_t user = std::exchange(l_.node_, id);
    const mlir::Location loc =
        std::exchange(l_.loc_, mlir::FileLineColLoc::get(l_.file_, l_.Number(), 0));
    const bool lowered = LowerNode(id);
    l_.node_ = user;
    l_.loc_ = loc;
    if (!lowered) return false;
  }
  return true;
}

// --- Loops -------------------------------------------------------------------------

// Whether the body can go by words: it is lowered once, to nowhere.
bool Lowering::GoesByWords(const Node& node, int storage) {
  const uint64_t config = node.attributes_size() > 0 ? node.attributes(0) : 0;
  if (config == 0 || emit_.debug || unit_.options().check_bounds() || BitsOf(storage) == nullptr) {
    return false;
  }
  const proto::LoopConfig& loop = unit_.kernel().loops(static_cast<int>(config - 1));
  if (!loop.bit_vectorize() || !IsParallel(loop)) return false;
  mlir::Block nowhere;
  Scalars words;
  for (uint32_t i = 0; i < kMaxIndices; ++i) {
    words.push_back(nowhere.addArgument(b_.getI32Type(), loc_));
  }
  mlir::OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&nowhere);
  return Lanes(this, storage, node_, std::move(words)).Lower(node.blocks(0));
}

void Lowering::LowerByWords(const ByWords& loop, uint32_t block) {
  Lanes lanes(this, loop.storage, loop.node, loop.words);
  KILN_CHECK(lanes.Lower(block));
}

}  // namespace kiln
