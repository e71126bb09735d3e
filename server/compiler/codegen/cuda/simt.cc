#include "server/compiler/codegen/cuda/simt.h"

#include <algorithm>
#include <iterator>

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "server/compiler/codegen/cuda/shared_memory.h"
#include "server/compiler/codegen/cuda/thread_loop.h"

namespace kiln::cuda {
namespace {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

// How the operands of an operation become those of its instruction, and its value its result.
enum class Form {
  kPlain,      // as they are
  kVote,       // mask, i32 that is not 0; a truth value
  kBallot,     // i32 that is not 0, of all threads of the warp
  kShuffle,    // mask, value, distance; with a clamp of 31
  kShuffleUp,  // the same, with a clamp of 0
  kMatchAll,   // the instruction also says whether all are equal
  kThread,     // no instruction: the number of the thread in its launch
};

struct Row {
  llvm::StringRef name;
  Form form;
  Intrinsic::ID intrinsic;
};

constexpr Row kRows[] = {
    {"block.sync", Form::kPlain, Intrinsic::nvvm_barrier0},
    {"block.sync_all_nonzero", Form::kPlain, Intrinsic::nvvm_barrier0_and},
    {"block.sync_any_nonzero", Form::kPlain, Intrinsic::nvvm_barrier0_or},
    {"block.sync_count_nonzero", Form::kPlain, Intrinsic::nvvm_barrier0_popc},
    {"block.mem_sync", Form::kPlain, Intrinsic::nvvm_barrier0},
    {"block.thread_idx", Form::kPlain, Intrinsic::nvvm_read_ptx_sreg_tid_x},
    {"block.global_thread_idx", Form::kThread, Intrinsic::not_intrinsic},
    {"grid.memfence", Form::kPlain, Intrinsic::nvvm_membar_gl},
    {"warp.all_nonzero", Form::kVote, Intrinsic::nvvm_vote_all_sync},
    {"warp.any_nonzero", Form::kVote, Intrinsic::nvvm_vote_any_sync},
    {"warp.unique", Form::kVote, Intrinsic::nvvm_vote_uni_sync},
    {"warp.ballot", Form::kBallot, Intrinsic::nvvm_vote_ballot_sync},
    {"warp.shfl_sync_i32", Form::kShuffle, Intrinsic::nvvm_shfl_sync_idx_i32},
    {"warp.shfl_sync_f32", Form::kShuffle, Intrinsic::nvvm_shfl_sync_idx_f32},
    {"warp.shfl_up_i32", Form::kShuffleUp, Intrinsic::nvvm_shfl_sync_up_i32},
    {"warp.shfl_up_f32", Form::kShuffleUp, Intrinsic::nvvm_shfl_sync_up_f32},
    {"warp.shfl_down_i32", Form::kShuffle, Intrinsic::nvvm_shfl_sync_down_i32},
    {"warp.shfl_down_f32", Form::kShuffle, Intrinsic::nvvm_shfl_sync_down_f32},
    {"warp.shfl_xor_i32", Form::kShuffle, Intrinsic::nvvm_shfl_sync_bfly_i32},
    {"warp.match_any", Form::kPlain, Intrinsic::nvvm_match_any_sync_i32},
    {"warp.match_all", Form::kMatchAll, Intrinsic::nvvm_match_all_sync_i32p},
    {"warp.active_mask", Form::kPlain, Intrinsic::nvvm_activemask},
    {"warp.sync", Form::kPlain, Intrinsic::nvvm_bar_warp_sync},
};

constexpr uint32_t kWholeWarp = ~uint32_t{0};

}  // namespace

bool EmitSimt(FunctionEmitter& f, llvm::StringRef name, llvm::ArrayRef<Value*> operands,
              Value** result) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& known) { return known.name == name; });
  if (row == std::end(kRows)) return false;
  llvm::IRBuilder<>& b = f.builder();
  llvm::SmallVector<Value*, 4> given(operands);
  const auto call = [&] { return b.CreateIntrinsic(row->intrinsic, {}, given); };
  const auto is_set = [&](Value* number) { return b.CreateIsNotNull(number); };
  switch (row->form) {
    case Form::kPlain:
      *result = call();
      return true;
    case Form::kVote:
      given[1] = is_set(given[1]);
      *result = b.CreateZExt(call(), b.getInt32Ty());
      return true;
    case Form::kBallot:
      given = {b.getInt32(kWholeWarp), is_set(given[0])};
      *result = call();
      return true;
    case Form::kShuffle:
    case Form::kShuffleUp:
      given.push_back(b.getInt32(row->form == Form::kShuffle ? 31 : 0));
      *result = call();
      return true;
    case Form::kMatchAll:
      *result = b.CreateExtractValue(call(), 0);
      return true;
    case Form::kThread:
      *result = b.CreateTrunc(EmitThreadNumber(b), b.getInt32Ty());
      return true;
  }
  llvm_unreachable("all forms are above");
}

Value* AllocateShared(KernelState* state, llvm::Type* type, int64_t count) {
  auto* array = llvm::ArrayType::get(type, count);
  llvm::GlobalVariable* memory = NewShared(*state->module, array, "shared");
  memory->setAlignment(llvm::Align(kSharedAlign));
  return llvm::ConstantExpr::getAddrSpaceCast(memory,
                                              llvm::PointerType::get(array->getContext(), 0));
}

void MarkConvergent(llvm::Module& module) {
  const bool is_needed = llvm::any_of(
      module, [](const llvm::Function& f) { return f.isIntrinsic() && f.isConvergent(); });
  if (!is_needed) return;
  for (llvm::Function& f : module) {
    if (!f.isDeclaration()) f.setConvergent();
  }
}

}  // namespace kiln::cuda
