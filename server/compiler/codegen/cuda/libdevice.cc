#include "server/compiler/codegen/cuda/libdevice.h"

#include <fstream>
#include <iterator>
#include <mutex>

#include "common/artifact/cuda_toolkit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"

namespace kiln::cuda {
namespace {

std::string& Bytes() {
  static auto* const bytes = new std::string;
  return *bytes;
}

}  // namespace

void ReadLibdevice() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::ifstream file(CudaToolkit() + kLibdeviceFile, std::ios::binary);
    if (file) {
      Bytes().assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  });
}

const std::string& Libdevice() { return Bytes(); }

void LimitCopies(llvm::Module& module) {
  // How many instructions the copies of a function would have.
  const auto copied = [](const llvm::Function* f) {
    return int64_t{f->getNumUses()} * f->getInstructionCount();
  };
  llvm::SmallVector<llvm::Function*> functions;
  int64_t total = 0;
  for (llvm::Function& f : module) {
    if (!f.getName().starts_with(kLibdevicePrefix) ||
        !f.hasFnAttribute(llvm::Attribute::AlwaysInline)) {
      continue;
    }
    functions.push_back(&f);
    total += copied(&f);
  }
  llvm::stable_sort(functions, [&](const llvm::Function* a, const llvm::Function* b) {
    return copied(a) > copied(b);
  });
  for (llvm::Function* f : functions) {
    if (total <= kMostCopiedInstructions) break;
    f->removeFnAttr(llvm::Attribute::AlwaysInline);
    f->addFnAttr(llvm::Attribute::NoInline);
    total -= copied(f);
  }
}

}  // namespace kiln::cuda
