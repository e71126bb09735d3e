// What LLD refers to in LLVM, and Kiln's use of it never reaches: Polly, whose archives are in
// another package, and all processors but x86. With them the worker would be half as large again.
#include "llvm/Passes/PassPlugin.h"

llvm::PassPluginLibraryInfo getPollyPluginInfo();

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", "none", [](llvm::PassBuilder&) {}};
}

// The list of processors includes x86, whose functions get names that nothing refers to.
#define LLVMInitializeX86TargetInfo KilnUnusedTargetInfo
#define LLVMInitializeX86Target KilnUnusedTarget
#define LLVMInitializeX86TargetMC KilnUnusedTargetMC
#define LLVMInitializeX86AsmPrinter KilnUnusedAsmPrinter
#define LLVMInitializeX86AsmParser KilnUnusedAsmParser

extern "C" {
#define LLVM_TARGET(name)                    \
  void LLVMInitialize##name##TargetInfo() {} \
  void LLVMInitialize##name##Target() {}     \
  void LLVMInitialize##name##TargetMC() {}
#include "llvm/Config/Targets.def"
#define LLVM_ASM_PRINTER(name) \
  void LLVMInitialize##name##AsmPrinter() {}
#include "llvm/Config/AsmPrinters.def"
#define LLVM_ASM_PARSER(name) \
  void LLVMInitialize##name##AsmParser() {}
#include "llvm/Config/AsmParsers.def"
}  // extern "C"
