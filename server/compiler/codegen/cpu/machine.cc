#include "server/compiler/codegen/cpu/machine.h"

#include <algorithm>
#include <mutex>

#include "common/base/status_macros.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/RegAllocRegistry.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "server/compiler/codegen/cpu/bound_operands.h"
#include "server/compiler/codegen/cpu/branch_free_extremes.h"
#include "server/compiler/codegen/cpu/device_bitcode.h"
#include "server/compiler/codegen/cpu/narrow_shifts.h"
#include "server/compiler/codegen/cpu/pipelines.h"
#include "server/compiler/codegen/cpu/reciprocal_roots.h"
#include "server/compiler/codegen/cpu/vector_math.h"
#include "server/compiler/codegen/llvm_analyses.h"
#include "server/compiler/codegen/llvm_flags.h"

namespace kiln::cpu {
namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";
constexpr char kDevicePrefix[] = "kiln_";  // of the device library's functions
// LLVM calls these by name where it lowers f16.
constexpr const char* kHalfFunctions[] = {"__extendhfsf2", "__truncsfhf2", "__truncdfhf2"};

bool UsesHalf(const llvm::Module& module) {
  for (const llvm::Function& f : module) {
    for (const llvm::Instruction& i : llvm::instructions(f)) {
      // Results suffice: values of this type come from some instruction of the module.
      if (i.getType()->isHalfTy()) return true;
    }
  }
  return false;
}

// Defines what `module` calls of the device library; with `half` also what LLVM will call where it
// lowers f16. The linker takes only what is declared, and the optimiser removes what has no
// callers: so these functions are declared before and marked as used after.
absl::Status LinkBitcode(llvm::Module& module, bool half) {
  if (half) {
    for (const char* name : kHalfFunctions) {
      module.getOrInsertFunction(name, llvm::Type::getVoidTy(module.getContext()));
    }
  }
  auto library = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(llvm::StringRef(kDeviceBitcode, kDeviceBitcodeSize), "device_lib"),
      module.getContext());
  if (!library) return absl::InternalError(llvm::toString(library.takeError()));
  (*library)->setTargetTriple(kTriple);
  (*library)->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded)) {
    return absl::InternalError("linking the device library failed");
  }
  if (!half) return absl::OkStatus();
  llvm::SmallVector<llvm::GlobalValue*> used;
  for (const char* name : kHalfFunctions) used.push_back(module.getFunction(name));
  llvm::appendToCompilerUsed(module, used);
  return absl::OkStatus();
}

// Tells the vectoriser, which runs next, whether the function asks for stores by masks.
struct MaskedStoresPass : llvm::PassInfoMixin<MaskedStoresPass> {
  static constexpr char kName[] = "masked-stores";
  static llvm::PreservedAnalyses run(llvm::Function& f,
                                     llvm::FunctionAnalysisManager& /*manager*/) {
    codegen::SetMaskedStores(f.hasFnAttribute(codegen::kMaskedStores));
    return llvm::PreservedAnalyses::all();
  }
};

// Whether the function calls one that `library` has for vectors.
bool CallsVectorMath(const llvm::Function& f, const llvm::TargetLibraryInfoImpl& library) {
  return llvm::any_of(llvm::instructions(f), [&](const llvm::Instruction& i) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
    const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    return callee != nullptr && library.isFunctionVectorizable(callee->getName());
  });
}

// Whether the function keeps vectors in variables, as lanes do.
bool RunsInLanes(const llvm::Function& f) {
  return llvm::any_of(llvm::instructions(f), [](const llvm::Instruction& i) {
    const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&i);
    return variable != nullptr && variable->getAllocatedType()->isVectorTy();
  });
}

void SetAttributes(llvm::Function& f, const std::string& cpu,
                   const llvm::TargetLibraryInfoImpl& library) {
  // Functions of the library have the baseline's features, which would forbid inlining them.
  f.removeFnAttr("target-features");
  // LLVM's model takes gathers for far cheaper than processors of AMD run them, and those of Intel
  // with its updates against leaks. Updates of vectors in branches took three times as long as in
  // scalar code.
  f.addFnAttr("target-features", "+prefer-no-gather,+prefer-no-scatter");
  f.removeFnAttr("tune-cpu");
  f.addFnAttr("target-cpu", cpu);
  // Kernels do not look at floating-point exceptions, so operations may be reordered around them.
  f.addFnAttr("no-trapping-math", "true");
  // 512-bit instructions lower the clock of many processors, which costs the other threads. Only
  // functions of libm gain enough by them: 1.1 to 1.7 times even where the processor halves each
  // instruction. Elsewhere, stencils gain a tenth, and products of small matrices lose.
  f.addFnAttr("prefer-vector-width", CallsVectorMath(f, library) ? "512" : "256");
  // Recursion that does not end meets the stack's guard page, however large a frame is.
  f.addFnAttr("probe-stack", "inline-asm");
  // The register allocator cannot align the stack any more, and vectors that it spills across cache
  // lines are slow.
  if (RunsInLanes(f)) f.addFnAttr("stackrealign");
}

}  // namespace

struct Machine::State {
  uint32_t level;  // of x86-64
  std::string cpu;
  codegen::Options options;
  std::unique_ptr<llvm::TargetMachine> machine;
  llvm::DataLayout layout{""};
  std::unique_ptr<llvm::TargetLibraryInfoImpl> library;
};

Machine::Machine() : state_(std::make_unique<State>()) {}
Machine::~Machine() = default;

const char* Machine::triple() const { return kTriple; }
const llvm::DataLayout& Machine::data_layout() const { return state_->layout; }

codegen::Target::Lanes Machine::lanes() const {
  // AVX2 is the first level with masked loads. Code that is not optimised has no lanes: its users
  // wait for the compiler, or read the code.
  if (state_->level < 3 || state_->options.level == 0) return {};
  return {8, /*has_masks=*/state_->level >= 4};
}

std::string Machine::VectorFunction(const std::string& name, bool is_f64, int64_t lanes) const {
  const auto count = llvm::ElementCount::getFixed(static_cast<unsigned>(lanes));
  return state_->library->getVectorizedFunction(name + (is_f64 ? "" : "f"), count, false).str();
}

absl::StatusOr<std::unique_ptr<Machine>> Machine::Make(Target target,
                                                       const codegen::Options& options) {
  static std::once_flag once;
  std::call_once(once, [] {
    // The parts that emit code only: no assembler parser, no disassembler.
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string error;
  const llvm::Target* backend = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (backend == nullptr) return absl::InternalError(error);
  const auto effort = options.level == 0   ? llvm::CodeGenOptLevel::None
                      : options.level == 1 ? llvm::CodeGenOptLevel::Less
                                           : llvm::CodeGenOptLevel::Default;
  auto code = std::unique_ptr<Machine>(new Machine);
  State& s = *code->state_;
  s.level = target.level();
  s.cpu = target.text();
  s.options = options;
  llvm::TargetOptions machine_options;
  machine_options.AllowFPOpFusion =
      options.fast_math ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Strict;
  // PIC, because entries are shared objects that many processes map at different addresses.
  s.machine.reset(backend->createTargetMachine(kTriple, s.cpu, "", machine_options,
                                               llvm::Reloc::PIC_, llvm::CodeModel::Small, effort));
  s.layout = s.machine->createDataLayout();
  s.library = std::make_unique<llvm::TargetLibraryInfoImpl>(llvm::Triple(kTriple));
  // Vector functions of libm are less exact than the scalar ones.
  if (options.fast_math) AddVectorMath(target.level(), options.glibc, s.library.get());
  return code;
}

absl::Status Machine::LinkDeviceLibrary(llvm::Module& module,
                                        llvm::ArrayRef<std::string> exported) {
  const bool half = UsesHalf(module);
  const bool calls = llvm::any_of(module, [](const llvm::Function& f) {
    return f.isDeclaration() && f.getName().starts_with(kDevicePrefix);
  });
  // Most kernels need nothing of the library.
  if (half || calls) RETURN_IF_ERROR(LinkBitcode(module, half));
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    SetAttributes(f, state_->cpu, *state_->library);
    if (llvm::is_contained(exported, f.getName())) continue;
    // What no launch calls by name can be inlined and dropped.
    f.setLinkage(llvm::GlobalValue::InternalLinkage);
    // The state of the stream then stays in registers within a loop.
    if (f.getName().starts_with("kiln_random")) f.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  return absl::OkStatus();
}

// Some of LLVM's passes take more than linear time. Hoisting the constants of a loop makes each of
// them live in all of its blocks. Splitting live ranges walks a block once for each range. A module
// with a function of more instructions than this does without these passes, at the price of some
// spills.
static constexpr size_t kLargeFunction = 5000;
// The same of unoptimised code, for passes on LLVM IR.
static constexpr size_t kLargeInput = 12000;

static size_t LargestFunction(const llvm::Module& module) {
  size_t most = 0;
  for (const llvm::Function& f : module) {
    most = std::max<size_t>(most, f.getInstructionCount());
  }
  return most;
}

// Makes a vector that a stream stores go past the caches. All of them are aligned, although LLVM
// does not see it: the vector loop begins where the stream does, and takes whole vectors.
static void StorePastCaches(llvm::StoreInst* store) {
  constexpr uint64_t kLeast = 16;  // processors have no such stores of shorter vectors
  const uint64_t bytes =
      store->getDataLayout().getTypeStoreSize(store->getValueOperand()->getType());
  if (!llvm::isPowerOf2_64(bytes) || bytes < kLeast) return;
  store->setAlignment(llvm::Align(std::min<uint64_t>(bytes, codegen::kStreamAlignment)));
  llvm::LLVMContext& c = store->getContext();
  llvm::Metadata* one =
      llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(c), 1));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(c, one));
}

// LLVM vectorises no loop whose stores say from the beginning that they go past the caches.
static void MarkStreams(llvm::Module& module) {
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    llvm::DominatorTree dominators(f);
    const llvm::LoopInfo loops(dominators);
    for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
      if (!llvm::findStringMetadataForLoop(loop, codegen::kStreamLoop)) continue;
      for (llvm::BasicBlock* block : loop->blocks()) {
        for (llvm::Instruction& i : *block) {
          auto* store = llvm::dyn_cast<llvm::StoreInst>(&i);
          const bool is_vector =
              store != nullptr && store->getValueOperand()->getType()->isVectorTy();
          if (is_vector) StorePastCaches(store);
        }
      }
    }
  }
}

// Whether a pass runs over a function.
static bool Runs(llvm::StringRef pass, const llvm::Any& code) {
  if (pass != "SLPVectorizerPass") return true;
  const auto* function = llvm::any_cast<const llvm::Function*>(&code);
  return function == nullptr || !(*function)->hasFnAttribute(codegen::kManyLanes);
}

void Machine::Optimize(llvm::Module& module) {
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(Runs);
  codegen::LlvmAnalyses analyses;
  llvm::PassBuilder builder(state_->machine.get(), llvm::PipelineTuningOptions(), std::nullopt,
                            &callbacks);
  // Before LLVM's own: the first analysis of a kind counts.
  analyses.functions.registerPass([&] { return llvm::TargetLibraryAnalysis(*state_->library); });
  analyses.Register(builder);
  builder.registerPipelineParsingCallback(
      [&](llvm::StringRef name, llvm::FunctionPassManager& passes, auto) {
        if (name == NarrowShiftsPass::kName) {
          passes.addPass(NarrowShiftsPass(state_->level));
        } else if (name == BoundOperandsPass::kName) {
          passes.addPass(BoundOperandsPass());
        } else if (name == BranchFreeExtremesPass::kName) {
          passes.addPass(BranchFreeExtremesPass());
        } else if (name == ReciprocalRootsPass::kName) {
          passes.addPass(ReciprocalRootsPass(state_->level));
        } else if (name == MaskedStoresPass::kName) {
          passes.addPass(MaskedStoresPass());
        } else {
          return false;
        }
        return true;
      });
  llvm::ModulePassManager passes;
  const bool has_functions = llvm::any_of(module, [](const llvm::Function& f) {
    return !f.isDeclaration() && f.getName().starts_with(codegen::kFunctionPrefix);
  });
  const std::string text =
      PipelineText(state_->options.level, has_functions, LargestFunction(module) > kLargeInput);
  if (llvm::Error error = builder.parsePassPipeline(passes, text)) {
    // The text is our own constant, so an error is a mistake of this program.
    llvm::report_fatal_error(std::move(error));
  }
  codegen::SetOptimizerFlags(llvm::any_of(
      module, [](const llvm::Function& f) { return f.hasFnAttribute(codegen::kRaggedRows); }));
  passes.run(module, analyses.modules);
  if (state_->options.level > 1) MarkStreams(module);
}

// A constant that code reads from memory, or that takes an instruction of its own.
static bool TakesRegister(const llvm::Value* operand) {
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(operand)) {
    return !integer->getValue().isSignedIntN(32);
  }
  const auto* constant = llvm::dyn_cast<llvm::ConstantData>(operand);
  return constant != nullptr && !constant->isZeroValue();
}

// What tells that a pass over a loop would take most of the time of code generation.
struct LoopSizes {
  size_t accesses = 0;   // loads and stores, in the innermost loop with the most of them
  size_t constants = 0;  // different ones, in the outermost loop with the most of them
};

static LoopSizes MeasureLoops(llvm::Module& module) {
  LoopSizes most;
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    llvm::DominatorTree dominators(f);
    const llvm::LoopInfo loops(dominators);
    for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
      if (!loop->isInnermost() && !loop->isOutermost()) continue;
      size_t accesses = 0;
      llvm::SmallPtrSet<const llvm::Value*, 32> constants;
      for (const llvm::BasicBlock* block : loop->blocks()) {
        for (const llvm::Instruction& i : *block) {
          accesses += i.mayReadOrWriteMemory();
          for (const llvm::Value* operand : i.operands()) {
            if (TakesRegister(operand)) constants.insert(operand);
          }
        }
      }
      if (loop->isInnermost()) most.accesses = std::max(most.accesses, accesses);
      if (loop->isOutermost()) most.constants = std::max<size_t>(most.constants, constants.size());
    }
  }
  return most;
}

// Divides blocks of thousands of instructions. Instruction selection and scheduling look at one
// block at a time, and take quadratic time where it has many loads and stores. True: there were
// some.
static bool SplitLargeBlocks(llvm::Module& module) {
  constexpr size_t kLargeBlock = 2000, kPart = 500;
  llvm::SmallVector<llvm::BasicBlock*> large;
  for (llvm::Function& f : module) {
    for (llvm::BasicBlock& block : f) {
      if (block.size() > kLargeBlock) large.push_back(&block);
    }
  }
  for (llvm::BasicBlock* block : large) {
    // Memory of a function is its own only if the entry block reserves it.
    auto from = block->getFirstNonPHIIt();
    for (auto i = from; i != block->end(); ++i) {
      if (llvm::isa<llvm::AllocaInst>(*i)) from = std::next(i);
    }
    size_t count = 0;
    for (auto i = from; i != block->end(); ++i) {
      if (++count < kPart || i->isTerminator()) continue;
      block = block->splitBasicBlock(i);
      i = block->begin();
      count = 0;
    }
  }
  return !large.empty();
}

// Also divides what would take too long otherwise.
static void ChooseEffort(llvm::Module& module, int level) {
  // Loop strength reduction compares all ways to write the addresses of a loop.
  constexpr size_t kManyAccesses = 64;
  // Hoisted constants are live in all of a loop. Far more of them than registers make the allocator
  // split most of their live ranges: 400 took it two seconds. Left in place, they are operands in
  // memory.
  constexpr size_t kManyConstants = 64;
  const bool large = LargestFunction(module) > kLargeFunction;
  const LoopSizes loops = level > 0 ? MeasureLoops(module) : LoopSizes();
  codegen::LlvmFlags flags;
  flags.skip_machine_licm = large || loops.constants > kManyConstants;
  flags.skip_loop_strength_reduction = large || loops.accesses > kManyAccesses;
  // It would join the parts again.
  flags.skip_codegen_prepare = SplitLargeBlocks(module);
  codegen::SetLlvmFlags(flags);
  llvm::RegisterRegAlloc::FunctionPassCtor allocate = llvm::createGreedyRegisterAllocator;
  if (large) allocate = llvm::createBasicRegisterAllocator;
  // Process-wide like the flags, so each module sets it.
  if (level == 0) allocate = llvm::createFastRegisterAllocator;
  llvm::RegisterRegAlloc::setDefault(allocate);
}

static absl::Status EmitFile(llvm::TargetMachine& machine, llvm::Module& module,
                             llvm::CodeGenFileType type, llvm::raw_pwrite_stream& out) {
  // LLVM's code generator still has only the old pass manager.
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true)) {
    return absl::InternalError("this target cannot emit code");
  }
  passes.run(module);
  return absl::OkStatus();
}

absl::StatusOr<llvm::SmallVector<char, 0>> Machine::EmitObject(llvm::Module& module) {
  ChooseEffort(module, state_->options.level);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream out(object);
  RETURN_IF_ERROR(EmitFile(*state_->machine, module, llvm::CodeGenFileType::ObjectFile, out));
  return object;
}

absl::StatusOr<std::string> Machine::EmitAssembly(const llvm::Module& module) {
  // Emitting changes what it emits.
  const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  ChooseEffort(*copy, state_->options.level);
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream out(text);
  RETURN_IF_ERROR(EmitFile(*state_->machine, *copy, llvm::CodeGenFileType::AssemblyFile, out));
  return std::string(text.begin(), text.end());
}

}  // namespace kiln::cpu
