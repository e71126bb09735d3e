#include "server/compiler/codegen/cuda/ptx_machine.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "runtime/cuda_abi.h"
#include "server/compiler/codegen/cuda/cuda_bitcode.h"
#include "server/compiler/codegen/cuda/libdevice.h"
#include "server/compiler/codegen/cuda/neighbouring_writes.h"
#include "server/compiler/codegen/llvm_analyses.h"
#include "server/compiler/codegen/llvm_flags.h"

namespace kiln::cuda {
namespace {

constexpr char kTriple[] = "nvptx64-nvidia-cuda";
// Of CUDA 11.8, which drivers from R520 on read; sm_90 needs it, and so do parameters of tasks that
// functions take by address.
constexpr char kPtxVersion[] = "+ptx78";
// Of CUDA 12.1, for entries whose parameters take more than kFewBytes.
constexpr char kPtxVersionOfManyBytes[] = "+ptx81";
constexpr uint64_t kFewBytes = 4352;
static_assert(sizeof(KilnCudaLaunch) + KILN_CUDA_FEW_SLOTS * sizeof(uint64_t) <= kFewBytes);
static_assert(sizeof(KilnCudaLaunch) + KILN_CUDA_MAX_SLOTS * sizeof(uint64_t) <= 32764);
constexpr char kDevicePrefix[] = "kiln_";  // of the device library's functions

llvm::OptimizationLevel LevelOf(int level) {
  if (level == 0) return llvm::OptimizationLevel::O0;
  return level == 1 ? llvm::OptimizationLevel::O1 : llvm::OptimizationLevel::O3;
}

bool Calls(const llvm::Module& module, llvm::StringRef prefix, std::string* first) {
  for (const llvm::Function& f : module) {
    if (!f.isDeclaration() || !f.getName().starts_with(prefix)) continue;
    *first = f.getName().str();
    return true;
  }
  return false;
}

// Defines what `module` declares of a library in bitcode.
absl::Status LinkBitcode(llvm::Module& module, llvm::StringRef bitcode, const char* name) {
  // Lazily: of the hundreds of functions, linking reads those that it needs.
  auto library =
      llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, name), module.getContext());
  if (!library) {
    return absl::InternalError(
        absl::StrCat(name, " cannot be read: ", llvm::toString(library.takeError())));
  }
  (*library)->setTargetTriple(kTriple);
  (*library)->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded)) {
    return absl::InternalError(absl::StrCat("linking ", name, " failed"));
  }
  return absl::OkStatus();
}

// LLVM numbers calls in comments, by a counter of the process: the same kernel would have other
// bytes in each worker.
std::string WithoutCallNumbers(llvm::StringRef ptx) {
  constexpr llvm::StringRef kComment = "// callseq";
  std::string text;
  text.reserve(ptx.size());
  while (!ptx.empty()) {
    const auto [line, rest] = ptx.split('\n');
    text += line.take_front(line.find(kComment)).rtrim();
    text += '\n';
    ptx = rest;
  }
  return text;
}

bool HasLargeParameters(const llvm::Module& module) {
  const llvm::DataLayout& layout = module.getDataLayout();
  return llvm::any_of(module, [&](const llvm::Function& f) {
    return f.getCallingConv() == llvm::CallingConv::PTX_Kernel &&
           llvm::any_of(f.args(), [&](const llvm::Argument& a) {
             return a.hasByValAttr() && layout.getTypeAllocSize(a.getParamByValType()) > kFewBytes;
           });
  });
}

}  // namespace

struct PtxMachine::State {
  std::unique_ptr<llvm::TargetMachine> NewMachine(const char* ptx_version) const;

  std::string arch;
  codegen::Options options;
  const llvm::Target* backend = nullptr;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::TargetMachine> machine_of_many_bytes;  // made when first needed
  std::optional<llvm::DataLayout> layout;
};

std::unique_ptr<llvm::TargetMachine> PtxMachine::State::NewMachine(const char* ptx_version) const {
  llvm::TargetOptions machine_options;
  machine_options.AllowFPOpFusion =
      options.fast_math ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Strict;
  const auto effort =
      options.level == 0 ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default;
  return std::unique_ptr<llvm::TargetMachine>(
      backend->createTargetMachine(kTriple, arch, ptx_version, machine_options, {}, {}, effort));
}

PtxMachine::PtxMachine() : state_(std::make_unique<State>()) {}
PtxMachine::~PtxMachine() = default;

const char* PtxMachine::triple() const { return kTriple; }
const llvm::DataLayout& PtxMachine::data_layout() const { return *state_->layout; }

absl::StatusOr<std::unique_ptr<PtxMachine>> PtxMachine::Make(Target target,
                                                             const codegen::Options& options) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  const llvm::Target* backend = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (backend == nullptr) return absl::InternalError(error);
  auto code = std::unique_ptr<PtxMachine>(new PtxMachine);
  State& s = *code->state_;
  s.arch = absl::StrCat("sm_", target.virtual_arch());
  s.options = options;
  s.backend = backend;
  s.machine = s.NewMachine(kPtxVersion);
  s.layout = s.machine->createDataLayout();
  return code;
}

absl::Status PtxMachine::LinkLibraries(llvm::Module& module, llvm::ArrayRef<std::string> exported) {
  std::string called, linked;
  // Again for what the linked functions call.
  while (Calls(module, kDevicePrefix, &called) && called != linked) {
    linked = called;
    RETURN_IF_ERROR(
        LinkBitcode(module, {kCudaBitcode, kCudaBitcodeSize}, "the device library for CUDA"));
  }
  if (Calls(module, kLibdevicePrefix, &called)) {
    if (Libdevice().empty()) {
      return absl::UnimplementedError(absl::StrCat(
          "code for CUDA that calls ", called,
          " needs libdevice.10.bc of NVIDIA's CUDA toolkit, and this machine has none in "
          "/usr/local/cuda (KILN_CUDA_TOOLKIT names another place)"));
    }
    RETURN_IF_ERROR(
        LinkBitcode(module, Libdevice(), "libdevice.10.bc of this machine's CUDA toolkit"));
    // libdevice asks for it: denormals are kept, as on CPUs.
    module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", uint32_t{0});
    LimitCopies(module);
  }
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    // The libraries' are those of older architectures and of code without a C library, which would
    // forbid inlining.
    f.removeFnAttr("target-features");
    f.removeFnAttr("target-cpu");
    f.removeFnAttr("no-builtins");
    f.addFnAttr("target-cpu", state_->arch);
    if (!llvm::is_contained(exported, f.getName())) {
      f.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
    // The state of the stream then stays in registers within a loop.
    if (f.getName().starts_with("kiln_random")) f.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  return absl::OkStatus();
}

void PtxMachine::Optimize(llvm::Module& module) {
  llvm::PipelineTuningOptions tuning;
  // Threads are the vectors.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  // With the machine, passes know that threads diverge, and leave barriers where they are.
  llvm::PassBuilder builder(state_->machine.get(), tuning);
  codegen::LlvmAnalyses analyses;
  analyses.Register(builder);
  const llvm::OptimizationLevel level = LevelOf(state_->options.level);
  llvm::ModulePassManager passes = level == llvm::OptimizationLevel::O0
                                       ? builder.buildO0DefaultPipeline(level)
                                       : builder.buildPerModuleDefaultPipeline(level);
  if (level != llvm::OptimizationLevel::O0) passes.addPass(NeighbouringWritesPass());
  passes.run(module, analyses.modules);
}

absl::StatusOr<std::string> PtxMachine::EmitPtx(llvm::Module& module) {
  codegen::SetLlvmFlags({});  // others may be left of a module for CPUs
  llvm::TargetMachine* machine = state_->machine.get();
  if (HasLargeParameters(module)) {
    std::unique_ptr<llvm::TargetMachine>& newer = state_->machine_of_many_bytes;
    if (newer == nullptr) newer = state_->NewMachine(kPtxVersionOfManyBytes);
    machine = newer.get();
  }
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                   /*DisableVerify=*/true)) {
    return absl::InternalError("this target cannot emit code");
  }
  passes.run(module);
  return WithoutCallNumbers({text.data(), text.size()});
}

}  // namespace kiln::cuda
