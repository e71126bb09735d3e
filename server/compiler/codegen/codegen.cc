#include "server/compiler/codegen/codegen.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/artifact/target_proto.h"
#include "common/base/status_macros.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "server/compiler/codegen/emit_kernel.h"
#include "server/compiler/codegen/target.h"

namespace kiln {
namespace {

// Appends a stage that runs from its making to its end.
class Stage {
 public:
  Stage(const char* name, std::vector<proto::StageReport>* stages)
      : stages_(stages), start_(std::chrono::steady_clock::now()) {
    report_.set_name(name);
  }
  ~Stage() {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
    // Unless Print has set it: printing took the rest.
    if (report_.seconds() == 0) report_.set_seconds(seconds.count());
    stages_->push_back(std::move(report_));
  }
  // Ends the time that counts; printing is not compiling.
  void Print(const llvm::Module& module) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
    report_.set_seconds(seconds.count());
    llvm::raw_string_ostream out(*report_.mutable_ir());
    module.print(out, nullptr);
  }
  void Print(std::string text) { report_.set_ir(std::move(text)); }

 private:
  std::vector<proto::StageReport>* stages_;
  std::chrono::steady_clock::time_point start_;
  proto::StageReport report_;
};

absl::StatusOr<EmittedKernel> Emit(mlir::Operation* kernel, const codegen::Target& target,
                                   llvm::LLVMContext& context) {
  ASSIGN_OR_RETURN(EmittedKernel emitted, EmitKernel(kernel, target, context));
  // A mistake of the emitter shows here, and not as a crash or wrong code in a later pass.
#ifndef NDEBUG
  std::string problems;
  llvm::raw_string_ostream out(problems);
  if (llvm::verifyModule(*emitted.module, &out)) {
    return absl::InternalError(absl::StrCat("emitted code is not valid: ", problems));
  }
#endif
  return emitted;
}

// The names by which the runtime finds the functions of tasks.
std::vector<std::string> SymbolsOf(const std::vector<proto::Task>& tasks) {
  std::vector<std::string> symbols;
  for (const proto::Task& task : tasks) {
    for (const std::string& symbol :
         {task.symbol(), task.bounds_symbol(), task.alone_symbol(), task.finish_symbol()}) {
      // Most tasks have one or two of the four.
      if (!symbol.empty()) symbols.push_back(symbol);
    }
  }
  return symbols;
}

// Kernels that are linked into one module have distinct names, which its users do not see.
void HideSymbols(const std::string& prefix, EmittedKernel* emitted) {
  for (const std::string& symbol : SymbolsOf(emitted->tasks)) {
    llvm::Function* function = emitted->module->getFunction(symbol);
    if (function == nullptr) continue;  // a task's two symbols may be one function
    function->setName(prefix + symbol);
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  const auto rename = [&](std::string* symbol) {
    if (!symbol->empty()) symbol->insert(0, prefix);
  };
  for (proto::Task& task : emitted->tasks) {
    rename(task.mutable_symbol());
    rename(task.mutable_bounds_symbol());
    rename(task.mutable_alone_symbol());
    rename(task.mutable_finish_symbol());
  }
}

}  // namespace

struct CodeGenerator::State {
  // A target's machine takes milliseconds to make, and a worker compiles many kernels for few
  // targets.
  std::map<std::tuple<std::string, uint32_t, int, bool>, std::unique_ptr<codegen::Target>> targets;

  absl::StatusOr<codegen::Target*> TargetFor(const proto::Target& message,
                                             const proto::CodeOptions& code_options) {
    codegen::Options options;
    options.glibc = message.glibc();
    // The level comes from a client and may be any number.
    options.level = std::min<int>(code_options.opt_level(), 3);
    options.fast_math = code_options.fast_math();
    const Target wanted = TargetOf(message);
    auto& target = targets[{wanted.text(), options.glibc, options.level, options.fast_math}];
    if (target == nullptr) {
      ASSIGN_OR_RETURN(target, codegen::MakeTarget(wanted, options));
    }
    return target.get();
  }
};

CodeGenerator::CodeGenerator() : state_(std::make_unique<State>()) {}
CodeGenerator::~CodeGenerator() = default;

absl::StatusOr<GeneratedCode> CodeGenerator::Generate(mlir::Operation* kernel,
                                                      const proto::Target& target,
                                                      const proto::CodeOptions& options,
                                                      const proto::ReportOptions& report,
                                                      std::vector<proto::StageReport>* stages,
                                                      const std::string& prefix) {
  ASSIGN_OR_RETURN(codegen::Target* const backend, state_->TargetFor(target, options));
  // One for each kernel: contexts never free types and metadata, and would grow with the worker.
  llvm::LLVMContext context;
  EmittedKernel emitted;
  {
    Stage stage("emit", stages);
    ASSIGN_OR_RETURN(emitted, Emit(kernel, *backend, context));
    if (options.relocatable()) HideSymbols(prefix, &emitted);
    if (report.print_ir()) stage.Print(*emitted.module);
  }
  {
    Stage stage("optimize", stages);
    RETURN_IF_ERROR(backend->Optimize(*emitted.module, SymbolsOf(emitted.tasks)));
    if (report.print_ir()) stage.Print(*emitted.module);
  }
  llvm::SmallVector<char, 0> object;
  {
    std::string assembly;  // before the object: emitting that changes the module
    // Only for reports: emitting assembly costs as much as emitting the object.
    if (report.print_ir()) {
      ASSIGN_OR_RETURN(assembly, backend->EmitAssembly(*emitted.module));
    }
    Stage stage("codegen", stages);
    ASSIGN_OR_RETURN(object, backend->EmitObject(*emitted.module));
    stage.Print(std::move(assembly));
  }
  GeneratedCode result;
  {
    Stage stage("link", stages);
    // Also of an object: linking says what it needs, and costs little.
    ASSIGN_OR_RETURN(codegen::Target::Linked linked, backend->Link(object));
    result.payload = options.relocatable() ? std::string(object.begin(), object.end())
                                           : std::move(linked.payload);
    result.needs = std::move(linked.needs);
  }
  result.tasks = std::move(emitted.tasks);
  result.has_effects = emitted.has_effects;
  result.can_fail = emitted.can_fail;
  result.draws = emitted.draws;
  result.tapes = emitted.tapes;
  result.temporary_bytes = emitted.temporary_bytes;
  return result;
}

absl::StatusOr<std::string> CodeGenerator::EmitText(mlir::Operation* kernel,
                                                    const proto::Target& target,
                                                    const proto::CodeOptions& options) {
  ASSIGN_OR_RETURN(codegen::Target* const backend, state_->TargetFor(target, options));
  llvm::LLVMContext context;
  ASSIGN_OR_RETURN(EmittedKernel emitted, Emit(kernel, *backend, context));
  std::string text;
  llvm::raw_string_ostream out(text);
  emitted.module->print(out, nullptr);
  return text;
}

}  // namespace kiln
