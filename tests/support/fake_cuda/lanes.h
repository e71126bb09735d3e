// Templates that run a function on each lane of registers.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_LANES_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_LANES_H_

#include "tests/support/fake_cuda/operations.h"
#include "tests/support/fake_cuda/warp.h"

namespace kiln::fake_cuda {

template <typename F, typename D, typename A>
void Unary(Warp& warp, const Instruction& in) {
  D* d = warp.At<D>(in.d);
  const A* a = warp.At<A>(in.s[0]);
  EachLane(warp.exec, [=](int lane) { d[lane] = F()(a[lane]); });
}

template <typename F, typename D, typename A, typename B>
void Binary(Warp& warp, const Instruction& in) {
  D* d = warp.At<D>(in.d);
  const A* a = warp.At<A>(in.s[0]);
  const B* b = warp.At<B>(in.s[1]);
  EachLane(warp.exec, [=](int lane) { d[lane] = F()(a[lane], b[lane]); });
}

template <typename F, typename D, typename A, typename B, typename C>
void Ternary(Warp& warp, const Instruction& in) {
  D* d = warp.At<D>(in.d);
  const A* a = warp.At<A>(in.s[0]);
  const B* b = warp.At<B>(in.s[1]);
  const C* c = warp.At<C>(in.s[2]);
  EachLane(warp.exec, [=](int lane) { d[lane] = F()(a[lane], b[lane], c[lane]); });
}

inline void StoreMask(Warp& warp, int32_t operand, uint32_t mask) {
  uint32_t* at = warp.At<uint32_t>(operand);
  *at = (*at & ~warp.exec) | (mask & warp.exec);
}

// The handler `Name<F, T...>` for the integer type `type`.
#define KILN_FOR_INTEGERS(type, RESULT) \
  switch (type) {                       \
    case Type::kU8:                     \
      RESULT(uint8_t);                  \
    case Type::kU16:                    \
      RESULT(uint16_t);                 \
    case Type::kU32:                    \
      RESULT(uint32_t);                 \
    case Type::kU64:                    \
      RESULT(uint64_t);                 \
    case Type::kS8:                     \
      RESULT(int8_t);                   \
    case Type::kS16:                    \
      RESULT(int16_t);                  \
    case Type::kS32:                    \
      RESULT(int32_t);                  \
    case Type::kS64:                    \
      RESULT(int64_t);                  \
    default:                            \
      break;                            \
  }

}  // namespace kiln::fake_cuda

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_LANES_H_
