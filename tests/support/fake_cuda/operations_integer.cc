// Operations: arithmetic on integers, and operations on their bits.
#include <algorithm>
#include <type_traits>

#include "tests/support/fake_cuda/lanes.h"
#include "tests/support/fake_cuda/operations.h"

namespace kiln::fake_cuda {
namespace {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;
template <typename T>
constexpr int kBits = sizeof(T) * 8;

// clang-format off
template <typename T> struct Wider;
template <> struct Wider<uint16_t> { using type = uint32_t; };
template <> struct Wider<int16_t> { using type = int32_t; };
template <> struct Wider<uint32_t> { using type = uint64_t; };
template <> struct Wider<int32_t> { using type = int64_t; };
template <> struct Wider<uint64_t> { using type = unsigned __int128; };
template <> struct Wider<int64_t> { using type = __int128; };

struct Add { template <typename T> T operator()(T a, T b) const { return static_cast<T>(Unsigned<T>(a) + Unsigned<T>(b)); } };
struct Sub { template <typename T> T operator()(T a, T b) const { return static_cast<T>(Unsigned<T>(a) - Unsigned<T>(b)); } };
struct MulLo { template <typename T> T operator()(T a, T b) const { return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); } };
struct MulHi { template <typename T> T operator()(T a, T b) const { using W = typename Wider<T>::type; return static_cast<T>(static_cast<W>(a) * static_cast<W>(b) >> kBits<T>); } };
struct MulWide { template <typename T> typename Wider<T>::type operator()(T a, T b) const { using W = typename Wider<T>::type; return static_cast<W>(a) * static_cast<W>(b); } };
struct Div { template <typename T> T operator()(T a, T b) const {
  if (b == 0) return static_cast<T>(~T{0});  // undefined
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(-Unsigned<T>(a));
  return static_cast<T>(a / b); } };
struct Rem { template <typename T> T operator()(T a, T b) const {
  if (b == 0) return a;  // undefined
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  return static_cast<T>(a % b); } };
struct Min { template <typename T> T operator()(T a, T b) const { return std::min(a, b); } };
struct Max { template <typename T> T operator()(T a, T b) const { return std::max(a, b); } };
struct And { template <typename T> T operator()(T a, T b) const { return a & b; } };
struct Or { template <typename T> T operator()(T a, T b) const { return a | b; } };
struct Xor { template <typename T> T operator()(T a, T b) const { return a ^ b; } };
struct Not { template <typename T> T operator()(T a) const { return static_cast<T>(~a); } };
struct Cnot { template <typename T> T operator()(T a) const { return a == 0 ? 1 : 0; } };
struct Neg { template <typename T> T operator()(T a) const { return static_cast<T>(-Unsigned<T>(a)); } };
struct Abs { template <typename T> T operator()(T a) const { return a < 0 ? static_cast<T>(-Unsigned<T>(a)) : a; } };
struct Move { template <typename T> T operator()(T a) const { return a; } };
struct Shl { template <typename T> T operator()(T a, uint32_t n) const { return n >= kBits<T> ? 0 : static_cast<T>(Unsigned<T>(a) << n); } };
struct Shr { template <typename T> T operator()(T a, uint32_t n) const { return n >= kBits<T> ? (std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : 0) : static_cast<T>(a >> n); } };
struct Popc { template <typename T> uint32_t operator()(T a) const { return static_cast<uint32_t>(__builtin_popcountll(Unsigned<T>(a))); } };
struct Clz { template <typename T> uint32_t operator()(T a) const { return a == 0 ? kBits<T> : static_cast<uint32_t>(__builtin_clzll(Unsigned<T>(a)) - (64 - kBits<T>)); } };
struct Brev { template <typename T> T operator()(T a) const { T r = 0; for (int n = 0; n < kBits<T>; ++n) r |= static_cast<T>((a >> n & 1) << (kBits<T> - 1 - n)); return r; } };
struct Bfind { template <typename T> uint32_t operator()(T a) const {
  const Unsigned<T> bits = std::is_signed_v<T> && a < 0 ? ~Unsigned<T>(a) : Unsigned<T>(a);
  return bits == 0 ? ~0u : 63 - static_cast<uint32_t>(__builtin_clzll(bits)); } };
struct BfindShift { template <typename T> uint32_t operator()(T a) const { const uint32_t at = Bfind()(a); return at == ~0u ? at : kBits<T> - 1 - at; } };
struct Bfe { template <typename T> T operator()(T a, uint32_t position, uint32_t length) const {
  const int at = position & 255, n = length & 255, top = kBits<T> - 1;
  const Unsigned<T> u = Unsigned<T>(a);
  const bool sign = std::is_signed_v<T> && n != 0 && (u >> std::min(at + n - 1, top) & 1) != 0;
  const Unsigned<T> mask = n >= kBits<T> ? ~Unsigned<T>{0} : (Unsigned<T>{1} << n) - 1;
  if (n == 0) return 0;
  const int have = std::max(0, std::min(n, kBits<T> - at));
  Unsigned<T> r = at > top ? 0 : u >> at & mask;
  if (sign && have < kBits<T>) r |= ~Unsigned<T>{0} << have;
  return static_cast<T>(r); } };
struct Mad { template <typename T> T operator()(T a, T b, T c) const { return Add()(MulLo()(a, b), c); } };
struct MadHi { template <typename T> T operator()(T a, T b, T c) const { return Add()(MulHi()(a, b), c); } };
struct MadWide { template <typename T, typename W> W operator()(T a, T b, W c) const { return Add()(static_cast<W>(MulWide()(a, b)), c); } };
struct Sad { template <typename T> T operator()(T a, T b, T c) const { return Add()(c, a < b ? Sub()(b, a) : Sub()(a, b)); } };
struct AddSat { int32_t operator()(int32_t a, int32_t b) const { return static_cast<int32_t>(std::clamp<int64_t>(int64_t{a} + b, INT32_MIN, INT32_MAX)); } };
struct SubSat { int32_t operator()(int32_t a, int32_t b) const { return static_cast<int32_t>(std::clamp<int64_t>(int64_t{a} - b, INT32_MIN, INT32_MAX)); } };
struct Mul24 { template <typename T> T operator()(T a, T b) const { return MulLo()(static_cast<T>(static_cast<T>(a << 8) >> 8), static_cast<T>(static_cast<T>(b << 8) >> 8)); } };
struct FunnelLeftWrap { uint32_t operator()(uint32_t a, uint32_t b, uint32_t n) const { return static_cast<uint32_t>((uint64_t{b} << 32 | a) << (n & 31) >> 32); } };
struct FunnelLeftClamp { uint32_t operator()(uint32_t a, uint32_t b, uint32_t n) const { return n >= 32 ? a : FunnelLeftWrap()(a, b, n); } };
struct FunnelRightWrap { uint32_t operator()(uint32_t a, uint32_t b, uint32_t n) const { return static_cast<uint32_t>((uint64_t{b} << 32 | a) >> (n & 31)); } };
struct FunnelRightClamp { uint32_t operator()(uint32_t a, uint32_t b, uint32_t n) const { return n >= 32 ? b : FunnelRightWrap()(a, b, n); } };
struct Bmsk { uint32_t operator()(uint32_t a, uint32_t b) const { const uint64_t mask = b >= 32 ? ~0u : (1u << b) - 1; return a >= 32 ? 0 : static_cast<uint32_t>(mask << a); } };
// clang-format on

template <typename T>
void Bfi(Warp& warp, const Instruction& in) {
  T* d = warp.At<T>(in.d);
  const T *a = warp.At<T>(in.s[0]), *b = warp.At<T>(in.s[1]);
  const uint32_t *position = warp.At<uint32_t>(in.s[2]), *length = warp.At<uint32_t>(in.s[3]);
  EachLane(warp.exec, [=](int lane) {
    const int at = position[lane] & 255, n = length[lane] & 255;
    T mask = n >= kBits<T> ? ~T{0} : (T{1} << n) - 1;
    mask = at >= kBits<T> ? 0 : mask << at;
    const T shifted = at >= kBits<T> ? 0 : a[lane] << at;
    d[lane] = (b[lane] & ~mask) | (shifted & mask);
  });
}

void Prmt(Warp& warp, const Instruction& in) {
  uint32_t* d = warp.At<uint32_t>(in.d);
  const uint32_t *a = warp.At<uint32_t>(in.s[0]), *b = warp.At<uint32_t>(in.s[1]);
  const uint32_t* selector = warp.At<uint32_t>(in.s[2]);
  EachLane(warp.exec, [=](int lane) {
    const uint64_t bytes = uint64_t{b[lane]} << 32 | a[lane];
    uint32_t result = 0;
    for (int n = 0; n < 4; ++n) {
      const uint32_t which = selector[lane] >> (4 * n) & 15;
      uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (which & 7)) & 255);
      if ((which & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
      result |= byte << (8 * n);
    }
    d[lane] = result;
  });
}

void Lop3(Warp& warp, const Instruction& in) {
  uint32_t* d = warp.At<uint32_t>(in.d);
  const uint32_t *a = warp.At<uint32_t>(in.s[0]), *b = warp.At<uint32_t>(in.s[1]);
  const uint32_t *c = warp.At<uint32_t>(in.s[2]), *table = warp.At<uint32_t>(in.s[3]);
  EachLane(warp.exec, [=](int lane) {
    uint32_t result = 0;
    for (int n = 0; n < 8; ++n) {
      if ((table[lane] >> n & 1) == 0) continue;
      result |= ((n & 4) != 0 ? a[lane] : ~a[lane]) & ((n & 2) != 0 ? b[lane] : ~b[lane]) &
                ((n & 1) != 0 ? c[lane] : ~c[lane]);
    }
    d[lane] = result;
  });
}

// Instruction::flags of Carry: it takes the carry in, sets it, subtracts; it multiplies first, and
// adds the low or the high half of the product.
constexpr uint32_t kTakesCarry = 1, kSetsCarry = 2, kSubtracts = 4;
constexpr uint32_t kMultipliesLow = 8, kMultipliesHigh = 16;

// add with .cc, addc, sub with .cc, subc, and the same of mad: d2 is the carry, one bit a lane.
template <typename T>
void Carry(Warp& warp, const Instruction& in) {
  using W = typename Wider<Unsigned<T>>::type;
  T* d = warp.At<T>(in.d);
  uint32_t* carries = warp.At<uint32_t>(in.d2);
  const uint32_t before = *carries;
  uint32_t after = 0;
  EachLane(warp.exec, [&](int lane) {
    T a = warp.At<T>(in.s[0])[lane], b = warp.At<T>(in.s[1])[lane];
    if ((in.flags & (kMultipliesLow | kMultipliesHigh)) != 0) {
      a = (in.flags & kMultipliesLow) != 0 ? MulLo()(a, b) : MulHi()(a, b);
      b = warp.At<T>(in.s[2])[lane];
    }
    const W carry = (in.flags & kTakesCarry) != 0 ? before >> lane & 1 : 0;
    const W left = Unsigned<T>(a), right = Unsigned<T>(b);
    const W sum = (in.flags & kSubtracts) != 0 ? left - right - carry : left + right + carry;
    d[lane] = static_cast<T>(sum);
    after |= static_cast<uint32_t>(sum >> kBits<T> & 1) << lane;
  });
  if ((in.flags & kSetsCarry) != 0) StoreMask(warp, in.d2, after);
}

template <typename F>
void OfMasks(Warp& warp, const Instruction& in) {
  StoreMask(warp, in.d, F()(*warp.At<uint32_t>(in.s[0]), *warp.At<uint32_t>(in.s[1])));
}

template <typename F>
void OfMask(Warp& warp, const Instruction& in) {
  StoreMask(warp, in.d, F()(*warp.At<uint32_t>(in.s[0])));
}

template <typename F>
Handler UnaryOf(Type type) {
#define KILN_RESULT(T) return Unary<F, T, T>
  KILN_FOR_INTEGERS(type, KILN_RESULT)
#undef KILN_RESULT
  return nullptr;
}

template <typename F>
Handler BinaryOf(Type type) {
#define KILN_RESULT(T) return Binary<F, T, T, T>
  KILN_FOR_INTEGERS(type, KILN_RESULT)
#undef KILN_RESULT
  return nullptr;
}

template <typename F>
Handler ShiftOf(Type type) {
#define KILN_RESULT(T) return Binary<F, T, T, uint32_t>
  KILN_FOR_INTEGERS(type, KILN_RESULT)
#undef KILN_RESULT
  return nullptr;
}

template <typename F>
Handler CountOf(Type type) {
#define KILN_RESULT(T) return Unary<F, uint32_t, T>
  KILN_FOR_INTEGERS(type, KILN_RESULT)
#undef KILN_RESULT
  return nullptr;
}

// clang-format off
#define KILN_WIDE_CASES(type, RESULT) \
  switch (type) {                     \
    case Type::kU16: RESULT(uint16_t);\
    case Type::kS16: RESULT(int16_t); \
    case Type::kU32: RESULT(uint32_t);\
    case Type::kS32: RESULT(int32_t); \
    case Type::kU64: RESULT(uint64_t);\
    case Type::kS64: RESULT(int64_t); \
    default: return nullptr;          \
  }

template <typename F>
Handler HighOf(Type type) {
#define KILN_RESULT(T) return Binary<F, T, T, T>
  KILN_WIDE_CASES(type, KILN_RESULT)
#undef KILN_RESULT
}

template <typename F>
Handler MadOf(Type type) {
#define KILN_RESULT(T) return Ternary<F, T, T, T, T>
  KILN_WIDE_CASES(type, KILN_RESULT)
#undef KILN_RESULT
}

Handler CarryOf(Type type) {
#define KILN_RESULT(T) return Carry<T>
  KILN_WIDE_CASES(type, KILN_RESULT)
#undef KILN_RESULT
}

Handler WideOf(Type type, bool add) {
  switch (type) {
    case Type::kU16: return add ? Ternary<MadWide, uint32_t, uint16_t, uint16_t, uint32_t> : Binary<MulWide, uint32_t, uint16_t, uint16_t>;
    case Type::kS16: return add ? Ternary<MadWide, int32_t, int16_t, int16_t, int32_t> : Binary<MulWide, int32_t, int16_t, int16_t>;
    case Type::kU32: return add ? Ternary<MadWide, uint64_t, uint32_t, uint32_t, uint64_t> : Binary<MulWide, uint64_t, uint32_t, uint32_t>;
    case Type::kS32: return add ? Ternary<MadWide, int64_t, int32_t, int32_t, int64_t> : Binary<MulWide, int64_t, int32_t, int32_t>;
    default: return nullptr;
  }
}

Type Twice(Type type) {
  switch (type) {
    case Type::kU16: return Type::kU32;
    case Type::kS16: return Type::kS32;
    case Type::kU32: return Type::kU64;
    default: return Type::kS64;
  }
}
// clang-format on

Operation Multiply(const Opcode& opcode, Type t) {
  const bool add = opcode.name == "mad";
  if (opcode.Has("wide")) {
    if (add) return {WideOf(t, true), Twice(t), {t, t, Twice(t)}};
    return {WideOf(t, false), Twice(t), {t, t}};
  }
  const bool high = opcode.Has("hi");
  if (opcode.Has("sat")) return {};
  if (add) return {high ? MadOf<MadHi>(t) : MadOf<Mad>(t), t, {t, t, t}};
  return {high ? HighOf<MulHi>(t) : BinaryOf<MulLo>(t), t, {t, t}};
}

Operation WithCarry(const Opcode& opcode, Type t) {
  const std::string& name = opcode.name;
  uint32_t flags = name.back() == 'c' ? kTakesCarry : 0;
  if (opcode.Has("cc")) flags |= kSetsCarry;
  if (name.substr(0, 3) == "sub") flags |= kSubtracts;
  if (name.substr(0, 3) != "mad") return {CarryOf(t), t, {t, t}, flags};
  flags |= opcode.Has("hi") ? kMultipliesHigh : kMultipliesLow;
  return {CarryOf(t), t, {t, t, t}, flags};
}

Operation Bits(const Opcode& opcode, Type t) {
  const std::string& name = opcode.name;
  const Type n = Type::kU32;
  if (name == "shl") return {ShiftOf<Shl>(t), t, {t, n}};
  if (name == "shr") return {ShiftOf<Shr>(t), t, {t, n}};
  if (name == "popc") return {CountOf<Popc>(t), n, {t}};
  if (name == "clz") return {CountOf<Clz>(t), n, {t}};
  if (name == "brev") {
    return {t == n ? Unary<Brev, uint32_t, uint32_t> : Unary<Brev, uint64_t, uint64_t>, t, {t}};
  }
  if (name == "bfind") {
    return {opcode.Has("shiftamt") ? CountOf<BfindShift>(t) : CountOf<Bfind>(t), n, {t}};
  }
  if (name == "bfe") {
    Handler run = t == Type::kU32   ? Ternary<Bfe, uint32_t, uint32_t, uint32_t, uint32_t>
                  : t == Type::kS32 ? Ternary<Bfe, int32_t, int32_t, uint32_t, uint32_t>
                  : t == Type::kU64 ? Ternary<Bfe, uint64_t, uint64_t, uint32_t, uint32_t>
                                    : Ternary<Bfe, int64_t, int64_t, uint32_t, uint32_t>;
    return {run, t, {t, n, n}};
  }
  if (name == "bfi") return {t == n ? Bfi<uint32_t> : Bfi<uint64_t>, t, {t, t, n, n}};
  if (name == "bmsk" && !opcode.Has("wrap")) {
    return {Binary<Bmsk, uint32_t, uint32_t, uint32_t>, n, {n, n}};
  }
  if (name == "prmt" && opcode.modifiers.size() == 1) return {Prmt, n, {n, n, n}};
  if (name == "lop3" && opcode.modifiers.size() == 1) return {Lop3, n, {n, n, n, n}};
  if (name == "shf") {
    const bool left = opcode.Has("l"), wrap = opcode.Has("wrap");
    Handler run = left && wrap ? Ternary<FunnelLeftWrap, uint32_t, uint32_t, uint32_t, uint32_t>
                  : left       ? Ternary<FunnelLeftClamp, uint32_t, uint32_t, uint32_t, uint32_t>
                  : wrap       ? Ternary<FunnelRightWrap, uint32_t, uint32_t, uint32_t, uint32_t>
                               : Ternary<FunnelRightClamp, uint32_t, uint32_t, uint32_t, uint32_t>;
    return {run, n, {n, n, n}};
  }
  return {};
}

Operation OfPredicates(const std::string& name) {
  const Type p = Type::kPred;
  if (name == "and") return {OfMasks<And>, p, {p, p}};
  if (name == "or") return {OfMasks<Or>, p, {p, p}};
  if (name == "xor") return {OfMasks<Xor>, p, {p, p}};
  if (name == "not") return {OfMask<Not>, p, {p}};
  if (name == "mov") return {OfMask<Move>, p, {p}};
  return {};
}

}  // namespace

Operation FindInteger(const Opcode& opcode) {
  const std::vector<Type> types = opcode.Types();
  if (types.size() != 1) return {};
  const Type t = types[0];
  const std::string& name = opcode.name;
  if (t == Type::kPred) return OfPredicates(name);
  if (name == "mov") {  // of bits; floats move as such
    const int bytes = BytesOf(t);
    const Type bits = bytes == 2 ? Type::kU16 : bytes == 4 ? Type::kU32 : Type::kU64;
    return {UnaryOf<Move>(bits), bits, {bits}};
  }
  if (t >= Type::kF16) return {};
  if (opcode.Has("cc") || name == "addc" || name == "subc" || name == "madc") {
    return WithCarry(opcode, t);
  }
  if (name == "mul" || name == "mad") return Multiply(opcode, t);
  if (name == "mul24" || name == "mad24") {
    if (name == "mad24" || opcode.Has("hi")) return {};
    return {t == Type::kU32 ? Binary<Mul24, uint32_t, uint32_t, uint32_t>
                            : Binary<Mul24, int32_t, int32_t, int32_t>,
            t,
            {t, t}};
  }
  if (opcode.Has("sat")) {
    if (name == "add") return {Binary<AddSat, int32_t, int32_t, int32_t>, t, {t, t}};
    if (name == "sub") return {Binary<SubSat, int32_t, int32_t, int32_t>, t, {t, t}};
    return {};
  }
  if (opcode.Has("relu")) return {};
  if (name == "add") return {BinaryOf<Add>(t), t, {t, t}};
  if (name == "sub") return {BinaryOf<Sub>(t), t, {t, t}};
  if (name == "div") return {BinaryOf<Div>(t), t, {t, t}};
  if (name == "rem") return {BinaryOf<Rem>(t), t, {t, t}};
  if (name == "min") return {BinaryOf<Min>(t), t, {t, t}};
  if (name == "max") return {BinaryOf<Max>(t), t, {t, t}};
  if (name == "and") return {BinaryOf<And>(t), t, {t, t}};
  if (name == "or") return {BinaryOf<Or>(t), t, {t, t}};
  if (name == "xor") return {BinaryOf<Xor>(t), t, {t, t}};
  if (name == "not") return {UnaryOf<Not>(t), t, {t}};
  if (name == "cnot") return {UnaryOf<Cnot>(t), t, {t}};
  if (name == "neg") return {UnaryOf<Neg>(t), t, {t}};
  if (name == "abs") return {UnaryOf<Abs>(t), t, {t}};
  if (name == "sad") return {MadOf<Sad>(t), t, {t, t, t}};
  return Bits(opcode, t);
}

}  // namespace kiln::fake_cuda
