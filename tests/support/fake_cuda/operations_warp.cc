// Operations: barriers, votes and shuffles of the threads of a warp or block.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "tests/support/fake_cuda/lanes.h"
#include "tests/support/fake_cuda/operations.h"

namespace kiln::fake_cuda {
namespace {

// Instructions of lanes that wait for each other take the mask of lanes as s[0].
enum ShuffleKind : uint32_t { kFromBelow, kFromAbove, kButterfly, kIndex };

// d <- s1 of another lane; s2 is the lane or distance, s3 packs segment mask and clamp.
void Shuffle(Warp& warp, const Instruction& in) {
  uint32_t values[kLanes], result[kLanes] = {}, valid = 0;
  std::memcpy(values, warp.At<uint32_t>(in.s[1]), sizeof(values));
  EachLane(warp.exec, [&](int lane) {
    const int by = static_cast<int>(warp.At<uint32_t>(in.s[2])[lane] & 31);
    const uint32_t c = warp.At<uint32_t>(in.s[3])[lane];
    const int segment = static_cast<int>(c >> 8 & 31), clamp = static_cast<int>(c & 31);
    const int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    int from = 0;
    bool inside = false;
    switch (in.flags) {
      case kFromBelow:
        from = lane - by;
        inside = from >= most;
        break;
      case kFromAbove:
        from = lane + by;
        inside = from <= most;
        break;
      case kButterfly:
        from = lane ^ by;
        inside = from <= most;
        break;
      default:
        from = least | (by & ~segment);
        inside = from <= most;
    }
    if (!inside) from = lane;
    result[lane] = values[from & 31];
    valid |= inside ? 1u << lane : 0;
  });
  EachLane(warp.exec, [&](int lane) { warp.At<uint32_t>(in.d)[lane] = result[lane]; });
  if (in.d2 != kNoOperand) StoreMask(warp, in.d2, valid);
}

uint32_t Votes(const Warp& warp, const Instruction& in, int lane) {
  return *warp.At<uint32_t>(in.s[1]) & warp.member_mask(lane, in.s[0]) & warp.exec;
}

void Ballot(Warp& warp, const Instruction& in) {
  uint32_t result[kLanes];
  EachLane(warp.exec, [&](int lane) { result[lane] = Votes(warp, in, lane); });
  EachLane(warp.exec, [&](int lane) { warp.At<uint32_t>(in.d)[lane] = result[lane]; });
}

template <int kKind>  // 0 all, 1 any, 2 uni
void Vote(Warp& warp, const Instruction& in) {
  uint32_t mask = 0;
  EachLane(warp.exec, [&](int lane) {
    const uint32_t members = warp.member_mask(lane, in.s[0]) & warp.exec;
    const uint32_t votes = Votes(warp, in, lane);
    const bool yes = kKind == 0   ? votes == members
                     : kKind == 1 ? votes != 0
                                  : votes == members || votes == 0;
    mask |= yes ? 1u << lane : 0;
  });
  StoreMask(warp, in.d, mask);
}

template <typename T, bool kAll>
void Match(Warp& warp, const Instruction& in) {
  const T* values = warp.At<T>(in.s[1]);
  uint32_t result[kLanes] = {}, same = 0;
  EachLane(warp.exec, [&](int lane) {
    const uint32_t members = warp.member_mask(lane, in.s[0]) & warp.exec;
    EachLane(members, [&](int other) {
      if (values[other] == values[lane]) result[lane] |= 1u << other;
    });
    if (kAll && result[lane] != members) result[lane] = 0;
    same |= result[lane] != 0 ? 1u << lane : 0;
  });
  EachLane(warp.exec, [&](int lane) { warp.At<uint32_t>(in.d)[lane] = result[lane]; });
  if (in.d2 != kNoOperand) StoreMask(warp, in.d2, same);
}

template <typename T, typename F>
void Reduce(Warp& warp, const Instruction& in) {
  const T* values = warp.At<T>(in.s[1]);
  T result[kLanes];
  EachLane(warp.exec, [&](int lane) {
    const uint32_t members = warp.member_mask(lane, in.s[0]) & warp.exec;
    T sum = values[__builtin_ctz(members)];
    EachLane(members & (members - 1), [&](int other) { sum = F()(sum, values[other]); });
    result[lane] = sum;
  });
  EachLane(warp.exec, [&](int lane) { warp.At<T>(in.d)[lane] = result[lane]; });
}

// clang-format off
struct Add { uint32_t operator()(uint32_t a, uint32_t b) const { return a + b; } };
struct And { uint32_t operator()(uint32_t a, uint32_t b) const { return a & b; } };
struct Or { uint32_t operator()(uint32_t a, uint32_t b) const { return a | b; } };
struct Xor { uint32_t operator()(uint32_t a, uint32_t b) const { return a ^ b; } };
struct Min { template <typename T> T operator()(T a, T b) const { return std::min(a, b); } };
struct Max { template <typename T> T operator()(T a, T b) const { return std::max(a, b); } };
// clang-format on

void ActiveMask(Warp& warp, const Instruction& in) {
  EachLane(warp.exec, [&](int lane) { warp.At<uint32_t>(in.d)[lane] = warp.exec; });
}

void Nothing(Warp&, const Instruction&) {}
void Fence(Warp& warp, const Instruction&) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (warp.is_checked()) warp.NoteFence();
}
void SyncWarp(Warp& warp, const Instruction&) { warp.NoteWarpBarrier(); }

Handler Reducer(const Opcode& opcode, Type t) {
  const bool is_signed = t == Type::kS32;
  if (opcode.Has("add")) return Reduce<uint32_t, Add>;
  if (opcode.Has("and")) return Reduce<uint32_t, And>;
  if (opcode.Has("or")) return Reduce<uint32_t, Or>;
  if (opcode.Has("xor")) return Reduce<uint32_t, Xor>;
  if (opcode.Has("min")) return is_signed ? Reduce<int32_t, Min> : Reduce<uint32_t, Min>;
  if (opcode.Has("max")) return is_signed ? Reduce<int32_t, Max> : Reduce<uint32_t, Max>;
  return nullptr;
}

}  // namespace

Operation FindWarpOperation(const Opcode& opcode) {
  const std::string& name = opcode.name;
  const std::vector<Type> types = opcode.Types();
  const Type t = types.empty() ? Type::kNone : types.back(), n = Type::kU32;
  const Control sync = Control::kConverge;
  if (name == "membar" || name == "fence") return {Fence, Type::kNone, {}};
  if (name == "activemask") return {ActiveMask, n, {}};
  if (name == "nanosleep") return {Nothing, Type::kNone, {n}, 0, Control::kYield};
  if (name == "bar" && opcode.Has("warp")) return {SyncWarp, Type::kNone, {n}, 0, sync};
  if (!opcode.Has("sync")) return {};
  if (name == "shfl") {
    const uint32_t kind = opcode.Has("up")     ? kFromBelow
                          : opcode.Has("down") ? kFromAbove
                          : opcode.Has("bfly") ? kButterfly
                                               : kIndex;
    return {Shuffle, n, {n, n, n, n}, kind, sync};
  }
  if (name == "vote") {
    if (opcode.Has("ballot")) return {Ballot, n, {n, Type::kPred}, 0, sync};
    Handler run = opcode.Has("all") ? Vote<0> : opcode.Has("any") ? Vote<1> : Vote<2>;
    return {run, Type::kPred, {n, Type::kPred}, 0, sync};
  }
  if (name == "match") {
    const bool wide = BytesOf(t) == 8, all = opcode.Has("all");
    Handler run = wide  ? all ? Match<uint64_t, true> : Match<uint64_t, false>
                   : all ? Match<uint32_t, true>
                        : Match<uint32_t, false>;
    return {run, n, {n, t}, 0, sync};
  }
  if (name == "redux" && BytesOf(t) == 4 && t < Type::kF16) {
    return {Reducer(opcode, t), t, {n, t}, 0, sync};
  }
  return {};
}

}  // namespace kiln::fake_cuda
