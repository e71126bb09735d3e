// Operations: arithmetic on floats.
#include <cfenv>
#include <cfloat>
#include <cmath>

#include "tests/support/fake_cuda/half.h"
#include "tests/support/fake_cuda/lanes.h"
#include "tests/support/fake_cuda/operations.h"

namespace kiln::fake_cuda {
namespace {

// Flags of minima and maxima, and of quick functions.
constexpr uint32_t kKeepNan = 16;

inline float Flush(float x) { return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x; }
inline double Flush(double x) { return x; }

// NaN counts as 0.
template <typename T>
T Clamp01(T x) {
  return x > 0 ? (x < 1 ? x : T{1}) : T{0};
}

// Functions take float or double. Quick ones ("approx") are computed in double and rounded once.
// clang-format off
struct Add { template <typename T> T operator()(T a, T b) const { return a + b; } };
struct Sub { template <typename T> T operator()(T a, T b) const { return a - b; } };
struct Mul { template <typename T> T operator()(T a, T b) const { return a * b; } };
struct Div { template <typename T> T operator()(T a, T b) const { return a / b; } };
struct Fma { template <typename T> T operator()(T a, T b, T c) const { return std::fma(a, b, c); } };
struct Min { template <typename T> T operator()(T a, T b) const {
  if (std::isnan(a)) return b;
  if (a == b) return std::signbit(a) ? a : b;
  return b < a ? b : a; } };
struct Max { template <typename T> T operator()(T a, T b) const {
  if (std::isnan(a)) return b;
  if (a == b) return std::signbit(a) ? b : a;
  return b > a ? b : a; } };
struct MinNan { template <typename T> T operator()(T a, T b) const { return std::isnan(a) || std::isnan(b) ? T(NAN) : Min()(a, b); } };
struct MaxNan { template <typename T> T operator()(T a, T b) const { return std::isnan(a) || std::isnan(b) ? T(NAN) : Max()(a, b); } };
struct CopySign { template <typename T> T operator()(T a, T b) const { return std::copysign(b, a); } };
struct Neg { template <typename T> T operator()(T a) const { return -a; } };
struct Abs { template <typename T> T operator()(T a) const { return std::fabs(a); } };
struct Sqrt { template <typename T> T operator()(T a) const { return std::sqrt(a); } };
struct Rcp { template <typename T> T operator()(T a) const { return 1 / a; } };
struct Rsqrt { template <typename T> T operator()(T a) const { return static_cast<T>(1 / std::sqrt(static_cast<double>(a))); } };
struct Ex2 { template <typename T> T operator()(T a) const { return static_cast<T>(std::exp2(static_cast<double>(a))); } };
struct Lg2 { template <typename T> T operator()(T a) const { return static_cast<T>(std::log2(static_cast<double>(a))); } };
struct Sin { template <typename T> T operator()(T a) const { return static_cast<T>(std::sin(static_cast<double>(a))); } };
struct Cos { template <typename T> T operator()(T a) const { return static_cast<T>(std::cos(static_cast<double>(a))); } };
struct Tanh { template <typename T> T operator()(T a) const { return static_cast<T>(std::tanh(static_cast<double>(a))); } };
// clang-format on

template <int kSources, typename F, typename T>
T Apply(T a, T b, T c) {
  if constexpr (kSources == 1) return F()(a);
  if constexpr (kSources == 2) return F()(a, b);
  if constexpr (kSources == 3) return F()(a, b, c);
}

// The usual case: to nearest, without saturation.
template <int kSources, typename F, typename T, bool kFlushes>
void Plain(Warp& warp, const Instruction& in) {
  T* d = warp.At<T>(in.d);
  const T* a = warp.At<T>(in.s[0]);
  const T* b = kSources > 1 ? warp.At<T>(in.s[1]) : a;
  const T* c = kSources > 2 ? warp.At<T>(in.s[2]) : a;
  EachLane(warp.exec, [=](int lane) {
    if constexpr (kFlushes) {
      d[lane] = Flush(Apply<kSources, F>(Flush(a[lane]), Flush(b[lane]), Flush(c[lane])));
    } else {
      d[lane] = Apply<kSources, F>(a[lane], b[lane], c[lane]);
    }
  });
}

// The optimiser must not move arithmetic across a change of the rounding mode.
template <int kSources, typename F, typename T>
__attribute__((noinline)) T Rounded(T a, T b, T c, uint32_t rounding) {
  static constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  std::fesetround(kModes[rounding]);
  volatile T x = a, y = b, z = c;
  volatile T result = Apply<kSources, F>(T{x}, T{y}, T{z});
  std::fesetround(FE_TONEAREST);
  return result;
}

template <int kSources, typename F, typename T>
void Special(Warp& warp, const Instruction& in) {
  T* d = warp.At<T>(in.d);
  const uint32_t rounding = (in.flags & kRoundMask) >> kRoundShift;
  EachLane(warp.exec, [&](int lane) {
    T values[3];
    for (int n = 0; n < 3; ++n) {
      values[n] = warp.At<T>(in.s[n < kSources ? n : 0])[lane];
      if ((in.flags & kFlush) != 0) values[n] = Flush(values[n]);
    }
    T result = Rounded<kSources, F>(values[0], values[1], values[2], rounding);
    if ((in.flags & kFlush) != 0) result = Flush(result);
    if ((in.flags & kSaturate) != 0) result = Clamp01(result);
    d[lane] = result;
  });
}

// f16 and bf16. Sums and products of three are rounded to odd in double first.
template <int kSources, typename F, typename H>
H OfHalves(H a, H b, H c, uint32_t flags) {
  double result;
  if constexpr (kSources == 3) {
    const double product = static_cast<double>(a.Value()) * b.Value(), addend = c.Value();
    const double sum = product + addend;
    const double part = sum - product;
    result = RoundedToOdd(sum, (product - (sum - part)) + (addend - part));
  } else {
    const float value = Apply<kSources, F>(a.Value(), b.Value(), c.Value());
    result = value;
  }
  if ((flags & kSaturate) != 0) result = Clamp01(result);
  H rounded = H::From(result);
  const bool flushes = (flags & kFlush) != 0 && (rounded.bits & 0x7c00) == 0;
  if (flushes) rounded.bits &= 0x8000;
  return rounded;
}

template <int kSources, typename F, typename H>
void Small(Warp& warp, const Instruction& in) {
  EachLane(warp.exec, [&](int lane) {
    H values[3];
    for (int n = 0; n < 3; ++n) values[n] = warp.At<H>(in.s[n < kSources ? n : 0])[lane];
    warp.At<H>(in.d)[lane] = OfHalves<kSources, F>(values[0], values[1], values[2], in.flags);
  });
}

template <int kSources, typename F, typename H>
void SmallPairs(Warp& warp, const Instruction& in) {
  EachLane(warp.exec, [&](int lane) {
    Pair<H> v[3];
    for (int n = 0; n < 3; ++n) v[n] = warp.At<Pair<H>>(in.s[n < kSources ? n : 0])[lane];
    warp.At<Pair<H>>(in.d)[lane] = {OfHalves<kSources, F>(v[0].x, v[1].x, v[2].x, in.flags),
                                    OfHalves<kSources, F>(v[0].y, v[1].y, v[2].y, in.flags)};
  });
}

template <typename H>
void Signs(Warp& warp, const Instruction& in) {  // neg and abs of f16: of bits
  const H* a = warp.At<H>(in.s[0]);
  const auto mask = static_cast<H>(0x80008000u);
  const bool negates = (in.flags & kKeepNan) != 0;
  EachLane(warp.exec, [&](int lane) {
    warp.At<H>(in.d)[lane] = negates ? a[lane] ^ mask : a[lane] & static_cast<H>(~mask);
  });
}

template <int kSources, typename F>
Operation Of(Type t, uint32_t flags) {
  Operation op;
  op.d = t;
  op.s.assign(kSources, t);
  op.flags = flags;
  const bool special = (flags & (kSaturate | kRoundMask)) != 0;
  switch (t) {
    case Type::kF32:
      op.run = special                 ? Special<kSources, F, float>
               : (flags & kFlush) != 0 ? Plain<kSources, F, float, true>
                                       : Plain<kSources, F, float, false>;
      break;
    case Type::kF64:
      op.run = special ? Special<kSources, F, double> : Plain<kSources, F, double, false>;
      break;
    case Type::kF16:
      op.run = Small<kSources, F, Half>;
      break;
    case Type::kBf16:
      op.run = Small<kSources, F, Bfloat>;
      break;
    case Type::kF16x2:
      op.run = SmallPairs<kSources, F, Half>;
      break;
    case Type::kBf16x2:
      op.run = SmallPairs<kSources, F, Bfloat>;
      break;
    default:
      break;
  }
  // Halves round to nearest only.
  if (t != Type::kF32 && t != Type::kF64 && (flags & kRoundMask) != 0) op.run = nullptr;
  return op;
}

template <typename T>
void TestProperty(Warp& warp, const Instruction& in) {
  const T* a = warp.At<T>(in.s[0]);
  uint32_t mask = 0;
  EachLane(warp.exec, [&](int lane) {
    const int kind = std::fpclassify(a[lane]);
    const bool holds = in.flags == 0   ? std::isfinite(a[lane])
                       : in.flags == 1 ? kind == FP_INFINITE
                       : in.flags == 2 ? kind != FP_NAN
                       : in.flags == 3 ? kind == FP_NAN
                       : in.flags == 4 ? kind == FP_NORMAL
                                       : kind == FP_SUBNORMAL || kind == FP_ZERO;
    mask |= holds ? 1u << lane : 0;
  });
  StoreMask(warp, in.d, mask);
}

Operation Test(const Opcode& opcode, Type t) {
  static const char* const kNames[] = {"finite",     "infinite", "number",
                                       "notanumber", "normal",   "subnormal"};
  for (uint32_t n = 0; n < 6; ++n) {
    if (!opcode.Has(kNames[n])) continue;
    return {t == Type::kF32 ? TestProperty<float> : TestProperty<double>, Type::kPred, {t}, n};
  }
  return {};
}

}  // namespace

Operation FindFloat(const Opcode& opcode) {
  const std::vector<Type> types = opcode.Types();
  if (types.size() != 1 || types[0] < Type::kF16) return {};
  const Type t = types[0];
  const std::string& name = opcode.name;
  const uint32_t flags = opcode.Flags();
  const bool whole = t == Type::kF32 || t == Type::kF64;
  if (opcode.Has("relu") || opcode.Has("xorsign") || opcode.Has("oob")) return {};
  if (name == "add") return Of<2, Add>(t, flags);
  if (name == "sub") return Of<2, Sub>(t, flags);
  if (name == "mul") return Of<2, Mul>(t, flags);
  if (name == "fma" || name == "mad") return Of<3, Fma>(t, flags);
  if (name == "min") return opcode.Has("NaN") ? Of<2, MinNan>(t, flags) : Of<2, Min>(t, flags);
  if (name == "max") return opcode.Has("NaN") ? Of<2, MaxNan>(t, flags) : Of<2, Max>(t, flags);
  if (!whole && (name == "neg" || name == "abs")) {
    const bool pair = t == Type::kF16x2 || t == Type::kBf16x2;
    return {pair ? Signs<uint32_t> : Signs<uint16_t>, t, {t}, name == "neg" ? kKeepNan : 0};
  }
  if (name == "neg") return Of<1, Neg>(t, flags);
  if (name == "abs") return Of<1, Abs>(t, flags);
  if (name == "ex2") return Of<1, Ex2>(t, flags);
  if (name == "tanh") return Of<1, Tanh>(t, flags);
  if (!whole) return {};
  if (name == "div") return Of<2, Div>(t, flags);
  if (name == "sqrt") return Of<1, Sqrt>(t, flags);
  if (name == "rsqrt") return Of<1, Rsqrt>(t, flags);
  if (name == "rcp") return Of<1, Rcp>(t, flags);
  if (name == "lg2") return Of<1, Lg2>(t, flags);
  if (name == "sin") return Of<1, Sin>(t, flags);
  if (name == "cos") return Of<1, Cos>(t, flags);
  if (name == "copysign") return Of<2, CopySign>(t, 0);
  if (name == "testp") return Test(opcode, t);
  return {};
}

}  // namespace kiln::fake_cuda
