// kiln-opt: the compiler's stages on text.
//
//   kiln-opt [--unit] [--passes=a,b,c | --pipeline] [--llvm | --assembly=TARGET] [file]
//
// Reads the IR (or, with --unit, a CompileUnit in protobuf's text format, which is
// checked and lowered first) and prints what the passes make of it, LLVM's IR of it
// before optimisation (for x86-64-v3), or the target's assembly: PTX for compute_75.
// `// -----` lines part a file into inputs that fail or succeed alone.
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/artifact/target_proto.h"
#include "common/unit/check_unit.h"
#include "google/protobuf/text_format.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "server/compiler/codegen/codegen.h"
#include "server/compiler/codegen/cuda/libdevice.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/lowering/lower_unit.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

struct Arguments {
  std::vector<std::string> passes;
  std::string file = "-";
  bool unit = false;
  bool llvm = false;
  std::string assembly;  // the target
};

bool Usage(const std::string& problem) {
  std::cerr << "kiln-opt: " << problem << "\npasses:";
  for (const PassRow& row : Pipeline()) std::cerr << " " << row.name;
  std::cerr << "\n";
  return false;
}

bool Parse(int argc, char** argv, Arguments* out) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view word = argv[i];
    if (absl::ConsumePrefix(&word, "--passes=")) {
      for (absl::string_view name : absl::StrSplit(word, ',')) out->passes.emplace_back(name);
    } else if (word == "--pipeline") {
      for (const PassRow& row : Pipeline()) {
        if (!IsForGradients(row)) out->passes.push_back(row.name);
      }
    } else if (word == "--unit") {
      out->unit = true;
    } else if (word == "--llvm") {
      out->llvm = true;
    } else if (absl::ConsumePrefix(&word, "--assembly=")) {
      out->assembly = std::string(word);
    } else if (absl::StartsWith(word, "--")) {
      return Usage("no such option: " + std::string(word));
    } else {
      out->file = std::string(word);
    }
  }
  return true;
}

bool AddPass(const std::string& name, mlir::OpPassManager* manager) {
  for (const PassRow& row : Pipeline()) {
    if (name != row.name) continue;
    manager->addPass(row.create());
    return true;
  }
  return Usage("no such pass: " + name);
}

std::string Read(const std::string& file) {
  std::stringstream text;
  if (file == "-") {
    text << std::cin.rdbuf();
  } else {
    text << std::ifstream(file).rdbuf();
  }
  return text.str();
}

mlir::OwningOpRef<mlir::ModuleOp> FromUnit(const std::string& text, mlir::MLIRContext* context) {
  proto::CompileUnit unit;
  if (!google::protobuf::TextFormat::ParseFromString(text, &unit)) return {};
  std::vector<proto::Diagnostic> diagnostics;
  const absl::StatusOr<CheckedUnit> checked = CheckUnit(unit, &diagnostics);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  if (checked.ok() && diagnostics.empty()) {
    module = LowerUnit(unit, *checked, context, &diagnostics);
  }
  if (!checked.ok()) std::cout << checked.status() << "\n";
  for (const proto::Diagnostic& diagnostic : diagnostics) {
    std::cout << "node " << diagnostic.node() << ": " << diagnostic.message() << "\n";
  }
  if (!diagnostics.empty()) module = {};
  return module;
}

absl::StatusOr<std::string> CodeOf(const Arguments& arguments, ir::KernelOp kernel) {
  // As a client asks by default: code that is not optimised has no lanes.
  proto::CodeOptions options;
  options.set_opt_level(3);
  options.set_fast_math(true);
  proto::Target target;
  CodeGenerator generator;
  if (arguments.llvm) {
    target.set_cpu(proto::X86_64_V3);
    return generator.EmitText(kernel, target, options);
  }
  const std::optional<Target> named = Target::Parse(arguments.assembly);
  if (!named.has_value()) {
    return absl::InvalidArgumentError("no such target: " + arguments.assembly);
  }
  SetTarget(*named, &target);
  proto::ReportOptions report;
  report.set_print_ir(true);
  std::vector<proto::StageReport> stages;
  absl::StatusOr<GeneratedCode> code = generator.Generate(kernel, target, options, report, &stages);
  if (!code.ok()) return code.status();
  for (const proto::StageReport& stage : stages) {
    if (stage.name() == "codegen") return stage.ir();
  }
  return absl::InternalError("code generation reports no assembly");
}

bool Run(const Arguments& arguments, const std::string& text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ir::KilnDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      arguments.unit ? FromUnit(text, &context)
                     : mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) return false;
  mlir::PassManager manager(&context);
  mlir::OpPassManager& kernels = manager.nest<ir::KernelOp>();
  for (const std::string& name : arguments.passes) {
    if (!AddPass(name, &kernels)) return false;
  }
  if (mlir::failed(mlir::verify(*module)) || mlir::failed(manager.run(*module))) return false;
  if (!arguments.llvm && arguments.assembly.empty()) {
    module->print(llvm::outs());
    return true;
  }
  for (auto kernel : module->getOps<ir::KernelOp>()) {
    absl::StatusOr<std::string> text = CodeOf(arguments, kernel);
    if (!text.ok()) return Usage(text.status().ToString());
    std::cout << *text;
  }
  return true;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) return 2;
  cuda::ReadLibdevice();
  bool good = true;
  bool first = true;
  for (absl::string_view part : absl::StrSplit(Read(arguments.file), "// -----\n")) {
    if (!first) llvm::outs() << "// -----\n";
    llvm::outs().flush();  // before code, which goes to std::cout
    first = false;
    good = Run(arguments, std::string(part)) && good;
    std::cout.flush();
    llvm::outs().flush();
  }
  return good ? 0 : 1;
}

}  // namespace

}  // namespace kiln

int main(int argc, char** argv) { return kiln::Main(argc, argv); }
