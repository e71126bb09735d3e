// Operations: loads, stores and atomics.
#include <cmath>
#include <cstring>

#include "tests/support/fake_cuda/half.h"
#include "tests/support/fake_cuda/lanes.h"
#include "tests/support/fake_cuda/operations.h"

namespace kiln::fake_cuda {
namespace {

template <typename T, Space kSpace>
void Load(Warp& warp, const Instruction& in) {
  T* d = warp.At<T>(in.d);
  const uint64_t* addresses = warp.At<uint64_t>(in.s[0]);
  const bool is_checked = warp.is_checked();
  for (uint32_t mask = warp.exec; mask != 0; mask &= mask - 1) {
    const int lane = __builtin_ctz(mask);
    const uint64_t address = addresses[lane] + in.offset;
    const uint8_t* at = warp.Memory<kSpace>(in, lane, address, sizeof(T), in.flags);
    if (at == nullptr) return;
    if (is_checked) warp.Note(in, lane, kSpace, address, sizeof(T), AccessKind::kRead, false);
    // Volatile: threads of other blocks may store at the same time.
    d[lane] = *reinterpret_cast<const volatile T*>(at);
  }
}

template <typename T, Space kSpace>
void Store(Warp& warp, const Instruction& in) {
  const T* value = warp.At<T>(in.s[1]);
  const uint64_t* addresses = warp.At<uint64_t>(in.s[0]);
  const bool is_checked = warp.is_checked();
  for (uint32_t mask = warp.exec; mask != 0; mask &= mask - 1) {
    const int lane = __builtin_ctz(mask);
    const uint64_t address = addresses[lane] + in.offset;
    uint8_t* at = warp.Memory<kSpace>(in, lane, address, sizeof(T), in.flags);
    if (at == nullptr) return;
    if (is_checked) {
      const bool changes = std::memcmp(at, value + lane, sizeof(T)) != 0;
      warp.Note(in, lane, kSpace, address, sizeof(T), AccessKind::kWrite, changes);
    }
    *reinterpret_cast<volatile T*>(at) = value[lane];
  }
}

template <typename T>
Handler LoadFrom(Space space) {
  switch (space) {
    case Space::kGlobal:
    case Space::kConst:
      return Load<T, Space::kGlobal>;
    case Space::kShared:
      return Load<T, Space::kShared>;
    case Space::kLocal:
      return Load<T, Space::kLocal>;
    case Space::kParam:
      return Load<T, Space::kParam>;
    case Space::kGeneric:
      return Load<T, Space::kGeneric>;
  }
  return nullptr;
}

template <typename T>
Handler StoreTo(Space space) {
  switch (space) {
    case Space::kGlobal:
      return Store<T, Space::kGlobal>;
    case Space::kShared:
      return Store<T, Space::kShared>;
    case Space::kLocal:
      return Store<T, Space::kLocal>;
    case Space::kGeneric:
      return Store<T, Space::kGeneric>;
    default:
      return nullptr;
  }
}

// clang-format off
struct AtomicAdd { template <typename T> T operator()(T a, T b) const { return a + b; } };
struct AtomicAddHalf {
  template <typename H> H operator()(H a, H b) const { return H::From(a.Value() + b.Value()); }
  template <typename H> Pair<H> operator()(Pair<H> a, Pair<H> b) const { return {(*this)(a.x, b.x), (*this)(a.y, b.y)}; } };
struct AtomicExchange { template <typename T> T operator()(T, T b) const { return b; } };
struct AtomicMin { template <typename T> T operator()(T a, T b) const { return b < a ? b : a; } };
struct AtomicMax { template <typename T> T operator()(T a, T b) const { return b > a ? b : a; } };
struct AtomicAnd { template <typename T> T operator()(T a, T b) const { return a & b; } };
struct AtomicOr { template <typename T> T operator()(T a, T b) const { return a | b; } };
struct AtomicXor { template <typename T> T operator()(T a, T b) const { return a ^ b; } };
struct AtomicInc { template <typename T> T operator()(T a, T b) const { return a >= b ? 0 : a + 1; } };
struct AtomicDec { template <typename T> T operator()(T a, T b) const { return a == 0 || a > b ? b : a - 1; } };
// clang-format on

template <size_t kBytes>
struct Bits;
template <>
struct Bits<2> {
  using type = uint16_t;
};
template <>
struct Bits<4> {
  using type = uint32_t;
};
template <>
struct Bits<8> {
  using type = uint64_t;
};

template <typename F, typename T, Space kSpace>
void Atomic(Warp& warp, const Instruction& in) {
  using B = typename Bits<sizeof(T)>::type;
  const uint64_t* addresses = warp.At<uint64_t>(in.s[0]);
  for (uint32_t mask = warp.exec; mask != 0; mask &= mask - 1) {
    const int lane = __builtin_ctz(mask);
    const uint64_t address = addresses[lane] + in.offset;
    auto* at = reinterpret_cast<B*>(warp.Memory<kSpace>(in, lane, address, sizeof(T), sizeof(T)));
    if (at == nullptr) return;
    if (warp.is_checked()) {
      warp.Note(in, lane, kSpace, address, sizeof(T), AccessKind::kUpdate, true);
    }
    const T operand = warp.At<T>(in.s[1])[lane];
    B old = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(at, &old, BitCast<B>(F()(BitCast<T>(old), operand)), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    if (in.d != kNoOperand) warp.At<B>(in.d)[lane] = old;
  }
}

template <typename T, Space kSpace>
void CompareAndSwap(Warp& warp, const Instruction& in) {
  const uint64_t* addresses = warp.At<uint64_t>(in.s[0]);
  for (uint32_t mask = warp.exec; mask != 0; mask &= mask - 1) {
    const int lane = __builtin_ctz(mask);
    const uint64_t address = addresses[lane] + in.offset;
    auto* at = reinterpret_cast<T*>(warp.Memory<kSpace>(in, lane, address, sizeof(T), sizeof(T)));
    if (at == nullptr) return;
    if (warp.is_checked()) {
      warp.Note(in, lane, kSpace, address, sizeof(T), AccessKind::kUpdate, true);
    }
    T old = warp.At<T>(in.s[1])[lane];
    __atomic_compare_exchange_n(at, &old, warp.At<T>(in.s[2])[lane], false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    if (in.d != kNoOperand) warp.At<T>(in.d)[lane] = old;
  }
}

template <typename F, typename T>
Handler AtomicIn(Space space) {
  return space == Space::kGlobal   ? Atomic<F, T, Space::kGlobal>
         : space == Space::kShared ? Atomic<F, T, Space::kShared>
                                   : Atomic<F, T, Space::kGeneric>;
}

template <typename T>
Handler SwapIn(Space space) {
  return space == Space::kGlobal   ? CompareAndSwap<T, Space::kGlobal>
         : space == Space::kShared ? CompareAndSwap<T, Space::kShared>
                                   : CompareAndSwap<T, Space::kGeneric>;
}

template <typename F>
Handler IntegerAtomic(Type t, Space space) {
  switch (t) {
    case Type::kU32:
      return AtomicIn<F, uint32_t>(space);
    case Type::kS32:
      return AtomicIn<F, int32_t>(space);
    case Type::kU64:
      return AtomicIn<F, uint64_t>(space);
    case Type::kS64:
      return AtomicIn<F, int64_t>(space);
    default:
      return nullptr;
  }
}

Handler AddAtomic(Type t, Space space) {
  switch (t) {
    case Type::kF32:
      return AtomicIn<AtomicAdd, float>(space);
    case Type::kF64:
      return AtomicIn<AtomicAdd, double>(space);
    case Type::kF16:
      return AtomicIn<AtomicAddHalf, Half>(space);
    case Type::kBf16:
      return AtomicIn<AtomicAddHalf, Bfloat>(space);
    case Type::kF16x2:
      return AtomicIn<AtomicAddHalf, Pair<Half>>(space);
    case Type::kBf16x2:
      return AtomicIn<AtomicAddHalf, Pair<Bfloat>>(space);
    default:
      return IntegerAtomic<AtomicAdd>(t, space);
  }
}

Handler ReadLocalAddress() {
  return [](Warp& warp, const Instruction& in) {
    const uint64_t address = warp.local_base() + in.offset;
    EachLane(warp.exec, [&](int lane) { warp.At<uint64_t>(in.d)[lane] = address; });
  };
}

}  // namespace

Operation FindLoad(Type type, Space space) {
  const int bytes = BytesOf(type);
  Handler run = bytes == 1   ? LoadFrom<uint8_t>(space)
                : bytes == 2 ? LoadFrom<uint16_t>(space)
                : bytes == 4 ? LoadFrom<uint32_t>(space)
                             : LoadFrom<uint64_t>(space);
  return {bytes == 0 ? nullptr : run, type, {Type::kU64}, static_cast<uint32_t>(bytes)};
}

Operation FindStore(Type type, Space space) {
  const int bytes = BytesOf(type);
  Handler run = bytes == 1   ? StoreTo<uint8_t>(space)
                : bytes == 2 ? StoreTo<uint16_t>(space)
                : bytes == 4 ? StoreTo<uint32_t>(space)
                             : StoreTo<uint64_t>(space);
  return {
      bytes == 0 ? nullptr : run, Type::kNone, {Type::kU64, type}, static_cast<uint32_t>(bytes)};
}

Operation FindAtomic(const Opcode& opcode) {
  const std::vector<Type> types = opcode.Types();
  const Space space = opcode.MemorySpace();
  if (types.size() != 1 || opcode.Has("v2") || opcode.Has("v4")) return {};
  if (space != Space::kGlobal && space != Space::kShared && space != Space::kGeneric) return {};
  const Type t = types[0];
  if (opcode.Has("cas")) {
    const int bytes = BytesOf(t);
    Handler run = bytes == 2   ? SwapIn<uint16_t>(space)
                  : bytes == 4 ? SwapIn<uint32_t>(space)
                               : SwapIn<uint64_t>(space);
    return {run, t, {Type::kU64, t, t}};
  }
  Handler run = nullptr;
  if (opcode.Has("add")) run = AddAtomic(t, space);
  if (opcode.Has("exch")) run = IntegerAtomic<AtomicExchange>(t, space);
  if (opcode.Has("min")) run = IntegerAtomic<AtomicMin>(t, space);
  if (opcode.Has("max")) run = IntegerAtomic<AtomicMax>(t, space);
  if (opcode.Has("and")) run = IntegerAtomic<AtomicAnd>(t, space);
  if (opcode.Has("or")) run = IntegerAtomic<AtomicOr>(t, space);
  if (opcode.Has("xor")) run = IntegerAtomic<AtomicXor>(t, space);
  if (opcode.Has("inc") && t == Type::kU32) run = AtomicIn<AtomicInc, uint32_t>(space);
  if (opcode.Has("dec") && t == Type::kU32) run = AtomicIn<AtomicDec, uint32_t>(space);
  return {run, t, {Type::kU64, t}};
}

Handler LocalAddress() { return ReadLocalAddress(); }

}  // namespace kiln::fake_cuda
