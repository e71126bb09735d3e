// What the linker has to know of glibc: shared objects without code, made at build time. They
// define the symbols that generated code may call, in versions that every supported machine has.
// Linked with the libraries of the machine that compiles, code would need that machine's versions.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_GLIBC_STUBS_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_GLIBC_STUBS_H_

#include "llvm/ADT/ArrayRef.h"

namespace kiln::cpu {

struct GlibcStub {
  const char* library;  // the name under which the loader finds it
  llvm::ArrayRef<char> bytes;
  llvm::ArrayRef<const char*> symbols;
};

enum Library { kLibm, kLibmvec, kLibc };
extern const GlibcStub kGlibcStubs[3];  // by Library

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_GLIBC_STUBS_H_
