// Operations of the threads of a GPU (ti.simt): barriers, fences, votes, shuffles and numbers of
// threads. A SIMT node names one by its number.
#ifndef KILN_COMMON_LANGUAGE_SIMT_OPS_H_
#define KILN_COMMON_LANGUAGE_SIMT_OPS_H_

#include <cstdint>

#include "kiln/proto/type.pb.h"

namespace kiln {

struct SimtFacts {
  const char* name;      // room.operation, as in ti.simt
  proto::Scalar result;  // SCALAR_NONE: no value
  int num_operands;
  proto::Scalar operands[3];
};

// The numbers of rows are part of the AST: new rows come last.
inline constexpr SimtFacts kSimtOps[] = {
    // All threads of a block.
    {"block.sync", proto::SCALAR_NONE, 0, {}},
    {"block.sync_all_nonzero", proto::I32, 1, {proto::I32}},
    {"block.sync_any_nonzero", proto::I32, 1, {proto::I32}},
    {"block.sync_count_nonzero", proto::I32, 1, {proto::I32}},
    {"block.mem_sync", proto::SCALAR_NONE, 0, {}},
    {"block.thread_idx", proto::I32, 0, {}},
    {"block.global_thread_idx", proto::I32, 0, {}},
    // Orders the thread's accesses for all threads of the launch.
    {"grid.memfence", proto::SCALAR_NONE, 0, {}},
    // Threads of a warp. Those that the first operand names, a mask, all take part.
    {"warp.all_nonzero", proto::I32, 2, {proto::U32, proto::I32}},
    {"warp.any_nonzero", proto::I32, 2, {proto::U32, proto::I32}},
    {"warp.unique", proto::I32, 2, {proto::U32, proto::I32}},
    {"warp.ballot", proto::I32, 1, {proto::I32}},
    {"warp.shfl_sync_i32", proto::I32, 3, {proto::U32, proto::I32, proto::I32}},
    {"warp.shfl_sync_f32", proto::F32, 3, {proto::U32, proto::F32, proto::I32}},
    {"warp.shfl_up_i32", proto::I32, 3, {proto::U32, proto::I32, proto::I32}},
    {"warp.shfl_up_f32", proto::F32, 3, {proto::U32, proto::F32, proto::I32}},
    {"warp.shfl_down_i32", proto::I32, 3, {proto::U32, proto::I32, proto::I32}},
    {"warp.shfl_down_f32", proto::F32, 3, {proto::U32, proto::F32, proto::I32}},
    {"warp.shfl_xor_i32", proto::I32, 3, {proto::U32, proto::I32, proto::I32}},
    {"warp.match_any", proto::U32, 2, {proto::U32, proto::I32}},
    {"warp.match_all", proto::U32, 2, {proto::U32, proto::I32}},
    {"warp.active_mask", proto::U32, 0, {}},
    {"warp.sync", proto::SCALAR_NONE, 1, {proto::U32}},
};

// Threads: of a warp, on all devices; of a block to which the program gives no size; of a block at
// most.
inline constexpr uint32_t kWarpBits = 5;
inline constexpr uint32_t kWarp = 1u << kWarpBits, kUsualBlock = 128, kMostOfBlock = 1024;

// Bytes of the arrays that the threads of a block share: what all devices have without a launch
// that asks for more.
inline constexpr int64_t kMostSharedBytes = int64_t{48} << 10;

inline constexpr uint64_t kNumSimtOps = sizeof kSimtOps / sizeof *kSimtOps;

}  // namespace kiln

#endif  // KILN_COMMON_LANGUAGE_SIMT_OPS_H_
