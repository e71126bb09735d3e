// What LLVM's passes ask about the code: the analyses of one run of a pipeline over a module.
#ifndef KILN_SERVER_COMPILER_CODEGEN_LLVM_ANALYSES_H_
#define KILN_SERVER_COMPILER_CODEGEN_LLVM_ANALYSES_H_

#include "llvm/Passes/PassBuilder.h"

namespace kiln::codegen {

// In this order, since managers refer to those above them.
struct LlvmAnalyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;

  // Adds LLVM's analyses, except those of a kind that a manager already has.
  void Register(llvm::PassBuilder& builder) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }
};

}  // namespace kiln::codegen

#endif  // KILN_SERVER_COMPILER_CODEGEN_LLVM_ANALYSES_H_
