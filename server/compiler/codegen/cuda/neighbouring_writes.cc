#include "server/compiler/codegen/cuda/neighbouring_writes.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/language/simt_ops.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "server/compiler/codegen/cuda/shared_memory.h"

namespace kiln::cuda {
namespace {

using llvm::AtomicRMWInst;
using llvm::Value;

constexpr char kThreads[] = "kiln-block-threads";
constexpr uint64_t kOriginBytes = 8;
// Of a warp. A block of 128 threads then takes 8 KB, which leaves room for as many blocks as run at
// once anyway.
constexpr uint64_t kMostBytes = 2048;
// The values of a run wait in registers for the last one: so many other writes between two of its
// own end it.
constexpr size_t kMostBetween = 16;
// Of the computation of an address that are looked at.
constexpr size_t kMostSteps = 256;
// Of a function. NVIDIA's compiler takes one or two milliseconds for each.
constexpr size_t kMostWrites = 256;

// --- Which writes ----------------------------------------------------------------------------

// A write is a store, or an atomic update whose old value is not used.
Value* PlaceOf(const llvm::Instruction& write) {
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&write);
  return const_cast<Value*>(store != nullptr
                                ? store->getPointerOperand()
                                : llvm::cast<AtomicRMWInst>(write).getPointerOperand());
}

Value* ValueOf(const llvm::Instruction& write) {
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&write);
  return const_cast<Value*>(store != nullptr ? store->getValueOperand()
                                             : llvm::cast<AtomicRMWInst>(write).getValOperand());
}

llvm::Align AlignOf(const llvm::Instruction& write) {
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&write);
  return store != nullptr ? store->getAlign() : llvm::cast<AtomicRMWInst>(write).getAlign();
}

bool AreOfOneKind(const llvm::Instruction& a, const llvm::Instruction& b) {
  if (a.getOpcode() != b.getOpcode() || ValueOf(a)->getType() != ValueOf(b)->getType())
    return false;
  const auto* atomic = llvm::dyn_cast<AtomicRMWInst>(&a);
  return atomic == nullptr || atomic->getOperation() == llvm::cast<AtomicRMWInst>(b).getOperation();
}

// Writes of one kind, of elements that follow each other.
struct Run {
  Value* base;
  int64_t begin;                           // of the first element, in bytes from the base
  std::vector<llvm::Instruction*> writes;  // by element
  llvm::Instruction* last;                 // in the program's order
  size_t number;                           // of `last` among all writes of the basic block

  uint64_t ElementBytes() const { return ValueOf(*last)->getType()->getPrimitiveSizeInBits() / 8; }
  // Of one lane, in elements. Odd, so that the lanes write to different banks.
  uint64_t Stride() const { return writes.size() | 1; }
  uint64_t Bytes() const { return kWarp * (kOriginBytes + Stride() * ElementBytes()); }
  bool HasRoom() const {
    return Bytes() + kWarp * 2 * ElementBytes() <= kMostBytes;  // the stride may grow by two
  }
};

// Updates that a device has instructions for.
bool IsNative(const AtomicRMWInst& atomic) {
  switch (atomic.getOperation()) {
    case AtomicRMWInst::Add:
    case AtomicRMWInst::FAdd:
    case AtomicRMWInst::And:
    case AtomicRMWInst::Or:
    case AtomicRMWInst::Xor:
    case AtomicRMWInst::Min:
    case AtomicRMWInst::Max:
    case AtomicRMWInst::UMin:
    case AtomicRMWInst::UMax:
      return true;
    default:
      return false;
  }
}

// Of memory that the launch names: the alias scopes say so. Copies in shared memory, and arrays
// there, have none.
bool IsWrite(const llvm::Instruction& instruction) {
  if (!instruction.hasMetadata(llvm::LLVMContext::MD_alias_scope)) return false;
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    if (!store->isSimple()) return false;
  } else if (const auto* atomic = llvm::dyn_cast<AtomicRMWInst>(&instruction)) {
    if (!atomic->use_empty() || atomic->isVolatile() || !IsNative(*atomic) ||
        atomic->getOrdering() != llvm::AtomicOrdering::Monotonic) {
      return false;
    }
  } else {
    return false;
  }
  const llvm::Type* type = ValueOf(instruction)->getType();
  const unsigned bits = type->getPrimitiveSizeInBits();  // 0: a pointer
  return !type->isVectorTy() && (bits == 32 || bits == 64) &&
         AlignOf(instruction).value() * 8 >= bits &&
         !llvm::isa<llvm::GlobalVariable>(llvm::getUnderlyingObject(PlaceOf(instruction)));
}

// Whether data choose the place, so that neighbouring lanes are likely to be at others. At places
// that follow from the number of the thread, the cache gets whole sectors as it is.
bool DependsOnData(Value* base) {
  llvm::SmallPtrSet<Value*, 32> seen;
  llvm::SmallVector<Value*, 16> open = {base};
  while (!open.empty() && seen.size() < kMostSteps) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(open.pop_back_val());
    if (instruction == nullptr || !seen.insert(instruction).second) continue;
    // Loads of what the launch passes have no scope.
    if (instruction->mayReadFromMemory() &&
        (llvm::isa<llvm::CallBase>(instruction) ||
         instruction->hasMetadata(llvm::LLVMContext::MD_alias_scope))) {
      return true;
    }
    if (!llvm::isa<llvm::LoadInst>(instruction)) {
      open.append(instruction->value_op_begin(), instruction->value_op_end());
    }
  }
  return false;
}

// Whether lanes write to fewer sectors in a row.
bool Pays(const Run& run) {
  if (run.writes.size() < 2) return false;
  if (llvm::isa<AtomicRMWInst>(run.last)) return DependsOnData(run.base);
  // Otherwise LLVM makes one instruction of them: so it does in chunks (chunks.h).
  constexpr uint64_t kWidest = 16;
  return AlignOf(*run.writes[0]).value() <
         std::min(kWidest, run.writes.size() * run.ElementBytes());
}

// Finds the runs of a basic block: goes through its instructions, and keeps runs open until an
// instruction may see that their writes have waited, or many others have come.
class RunFinder {
 public:
  explicit RunFinder(llvm::BatchAAResults& aliases) : aliases_(aliases) {}

  // In the order of their last writes.
  std::vector<Run> Find(llvm::BasicBlock& block) {
    size_t number = 0;
    for (llvm::Instruction& instruction : block) {
      if (!instruction.mayReadOrWriteMemory()) continue;
      CloseIf([&](const Run& run) { return Sees(instruction, run); });
      if (!IsWrite(instruction)) continue;
      ++number;
      CloseIf([&](const Run& run) { return number - run.number > kMostBetween; });
      Add(instruction, number);
    }
    CloseIf([](const Run&) { return true; });
    llvm::stable_sort(found_,
                      [](const Run& a, const Run& b) { return a.last->comesBefore(b.last); });
    return std::move(found_);
  }

 private:
  // Whether the instruction may see, or change, which of the run's writes have been made.
  bool Sees(const llvm::Instruction& instruction, const Run& run) {
    const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (intrinsic != nullptr && intrinsic->isAssumeLikeIntrinsic()) return false;
    // Updates of one kind may change places, whether they meet or not.
    if (llvm::isa<AtomicRMWInst>(instruction) && IsWrite(instruction) &&
        AreOfOneKind(instruction, *run.last)) {
      return false;
    }
    if (instruction.isFenceLike() || llvm::isa<llvm::CallBase>(instruction)) return true;
    return llvm::any_of(run.writes, [&](const llvm::Instruction* write) {
      return llvm::isModOrRefSet(
          aliases_.getModRefInfo(&instruction, llvm::MemoryLocation::get(write)));
    });
  }

  void Add(llvm::Instruction& write, size_t number) {
    llvm::APInt offset(64, 0);
    Value* base = PlaceOf(write)->stripAndAccumulateConstantOffsets(
        write.getModule()->getDataLayout(), offset, /*AllowNonInbounds=*/true);
    const int64_t at = offset.getSExtValue();
    for (Run& run : open_) {
      if (run.base != base || !AreOfOneKind(write, *run.last) || !run.HasRoom()) continue;
      const auto bytes = static_cast<int64_t>(run.ElementBytes());
      if (at == run.begin + bytes * static_cast<int64_t>(run.writes.size())) {
        run.writes.push_back(&write);
      } else if (at + bytes == run.begin) {
        run.writes.insert(run.writes.begin(), &write);
        run.begin = at;
      } else {
        continue;
      }
      run.last = &write;
      run.number = number;
      return;
    }
    open_.push_back({base, at, {&write}, &write, number});
  }

  void CloseIf(llvm::function_ref<bool(const Run&)> ends) {
    llvm::erase_if(open_, [&](Run& run) {
      if (!ends(run)) return false;
      if (Pays(run)) found_.push_back(std::move(run));
      return true;
    });
  }

  llvm::BatchAAResults& aliases_;
  std::vector<Run> open_, found_;
};

// --- What becomes of them ----------------------------------------------------------------------

// Emits the writes of runs in one function, in memory for each of its warps.
class HandOver {
 public:
  HandOver(llvm::Function& function, uint64_t warps, uint64_t bytes_of_warp) {
    llvm::IRBuilder<> b(&*function.getEntryBlock().getFirstInsertionPt());
    auto* type = llvm::ArrayType::get(b.getInt64Ty(), warps * bytes_of_warp / 8);
    llvm::GlobalVariable* memory = NewShared(*function.getParent(), type, "handed_over");
    memory->setAlignment(llvm::Align(kSharedAlign));
    Value* thread = b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}, {});
    lane_ = b.CreateAnd(thread, b.getInt32(kWarp - 1));
    origins_ = b.CreateInBoundsGEP(
        b.getInt8Ty(), memory,
        b.CreateMul(b.CreateLShr(thread, b.getInt32(kWarpBits)), b.getInt32(bytes_of_warp)));
    values_ = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), origins_, kWarp * kOriginBytes);
  }

  void Emit(const Run& run) {
    llvm::IRBuilder<> b(run.last);
    Value* lanes = b.CreateIntrinsic(llvm::Intrinsic::nvvm_activemask, {}, {});
    Value* is_whole = b.CreateICmpEQ(lanes, b.getInt32(~0u));
    llvm::Instruction *whole, *others;
    llvm::SplitBlockAndInsertIfThenElse(
        is_whole, run.last->getIterator(), &whole, &others,
        llvm::MDBuilder(b.getContext()).createLikelyBranchWeights());
    b.SetInsertPoint(whole);
    Give(b, run);
    Barrier(b);
    Take(b, run);
    Barrier(b);
    for (llvm::Instruction* write : run.writes) write->moveBefore(others);
  }

 private:
  static void Barrier(llvm::IRBuilder<>& b) {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {b.getInt32(~0u)});
  }

  Value* OriginOf(llvm::IRBuilder<>& b, Value* lane) {
    return b.CreateInBoundsGEP(b.getInt64Ty(), origins_, lane);
  }
  // Of element `number` of all, which is that of lane `giver`.
  Value* ValueAt(llvm::IRBuilder<>& b, const Run& run, Value* giver, Value* number) {
    if (run.Stride() != run.writes.size()) number = b.CreateAdd(number, giver);
    return b.CreateInBoundsGEP(ValueOf(*run.last)->getType(), values_, number);
  }
  // As i64.
  Value* BytesOf(llvm::IRBuilder<>& b, const Run& run, Value* elements) {
    Value* bytes = b.CreateMul(elements, b.getInt32(run.ElementBytes()));
    return b.CreateZExt(bytes, b.getInt64Ty());
  }

  // The lane's elements are `length` of those of the warp, from lane * length on.
  void Give(llvm::IRBuilder<>& b, const Run& run) {
    Value* first = b.CreateMul(lane_, b.getInt32(run.writes.size()));
    // All that launches name is in global memory.
    Value* place = b.CreateAddrSpaceCast(PlaceOf(*run.writes[0]), b.getPtrTy(kGlobalSpace));
    place = b.CreatePtrToInt(place, b.getInt64Ty());
    b.CreateStore(b.CreateSub(place, BytesOf(b, run, first)), OriginOf(b, lane_));
    for (const auto& [i, write] : llvm::enumerate(run.writes)) {
      b.CreateStore(ValueOf(*write), ValueAt(b, run, lane_, b.CreateAdd(first, b.getInt32(i))));
    }
  }

  // Each lane takes every 32nd of the warp's elements.
  void Take(llvm::IRBuilder<>& b, const Run& run) {
    llvm::Type* type = ValueOf(*run.last)->getType();
    Value* lane_bytes = BytesOf(b, run, lane_);
    for (size_t round = 0; round < run.writes.size(); ++round) {
      Value* number = b.CreateAdd(lane_, b.getInt32(round * kWarp));
      Value* giver = b.CreateUDiv(number, b.getInt32(run.writes.size()));
      Value* value = b.CreateLoad(type, ValueAt(b, run, giver, number));
      Value* origin = b.CreateLoad(b.getInt64Ty(), OriginOf(b, giver));
      Value* place = b.CreateIntToPtr(b.CreateAdd(origin, lane_bytes), b.getPtrTy(kGlobalSpace));
      place = b.CreateConstGEP1_64(b.getInt8Ty(), place, round * kWarp * run.ElementBytes());
      Write(b, run, value, place);
    }
  }

  // Without alias scopes: those of the run may be of several iterations.
  static void Write(llvm::IRBuilder<>& b, const Run& run, Value* value, Value* place) {
    const llvm::Align align(run.ElementBytes());
    const auto* atomic = llvm::dyn_cast<AtomicRMWInst>(run.last);
    if (atomic == nullptr) {
      b.CreateAlignedStore(value, place, align);
      return;
    }
    b.CreateAtomicRMW(atomic->getOperation(), place, value, align, atomic->getOrdering(),
                      atomic->getSyncScopeID());
  }

  Value* lane_;
  // Of the warp, in shared memory. Where element 0 of all lanes would be if a lane's elements went
  // on to both sides; and the values.
  Value* origins_;
  Value* values_;
};

// Whether an instruction of the entry, or of a function that it may call, uses the constant.
bool UsesIt(const llvm::Constant& constant, const llvm::Function& entry) {
  return llvm::any_of(constant.users(), [&](const llvm::User* user) {
    if (const auto* whole = llvm::dyn_cast<llvm::Constant>(user)) return UsesIt(*whole, entry);
    const llvm::Function* function = llvm::cast<llvm::Instruction>(user)->getFunction();
    return function == &entry || function->getCallingConv() != llvm::CallingConv::PTX_Kernel;
  });
}

uint64_t SharedBytes(const llvm::Function& entry) {
  const llvm::Module& module = *entry.getParent();
  uint64_t bytes = 0;
  for (const llvm::GlobalVariable& global : module.globals()) {
    if (global.getAddressSpace() != kSharedSpace || !UsesIt(global, entry)) continue;
    // With what its alignment may cost.
    bytes += module.getDataLayout().getTypeAllocSize(global.getValueType()) + kSharedAlign;
  }
  return bytes;
}

bool Change(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const uint64_t threads = function.getFnAttributeAsParsedInteger(kThreads);
  if (threads < kWarp || function.getCallingConv() != llvm::CallingConv::PTX_Kernel) return false;
  std::vector<Run> runs;
  uint64_t bytes_of_warp = 0;
  size_t writes = 0;
  {
    llvm::BatchAAResults aliases(analyses.getResult<llvm::AAManager>(function));
    for (llvm::BasicBlock& block : function) {
      for (Run& run : RunFinder(aliases).Find(block)) {
        writes += run.writes.size();
        if (writes > kMostWrites) break;
        bytes_of_warp = std::max(bytes_of_warp, run.Bytes());
        runs.push_back(std::move(run));
      }
    }
  }
  const uint64_t warps = (threads + kWarp - 1) / kWarp;
  if (runs.empty() || SharedBytes(function) + warps * bytes_of_warp > kMostSharedBytes) {
    return false;
  }
  HandOver hand_over(function, warps, bytes_of_warp);
  // The last one first: to part a block takes as long as what is behind that place.
  for (const Run& run : llvm::reverse(runs)) hand_over.Emit(run);
  function.setConvergent();
  // What LLVM has inferred of it.
  function.removeFnAttr(llvm::Attribute::NoSync);
  function.removeFnAttr(llvm::Attribute::Memory);
  return true;
}

}  // namespace

void SetBlock(llvm::Function& function, uint32_t threads) {
  function.addFnAttr(kThreads, std::to_string(threads));
}

llvm::PreservedAnalyses NeighbouringWritesPass::run(llvm::Module& module,
                                                    llvm::ModuleAnalysisManager& analyses) {
  auto& functions =
      analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
  bool changed = false;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) changed |= Change(function, functions);
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace kiln::cuda
