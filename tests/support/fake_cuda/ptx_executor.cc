#include "tests/support/fake_cuda/ptx_executor.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

namespace kiln::ptx {
namespace {

// Generic addresses of a thread's own memory; those of the device are far above.
constexpr uint64_t kLocalBase = uint64_t{1} << 32, kLocalBytes = uint64_t{1} << 20;
constexpr uint64_t kParamBase = uint64_t{1} << 33;
constexpr int kMostDepth = 200;

struct Fault {
  std::string text;
};

uint64_t Mask(uint64_t value, int bytes) {
  return bytes >= 8 ? value : value & ((uint64_t{1} << (8 * bytes)) - 1);
}
int64_t Signed(uint64_t value, int bytes) {
  const int shift = 64 - 8 * bytes;
  return static_cast<int64_t>(value << shift) >> shift;
}

template <typename To, typename From>
To Bits(From from) {
  To to{};
  std::memcpy(&to, &from, std::min(sizeof to, sizeof from));
  return to;
}

double Float(uint64_t bits, int bytes) {
  if (bytes == 8) return Bits<double>(bits);
  if (bytes == 4) return Bits<float>(static_cast<uint32_t>(bits));
  return static_cast<double>(Bits<_Float16>(static_cast<uint16_t>(bits)));
}
// `value` is exact, or of the type's own precision already.
uint64_t FromFloat(double value, int bytes) {
  if (bytes == 8) return Bits<uint64_t>(value);
  if (bytes == 4) return Bits<uint32_t>(static_cast<float>(value));
  return Bits<uint16_t>(static_cast<_Float16>(value));
}

class Thread {
 public:
  Thread(const Module& module, const Grid& grid, const Resolve& resolve)
      : module_(module), grid_(grid), resolve_(resolve), local_(kLocalBytes) {}

  void Start(const Function& entry, const uint32_t (&block)[3], const uint32_t (&thread)[3],
             const void* parameters) {
    std::copy(block, block + 3, block_);
    std::copy(thread, thread + 3, thread_);
    std::vector<uint8_t> own(entry.own_bytes);
    std::memcpy(own.data(), parameters, own.size());
    exited_ = false;
    Call(entry, own.data(), 0, 0);
  }

 private:
  struct Frame {
    const Function* function;
    uint64_t* registers;
    uint8_t* own;
    uint8_t* call;
    uint64_t local;  // where its part of the local memory begins
  };

  void Call(const Function& f, uint8_t* own, uint64_t local, int depth);
  bool Step(const Instruction& i, Frame& frame, size_t* next, int depth);
  uint64_t ValueOf(const Operand& o, const Frame& frame) const;
  uint64_t SpecialValue(Special which) const;
  uint8_t* AddressOf(const Instruction& i, const Operand& o, const Frame& frame, uint64_t bytes);
  uint64_t Arithmetic(const Instruction& i, const uint64_t* v) const;
  uint64_t FloatArithmetic(const Instruction& i, const uint64_t* v) const;
  uint64_t Convert(const Instruction& i, uint64_t v) const;
  uint64_t Atom(const Instruction& i, uint8_t* at, const uint64_t* v);
  uint64_t Carry(const Instruction& i, uint64_t a, uint64_t b, uint64_t c);
  static bool Compare(const Instruction& i, uint64_t a, uint64_t b);
  void Set(const Operand& to, Frame& frame, uint64_t value) const {
    if (to.reg >= 0) frame.registers[to.reg] = Mask(value, frame.function->register_bytes[to.reg]);
  }

  const Module& module_;
  const Grid& grid_;
  const Resolve& resolve_;
  std::vector<uint8_t> local_;
  uint32_t block_[3] = {}, thread_[3] = {};
  uint8_t* entry_own_ = nullptr;
  bool exited_ = false;
  bool carry_ = false;
};

uint64_t Thread::SpecialValue(Special which) const {
  const int n = static_cast<int>(which);
  if (which == Special::kLaneId) return thread_[0] % 32;
  if (which == Special::kClock) return 0;
  const uint32_t* of[] = {thread_, grid_.threads, block_, grid_.blocks};
  return of[n / 3][n % 3];
}

uint64_t Thread::ValueOf(const Operand& o, const Frame& frame) const {
  switch (o.form) {
    case Operand::kRegister:
      return frame.registers[o.reg] + static_cast<uint64_t>(o.number);
    case Operand::kNumber:
      return static_cast<uint64_t>(o.number);
    case Operand::kSpecial:
      return SpecialValue(static_cast<Special>(o.number));
    case Operand::kLocal:
      return frame.local + static_cast<uint64_t>(o.number);
    case Operand::kGlobal:
      return module_.variables[static_cast<uint64_t>(o.number) >> 32].address +
             (static_cast<uint64_t>(o.number) & 0xffffffff);
    case Operand::kOwnParam:
      return static_cast<uint64_t>(o.number);
    case Operand::kCallParam:
    case Operand::kNone:
      break;
  }
  throw Fault{"an operand that has no value"};
}

uint8_t* Thread::AddressOf(const Instruction& i, const Operand& o, const Frame& frame,
                           uint64_t bytes) {
  if (i.space == Space::kParam) {
    const auto offset =
        o.form == Operand::kRegister ? static_cast<int64_t>(ValueOf(o, frame)) : o.number;
    const bool is_call = o.form == Operand::kCallParam;
    const int64_t end = is_call ? frame.function->call_bytes : frame.function->own_bytes;
    if (offset < 0 || offset + static_cast<int64_t>(bytes) > end)
      throw Fault{"a parameter beyond the last"};
    return (is_call ? frame.call : frame.own) + offset;
  }
  uint64_t address = ValueOf(o, frame);
  if (i.space == Space::kLocal) address += kLocalBase;
  if (address % bytes != 0) {
    char text[80];
    std::snprintf(text, sizeof text, "an address that is no multiple of %d: 0x%llx",
                  static_cast<int>(bytes), static_cast<unsigned long long>(address));
    throw Fault{text};
  }
  if (address >= kLocalBase && address + bytes <= kLocalBase + kLocalBytes) {
    return local_.data() + (address - kLocalBase);
  }
  if (address >= kParamBase && address < kParamBase + 65536) {
    return entry_own_ + (address - kParamBase);
  }
  uint8_t* at = resolve_(address, bytes);
  if (at == nullptr) {
    char text[80];
    std::snprintf(text, sizeof text, "%d bytes at 0x%llx, which are not allocated",
                  static_cast<int>(bytes), static_cast<unsigned long long>(address));
    throw Fault{text};
  }
  return at;
}

template <typename T>
int Order(T a, T b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

bool Thread::Compare(const Instruction& i, uint64_t a, uint64_t b) {
  const auto which = static_cast<enum Compare>(i.modifiers.compare - 1);
  const int bytes = i.type.bytes;
  bool unordered = false;
  int order;
  if (i.type.kind == Kind::kFloat) {
    const double x = Float(a, bytes), y = Float(b, bytes);
    unordered = std::isnan(x) || std::isnan(y);
    order = Order(x, y);
  } else if (i.type.kind == Kind::kSigned) {
    order = Order(Signed(a, bytes), Signed(b, bytes));
  } else {
    order = Order(Mask(a, bytes), Mask(b, bytes));
  }
  switch (which) {
    case kEq:
      return !unordered && order == 0;
    case kNe:
      return !unordered && order != 0;
    case kLt:
      return !unordered && order < 0;
    case kLe:
      return !unordered && order <= 0;
    case kGt:
      return !unordered && order > 0;
    case kGe:
      return !unordered && order >= 0;
    case kEqu:
      return unordered || order == 0;
    case kNeu:
      return unordered || order != 0;
    case kLtu:
      return unordered || order < 0;
    case kLeu:
      return unordered || order <= 0;
    case kGtu:
      return unordered || order > 0;
    case kGeu:
      return unordered || order >= 0;
    case kNum:
      return !unordered;
    case kNan:
      return unordered;
  }
  return false;
}

template <typename F>
F Extreme(F a, F b, bool least, bool nan) {
  if (std::isnan(a) || std::isnan(b)) {
    if (nan) return std::numeric_limits<F>::quiet_NaN();
    return std::isnan(a) ? b : a;
  }
  if (a == b) return std::signbit(a) == least ? a : b;
  return (a < b) == least ? a : b;
}

template <typename F>
F FloatOp(const Instruction& i, F a, F b, F c) {
  switch (i.op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    case Op::kDiv:
      return a / b;
    case Op::kFma:
    case Op::kMad:
      return std::fma(a, b, c);
    case Op::kAbs:
      return std::fabs(a);
    case Op::kNeg:
      return -a;
    case Op::kMin:
      return Extreme(a, b, true, i.modifiers.nan);
    case Op::kMax:
      return Extreme(a, b, false, i.modifiers.nan);
    case Op::kSqrt:
      return std::sqrt(a);
    case Op::kRsqrt:
      return 1 / std::sqrt(a);
    case Op::kRcp:
      return 1 / a;
    case Op::kEx2:
      return std::exp2(a);
    case Op::kLg2:
      return std::log2(a);
    case Op::kSin:
      return std::sin(a);
    case Op::kCos:
      return std::cos(a);
    case Op::kCopysign:
      return std::copysign(b, a);
    default:
      throw Fault{"an operation that floats do not have"};
  }
}

// Rounds in a direction while it exists. The file is compiled with -frounding-math.
class Rounding {
 public:
  explicit Rounding(char direction) : changed_(direction != 0) {
    if (changed_) {
      std::fesetround(direction == 'z'   ? FE_TOWARDZERO
                      : direction == 'm' ? FE_DOWNWARD
                                         : FE_UPWARD);
    }
  }
  ~Rounding() {
    if (changed_) std::fesetround(FE_TONEAREST);
  }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  const bool changed_;
};

uint64_t Thread::FloatArithmetic(const Instruction& i, const uint64_t* v) const {
  const Rounding rounding(i.modifiers.direction);
  const int bytes = i.type.bytes;
  uint64_t result;
  if (bytes == 8) {
    result = FromFloat(FloatOp<double>(i, Float(v[0], 8), Float(v[1], 8), Float(v[2], 8)), 8);
  } else {
    // Two roundings of a half are one: floats have more than twice its digits.
    const auto f = [&](int n) { return static_cast<float>(Float(v[n], bytes)); };
    const float value = bytes == 2 && (i.op == Op::kFma || i.op == Op::kMad)
                            ? static_cast<float>(static_cast<_Float16>(
                                  Float(v[0], 2) * Float(v[1], 2) + Float(v[2], 2)))
                            : FloatOp<float>(i, f(0), f(1), f(2));
    result = FromFloat(static_cast<double>(value), bytes);
  }
  if (i.modifiers.saturate) {
    const double value = Float(result, bytes);
    result = FromFloat(std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0), bytes);
  }
  return result;
}

uint64_t Thread::Arithmetic(const Instruction& i, const uint64_t* v) const {
  const int bytes = i.type.bytes, bits = 8 * bytes;
  const bool is_signed = i.type.kind == Kind::kSigned;
  const uint64_t a = Mask(v[0], bytes), b = Mask(v[1], bytes), c = v[2];
  const int64_t x = Signed(v[0], bytes), y = Signed(v[1], bytes);
  switch (i.op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
    case Op::kMad: {
      const uint64_t more = i.op == Op::kMad ? c : 0;
      if (i.modifiers.wide) return (is_signed ? static_cast<uint64_t>(x * y) : a * b) + more;
      if (!i.modifiers.high) return a * b + more;
      if (is_signed) {
        return static_cast<uint64_t>((static_cast<__int128>(x) * y) >> bits) + more;
      }
      return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> bits) + more;
    }
    case Op::kDiv:
      if (b == 0) return ~uint64_t{0};
      if (is_signed) return y == -1 ? 0 - a : static_cast<uint64_t>(x / y);
      return a / b;
    case Op::kRem:
      if (b == 0) return a;
      if (is_signed) return y == -1 ? 0 : static_cast<uint64_t>(x % y);
      return a % b;
    case Op::kAbs:
      return x < 0 ? 0 - a : a;
    case Op::kNeg:
      return 0 - a;
    case Op::kMin:
      return is_signed ? static_cast<uint64_t>(std::min(x, y)) : std::min(a, b);
    case Op::kMax:
      return is_signed ? static_cast<uint64_t>(std::max(x, y)) : std::max(a, b);
    case Op::kAnd:
      return a & b;
    case Op::kOr:
      return a | b;
    case Op::kXor:
      return a ^ b;
    case Op::kNot:
      return i.type.kind == Kind::kPredicate ? static_cast<uint64_t>(a == 0) : ~a;
    case Op::kShl: {
      const auto by = static_cast<uint32_t>(v[1]);
      return by >= static_cast<uint32_t>(bits) ? 0 : a << by;
    }
    case Op::kShr: {
      const auto by = std::min<uint32_t>(static_cast<uint32_t>(v[1]), bits);
      if (is_signed) return static_cast<uint64_t>(x >> std::min<uint32_t>(by, 63));
      return by >= static_cast<uint32_t>(bits) ? 0 : a >> by;
    }
    case Op::kPopc:
      return static_cast<uint64_t>(__builtin_popcountll(a));
    case Op::kClz:
      return static_cast<uint64_t>(a == 0 ? bits : __builtin_clzll(a) - (64 - bits));
    case Op::kBfind: {
      const uint64_t of = is_signed && x < 0 ? Mask(~a, bytes) : a;
      return of == 0 ? 0xffffffff : static_cast<uint64_t>(63 - __builtin_clzll(of));
    }
    case Op::kBrev: {
      uint64_t reversed = 0;
      for (int n = 0; n < bits; ++n) reversed |= (a >> n & 1) << (bits - 1 - n);
      return reversed;
    }
    case Op::kBfe: {
      const uint32_t at = v[1] & 255, length = c & 255;
      if (length == 0) return 0;
      uint64_t field = at >= static_cast<uint32_t>(bits) ? 0 : a >> at;
      if (is_signed && at >= static_cast<uint32_t>(bits)) field = x < 0 ? ~uint64_t{0} : 0;
      if (is_signed) {
        const uint32_t top = std::min<uint32_t>(at + length - 1, bits - 1);
        const bool sign = a >> top & 1;
        if (length < 64) field &= (uint64_t{1} << length) - 1;
        if (sign && length < 64)
          field |= ~uint64_t{0} << std::min<uint32_t>(length, top + 1 - std::min(at, top));
        return field;
      }
      return length < 64 ? field & ((uint64_t{1} << length) - 1) : field;
    }
    case Op::kBfi: {
      const uint32_t at = c & 255, length = v[3] & 255;
      if (at >= static_cast<uint32_t>(bits)) return b;
      const uint64_t mask = (length < 64 ? (uint64_t{1} << length) - 1 : ~uint64_t{0}) << at;
      return (b & ~mask) | ((a << at) & mask);
    }
    case Op::kPrmt: {
      const uint64_t both = a | b << 32;
      uint64_t result = 0;
      for (int n = 0; n < 4; ++n) {
        const auto selector = static_cast<uint32_t>(c >> (4 * n) & 15);
        uint64_t byte = both >> (8 * (selector & 7)) & 255;
        if (selector & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << (8 * n);
      }
      return result;
    }
    case Op::kShf: {
      const uint64_t both = a | b << 32;
      const auto by = i.modifiers.clamp ? std::min<uint32_t>(static_cast<uint32_t>(c), 32)
                                        : static_cast<uint32_t>(c) & 31;
      return i.modifiers.shift_left ? (both << by) >> 32 : both >> by;
    }
    default:
      throw Fault{"an operation that integers do not have"};
  }
}

uint64_t Thread::Convert(const Instruction& i, uint64_t v) const {
  const Type to = i.type, from = i.source;
  const Rounding rounding(i.modifiers.direction);
  if (from.kind != Kind::kFloat) {
    const bool is_signed = from.kind == Kind::kSigned;
    const uint64_t wide =
        is_signed ? static_cast<uint64_t>(Signed(v, from.bytes)) : Mask(v, from.bytes);
    if (to.kind != Kind::kFloat) {
      if (i.modifiers.saturate) throw Fault{"cvt.sat of integers"};
      return to.kind == Kind::kSigned
                 ? static_cast<uint64_t>(
                       Signed(wide, std::min(to.bytes, from.bytes) == to.bytes ? to.bytes : 8))
                 : Mask(wide, to.bytes);
    }
    // One rounding: to a float from the integer itself.
    if (to.bytes == 4) {
      return FromFloat(
          is_signed ? static_cast<float>(static_cast<int64_t>(wide)) : static_cast<float>(wide), 4);
    }
    return FromFloat(
        is_signed ? static_cast<double>(static_cast<int64_t>(wide)) : static_cast<double>(wide),
        to.bytes);
  }
  double value = Float(v, from.bytes);
  switch (i.modifiers.round) {
    case 'n':
      value = std::nearbyint(value);
      break;
    case 'z':
      value = std::trunc(value);
      break;
    case 'm':
      value = std::floor(value);
      break;
    case 'p':
      value = std::ceil(value);
      break;
    default:
      break;
  }
  if (to.kind == Kind::kFloat) {
    if (i.modifiers.saturate) value = std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0);
    return FromFloat(value, to.bytes);
  }
  const int bits = 8 * to.bytes;
  if (std::isnan(value)) {
    return from.bytes == 8 || to.bytes == 8 ? uint64_t{1} << (bits - 1) : 0;
  }
  if (to.kind == Kind::kSigned) {
    const double limit = std::ldexp(1.0, bits - 1);
    if (value >= limit) return (uint64_t{1} << (bits - 1)) - 1;
    if (value < -limit) return uint64_t{1} << (bits - 1);
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
  if (value <= 0) return 0;
  if (value >= std::ldexp(1.0, bits)) return Mask(~uint64_t{0}, to.bytes);
  return static_cast<uint64_t>(value);
}

// Sums with the carry of the instruction before, or for the one after.
uint64_t Thread::Carry(const Instruction& i, uint64_t a, uint64_t b, uint64_t c) {
  const int bytes = i.type.bytes;
  uint64_t x = Mask(a, bytes), y = Mask(b, bytes);
  if (i.op == Op::kMad) {
    Instruction product = i;
    product.op = Op::kMul;
    const uint64_t v[4] = {a, b, 0, 0};
    x = Mask(Arithmetic(product, v), bytes);
    y = Mask(c, bytes);
  }
  const unsigned __int128 carry = i.modifiers.carry_in && carry_ ? 1 : 0;
  const unsigned __int128 wide = i.op == Op::kSub ? static_cast<unsigned __int128>(x) - y - carry
                                                  : static_cast<unsigned __int128>(x) + y + carry;
  if (i.modifiers.carry_out) carry_ = (wide >> (8 * bytes) & 1) != 0;
  return static_cast<uint64_t>(wide);
}

// Threads run one after the other, so a plain update is atomic.
uint64_t Thread::Atom(const Instruction& i, uint8_t* at, const uint64_t* v) {
  uint64_t old = 0;
  std::memcpy(&old, at, i.type.bytes);
  Instruction plain = i;
  uint64_t operands[4] = {old, v[1], 0, 0};
  uint64_t made = 0;
  switch (static_cast<Update>(i.modifiers.update)) {
    case kUpAdd:
      plain.op = Op::kAdd;
      made = i.type.kind == Kind::kFloat ? FloatArithmetic(plain, operands) : old + v[1];
      break;
    case kUpMin:
    case kUpMax:
      plain.op = i.modifiers.update == kUpMin ? Op::kMin : Op::kMax;
      made = Arithmetic(plain, operands);
      break;
    case kUpAnd:
      made = old & v[1];
      break;
    case kUpOr:
      made = old | v[1];
      break;
    case kUpXor:
      made = old ^ v[1];
      break;
    case kUpExch:
      made = v[1];
      break;
    case kUpCas:
      made = old == Mask(v[1], i.type.bytes) ? v[2] : old;
      break;
    case kUpInc:
      made = old >= v[1] ? 0 : old + 1;
      break;
    case kUpDec:
      made = old == 0 || old > v[1] ? v[1] : old - 1;
      break;
  }
  std::memcpy(at, &made, i.type.bytes);
  return old;
}

// Runs one instruction. False: the function ends.
bool Thread::Step(const Instruction& i, Frame& frame, size_t* next, int depth) {
  const auto value = [&](size_t n) { return n < i.from.size() ? ValueOf(i.from[n], frame) : 0; };
  switch (i.op) {
    case Op::kBra:
      *next = static_cast<size_t>(i.target);
      return true;
    case Op::kRet:
      return false;
    case Op::kExit:
      exited_ = true;
      return false;
    case Op::kTrap:
      throw Fault{"trap"};
    case Op::kFence:
      return true;
    case Op::kCall: {
      const std::vector<Place>& places = frame.function->arguments.at(*next - 1);
      std::vector<uint8_t> own(static_cast<size_t>(i.callee->own_bytes));
      for (size_t p = 0; p < i.callee->parameters.size(); ++p) {
        const Place& to = i.callee->parameters[p];
        std::memcpy(&own[static_cast<size_t>(to.offset)], frame.call + places[p + 1].offset,
                    static_cast<size_t>(to.bytes));
      }
      Call(*i.callee, own.data(), frame.local + ((frame.function->local_bytes + 15) & ~15),
           depth + 1);
      if (places[0].bytes > 0) {
        std::memcpy(frame.call + places[0].offset,
                    &own[static_cast<size_t>(i.callee->result.offset)],
                    static_cast<size_t>(places[0].bytes));
      }
      return !exited_;
    }
    case Op::kLd: {
      const int bytes = i.type.bytes, count = i.modifiers.vector;
      const uint8_t* at = AddressOf(i, i.from[0], frame, static_cast<uint64_t>(bytes) * count);
      for (int n = 0; n < count; ++n) {
        uint64_t word = 0;
        std::memcpy(&word, at + n * bytes, bytes);
        if (i.type.kind == Kind::kSigned) word = static_cast<uint64_t>(Signed(word, bytes));
        Set(i.to[n], frame, word);
      }
      return true;
    }
    case Op::kSt: {
      const int bytes = i.type.bytes, count = i.modifiers.vector;
      uint8_t* at = AddressOf(i, i.from[0], frame, static_cast<uint64_t>(bytes) * count);
      for (int n = 0; n < count; ++n) {
        const uint64_t word = value(static_cast<size_t>(n) + 1);
        std::memcpy(at + n * bytes, &word, bytes);
      }
      return true;
    }
    case Op::kAtom: {
      const uint64_t v[4] = {0, value(1), value(2), 0};
      const uint64_t old = Atom(i, AddressOf(i, i.from[0], frame, i.type.bytes), v);
      if (!i.to.empty()) Set(i.to[0], frame, old);
      return true;
    }
    case Op::kSetp: {
      bool result = Compare(i, value(0), value(1));
      const bool other = i.from.size() > 2 && value(2) != 0;
      const auto combine = [&](bool one) {
        return i.modifiers.combine == '&'   ? one && other
               : i.modifiers.combine == '|' ? one || other
               : i.modifiers.combine == '^' ? one != other
                                            : one;
      };
      Set(i.to[0], frame, combine(result));
      if (i.to.size() > 1) Set(i.to[1], frame, combine(!result));
      return true;
    }
    case Op::kAdd:
    case Op::kSub:
    case Op::kMad:
      if (i.modifiers.carry_in || i.modifiers.carry_out) {
        Set(i.to[0], frame, Carry(i, value(0), value(1), value(2)));
        return true;
      }
      [[fallthrough]];
    default: {
      const uint64_t v[4] = {value(0), value(1), value(2), value(3)};
      Set(i.to[0], frame, i.type.kind == Kind::kFloat ? FloatArithmetic(i, v) : Arithmetic(i, v));
      return true;
    }
    case Op::kSelp:
      Set(i.to[0], frame, value(value(2) != 0 ? 0 : 1));
      return true;
    case Op::kTestp: {
      const double x = Float(value(0), i.type.bytes);
      const char what = static_cast<char>(i.modifiers.compare);
      Set(i.to[0], frame,
          what == 'f'   ? std::isfinite(x)
          : what == 'i' ? std::isinf(x)
                        : std::isnan(x) == (what == 'a'));
      return true;
    }
    case Op::kMov: {
      if (i.to.size() > 1) {  // unpacks
        const int part = i.type.bytes / static_cast<int>(i.to.size());
        for (size_t n = 0; n < i.to.size(); ++n) Set(i.to[n], frame, value(0) >> (8 * part * n));
      } else if (i.from.size() > 1) {
        const int part = i.type.bytes / static_cast<int>(i.from.size());
        uint64_t packed = 0;
        for (size_t n = 0; n < i.from.size(); ++n) packed |= Mask(value(n), part) << (8 * part * n);
        Set(i.to[0], frame, packed);
      } else {
        Set(i.to[0], frame, value(0));
      }
      return true;
    }
    case Op::kCvta: {
      const uint64_t base = i.space == Space::kLocal   ? kLocalBase
                            : i.space == Space::kParam ? kParamBase
                                                       : 0;
      Set(i.to[0], frame, i.modifiers.to ? value(0) - base : value(0) + base);
      return true;
    }
    case Op::kCvt:
      Set(i.to[0], frame, Convert(i, value(0)));
      return true;
  }
}

void Thread::Call(const Function& f, uint8_t* own, uint64_t local, int depth) {
  if (depth > kMostDepth || local + static_cast<uint64_t>(f.local_bytes) > kLocalBytes) {
    throw Fault{"the stack is full"};
  }
  std::vector<uint64_t> registers(f.register_bytes.size());
  std::vector<uint8_t> call(static_cast<size_t>(f.call_bytes) + 8);
  Frame frame{&f, registers.data(), own, call.data(), local};
  if (depth == 0) entry_own_ = own;
  size_t at = 0;
  try {
    while (at < f.code.size() && !exited_) {
      const Instruction& i = f.code[at++];
      if (i.predicate >= 0 && (registers[i.predicate] != 0) == i.negated) continue;
      if (!Step(i, frame, &at, depth)) return;
    }
  } catch (Fault& fault) {
    if (fault.text.rfind("line ", 0) != 0) {
      fault.text =
          "line " + std::to_string(f.code[at - 1].line) + " of " + f.name + ": " + fault.text;
    }
    throw;
  }
}

}  // namespace

std::string Run(const Module& module, const Function& entry, const Grid& grid,
                const void* parameters, const Resolve& resolve) {
  Thread thread(module, grid, resolve);
  const uint64_t threads = uint64_t{grid.threads[0]} * grid.threads[1] * grid.threads[2];
  if (threads == 0 || threads > 1024 || (entry.most_threads > 0 && threads > entry.most_threads)) {
    return "blocks of " + std::to_string(threads) + " threads";
  }
  try {
    uint32_t b[3], t[3];
    // In no order that a program may rely on: the last first.
    for (b[2] = grid.blocks[2]; b[2]-- > 0;) {
      for (b[1] = grid.blocks[1]; b[1]-- > 0;) {
        for (b[0] = grid.blocks[0]; b[0]-- > 0;) {
          for (t[2] = grid.threads[2]; t[2]-- > 0;) {
            for (t[1] = grid.threads[1]; t[1]-- > 0;) {
              for (t[0] = grid.threads[0]; t[0]-- > 0;) thread.Start(entry, b, t, parameters);
            }
          }
        }
      }
    }
  } catch (const Fault& fault) {
    return fault.text;
  }
  return "";
}

}  // namespace kiln::ptx
