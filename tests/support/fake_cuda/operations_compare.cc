// Operations: comparisons, selections and operations on predicates.
#include <cfloat>
#include <cmath>

#include "tests/support/fake_cuda/half.h"
#include "tests/support/fake_cuda/lanes.h"
#include "tests/support/fake_cuda/operations.h"

namespace kiln::fake_cuda {
namespace {

enum Relation : uint32_t { kEq, kNe, kLt, kLe, kGt, kGe, kNumbers, kNan };

// Instruction::flags: kFlush, the relation, what an unordered pair gives, how to combine with a
// predicate and whether that is negated.
constexpr uint32_t kRelationShift = 4, kUnordered = 128, kCombineShift = 8, kNegated = 1024;
constexpr uint32_t kAnd = 1, kOr = 2, kXor = 3;

template <typename T>
struct Reader {
  using Value = T;
  static T Read(T value, bool) { return value; }
};
template <>
struct Reader<float> {
  using Value = float;
  static float Read(float value, bool flush) {
    return flush && std::fabs(value) < FLT_MIN ? std::copysign(0.0f, value) : value;
  }
};
template <>
struct Reader<Half> {
  using Value = float;
  static float Read(Half value, bool) { return value.Value(); }
};
template <>
struct Reader<Bfloat> {
  using Value = float;
  static float Read(Bfloat value, bool) { return value.Value(); }
};

template <typename T>
bool Unordered(T a, T b) {
  return a != a || b != b;
}

template <typename T>
bool Holds(uint32_t relation, T a, T b) {
  switch (relation) {
    case kEq:
      return a == b;
    case kNe:
      return a < b || a > b;
    case kLt:
      return a < b;
    case kLe:
      return a <= b;
    case kGt:
      return a > b;
    case kGe:
      return a >= b;
    case kNumbers:
      return !Unordered(a, b);
    default:
      return Unordered(a, b);
  }
}

template <typename T>
uint32_t Compare(Warp& warp, const Instruction& in) {
  const T *a = warp.At<T>(in.s[0]), *b = warp.At<T>(in.s[1]);
  const uint32_t relation = in.flags >> kRelationShift & 7;
  const bool flush = (in.flags & kFlush) != 0, unordered = (in.flags & kUnordered) != 0;
  uint32_t mask = 0;
  EachLane(warp.exec, [&](int lane) {
    const auto x = Reader<T>::Read(a[lane], flush), y = Reader<T>::Read(b[lane], flush);
    const bool holds = Holds(relation, x, y) || (unordered && Unordered(x, y));
    mask |= static_cast<uint32_t>(holds) << lane;
  });
  return mask;
}

uint32_t Combine(const Instruction& in, uint32_t mask, uint32_t other) {
  switch (in.flags >> kCombineShift & 3) {
    case kAnd:
      return mask & other;
    case kOr:
      return mask | other;
    case kXor:
      return mask ^ other;
    default:
      return mask;
  }
}

uint32_t Other(const Warp& warp, const Instruction& in) {
  if ((in.flags >> kCombineShift & 3) == 0) return 0;
  const uint32_t other = *warp.At<uint32_t>(in.s[2]);
  return (in.flags & kNegated) != 0 ? ~other : other;
}

template <typename T>
void SetPredicate(Warp& warp, const Instruction& in) {
  const uint32_t mask = Compare<T>(warp, in), other = Other(warp, in);
  StoreMask(warp, in.d, Combine(in, mask, other));
  if (in.d2 != kNoOperand) StoreMask(warp, in.d2, Combine(in, ~mask, other));
}

template <typename T, bool kFloat>
void Set(Warp& warp, const Instruction& in) {
  const uint32_t mask = Combine(in, Compare<T>(warp, in), Other(warp, in));
  uint32_t* d = warp.At<uint32_t>(in.d);
  const uint32_t yes = kFloat ? 0x3f800000u : ~0u;
  EachLane(warp.exec, [&](int lane) { d[lane] = (mask >> lane & 1) != 0 ? yes : 0; });
}

template <typename T>
void Select(Warp& warp, const Instruction& in) {
  T* d = warp.At<T>(in.d);
  const T *a = warp.At<T>(in.s[0]), *b = warp.At<T>(in.s[1]);
  const uint32_t mask = *warp.At<uint32_t>(in.s[2]);
  EachLane(warp.exec, [=](int lane) { d[lane] = (mask >> lane & 1) != 0 ? a[lane] : b[lane]; });
}

template <typename T, typename C>
void SelectBySign(Warp& warp, const Instruction& in) {
  const C* c = warp.At<C>(in.s[2]);
  EachLane(warp.exec, [&](int lane) {
    warp.At<T>(in.d)[lane] = warp.At<T>(in.s[c[lane] >= 0 ? 0 : 1])[lane];
  });
}

Handler ComparerOf(Type t, bool set, bool as_float) {
#define KILN_RESULT(T) \
  return set ? as_float ? Handler(Set<T, true>) : Handler(Set<T, false>) : Handler(SetPredicate<T>)
  KILN_FOR_INTEGERS(t, KILN_RESULT)
  switch (t) {
    case Type::kF16:
      KILN_RESULT(Half);
    case Type::kBf16:
      KILN_RESULT(Bfloat);
    case Type::kF32:
      KILN_RESULT(float);
    case Type::kF64:
      KILN_RESULT(double);
    default:
      return nullptr;
  }
#undef KILN_RESULT
}

bool FindRelation(const std::string& word, uint32_t* flags) {
  static const struct {
    const char* name;
    uint32_t relation;
    bool unordered;
  } kRelations[] = {
      {"eq", kEq, false},       {"ne", kNe, false},   {"lt", kLt, false}, {"le", kLe, false},
      {"gt", kGt, false},       {"ge", kGe, false},   {"lo", kLt, false}, {"ls", kLe, false},
      {"hi", kGt, false},       {"hs", kGe, false},   {"equ", kEq, true}, {"neu", kNe, true},
      {"ltu", kLt, true},       {"leu", kLe, true},   {"gtu", kGt, true}, {"geu", kGe, true},
      {"num", kNumbers, false}, {"nan", kNan, false},
  };
  for (const auto& entry : kRelations) {
    if (word != entry.name) continue;
    *flags |= entry.relation << kRelationShift | (entry.unordered ? kUnordered : 0);
    return true;
  }
  return false;
}

}  // namespace

Operation FindCompare(const Opcode& opcode) {
  const std::vector<Type> types = opcode.Types();
  const std::string& name = opcode.name;
  if (types.empty()) return {};
  const Type t = types.back();
  if (name == "selp") {
    const int bytes = BytesOf(t);
    return {bytes == 2   ? Select<uint16_t>
            : bytes == 4 ? Select<uint32_t>
                         : Select<uint64_t>,
            t,
            {t, t, Type::kPred}};
  }
  if (name == "slct" && types.size() == 2 && BytesOf(types[0]) >= 4) {
    const bool wide = BytesOf(types[0]) == 8, real = t == Type::kF32;
    Handler run = wide   ? real ? SelectBySign<uint64_t, float> : SelectBySign<uint64_t, int32_t>
                    : real ? SelectBySign<uint32_t, float>
                         : SelectBySign<uint32_t, int32_t>;
    return {run, types[0], {types[0], types[0], t}};
  }
  if ((name != "setp" && name != "set") || opcode.modifiers.empty()) return {};
  uint32_t flags = opcode.Has("ftz") ? kFlush : 0;
  if (!FindRelation(opcode.modifiers[0], &flags)) return {};
  const uint32_t combine = opcode.Has("and")   ? kAnd
                           : opcode.Has("or")  ? kOr
                           : opcode.Has("xor") ? kXor
                                               : 0;
  flags |= combine << kCombineShift;
  Operation op;
  op.s = {t, t};
  if (combine != 0) op.s.push_back(Type::kPred);
  op.flags = flags;
  if (name == "setp") {
    op.d = Type::kPred;
    op.run = types.size() == 1 ? ComparerOf(t, false, false) : nullptr;
  } else if (types.size() == 2 && BytesOf(types[0]) == 4) {
    op.d = types[0];
    op.run = ComparerOf(t, true, types[0] == Type::kF32);
  }
  return op;
}

}  // namespace kiln::fake_cuda
