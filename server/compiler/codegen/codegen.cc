#include "server/compiler/codegen/codegen.h"

#include <chrono>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/artifact/target_proto.h"
#include "common/base/status_macros.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "server/compiler/codegen/emit_kernel.h"
#include "server/compiler/codegen/link.h"
#include "server/compiler/codegen/optimize.h"

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

absl::StatusOr<EmittedKernel> Emit(mlir::Operation* kernel, const TargetCode& code,
                                   llvm::LLVMContext& context) {
  ASSIGN_OR_RETURN(EmittedKernel emitted,
                   EmitKernel(llvm::cast<ir::KernelOp>(kernel), code.data_layout(),
                              TargetCode::triple(), context));
#ifndef NDEBUG
  std::string problems;
  llvm::raw_string_ostream out(problems);
  if (llvm::verifyModule(*emitted.module, &out)) {
    return absl::InternalError(absl::StrCat("emitted code is not valid: ", problems));
  }
#endif
  return emitted;
}

}  // namespace

struct CodeGenerator::State {
  std::map<std::tuple<std::string, int, bool>, std::unique_ptr<TargetCode>> targets;

  absl::StatusOr<TargetCode*> CodeFor(const proto::Target& target,
                                      const proto::CodeOptions& options) {
    OptimizeOptions optimize;
    optimize.level = std::min<int>(options.opt_level(), 3);
    optimize.fast_math = options.fast_math();
    const Target wanted = TargetOf(target);
    auto& code = targets[{wanted.text(), optimize.level, optimize.fast_math}];
    if (code == nullptr) {
      ASSIGN_OR_RETURN(code, TargetCode::Make(wanted, optimize));
    }
    return code.get();
  }
};

CodeGenerator::CodeGenerator() : state_(std::make_unique<State>()) {}
CodeGenerator::~CodeGenerator() = default;

absl::StatusOr<GeneratedCode> CodeGenerator::Generate(mlir::Operation* kernel,
                                                      const proto::Target& target,
                                                      const proto::CodeOptions& options,
                                                      const proto::ReportOptions& report,
                                                      std::vector<proto::StageReport>* stages) {
  ASSIGN_OR_RETURN(TargetCode* const code, state_->CodeFor(target, options));
  llvm::LLVMContext context;
  EmittedKernel emitted;
  {
    Stage stage("emit", stages);
    ASSIGN_OR_RETURN(emitted, Emit(kernel, *code, context));
    if (report.print_ir()) stage.Print(*emitted.module);
  }
  {
    Stage stage("optimize", stages);
    std::vector<std::string> exported;
    for (const proto::Task& task : emitted.tasks) {
      if (!task.symbol().empty()) exported.push_back(task.symbol());
      if (!task.bounds_symbol().empty()) exported.push_back(task.bounds_symbol());
      if (!task.alone_symbol().empty()) exported.push_back(task.alone_symbol());
      if (!task.finish_symbol().empty()) exported.push_back(task.finish_symbol());
    }
    RETURN_IF_ERROR(code->LinkDeviceLibrary(*emitted.module, exported));
    code->Optimize(*emitted.module);
    if (report.print_ir()) stage.Print(*emitted.module);
  }
  llvm::SmallVector<char, 0> object;
  {
    std::string assembly;  // before the object: emitting that changes the module
    if (report.print_ir()) {
      ASSIGN_OR_RETURN(assembly, code->EmitAssembly(*emitted.module));
    }
    Stage stage("codegen", stages);
    ASSIGN_OR_RETURN(object, code->EmitObject(*emitted.module));
    stage.Print(std::move(assembly));
  }
  GeneratedCode result;
  {
    Stage stage("link", stages);
    ASSIGN_OR_RETURN(result.payload, LinkSharedObject(object));
    ASSIGN_OR_RETURN(result.needs, NeededVersions(result.payload));
  }
  result.tasks = std::move(emitted.tasks);
  result.has_effects = emitted.has_effects;
  result.can_fail = emitted.can_fail;
  result.draws = emitted.draws;
  return result;
}

absl::StatusOr<std::string> CodeGenerator::EmitText(mlir::Operation* kernel,
                                                    const proto::Target& target,
                                                    const proto::CodeOptions& options) {
  ASSIGN_OR_RETURN(TargetCode* const code, state_->CodeFor(target, options));
  llvm::LLVMContext context;
  ASSIGN_OR_RETURN(EmittedKernel emitted, Emit(kernel, *code, context));
  std::string text;
  llvm::raw_string_ostream out(text);
  emitted.module->print(out, nullptr);
  return text;
}

}  // namespace kiln
