#include "server/compiler/codegen/cpu/vector_math.h"

#include <deque>
#include <string>
#include <vector>

#include "llvm/Analysis/TargetLibraryInfo.h"

namespace kiln::cpu {
namespace {

struct Row {
  uint32_t glibc;  // in libmvec since glibc 2.`glibc`; 0: in that of every supported machine
  const char* name;
  bool binary;
  bool intrinsic;  // LLVM has it as llvm.<name>
};

constexpr Row kFunctions[] = {
#include "server/compiler/codegen/cpu/vector_functions.inc"
};

struct Width {
  char isa;  // of the vector function ABI
  int bits;
  uint32_t level;  // of CPU targets, from which on machines have it
};
constexpr Width kWidths[] = {{'b', 128, 1}, {'d', 256, 3}, {'e', 512, 4}};

}  // namespace

void AddVectorMath(uint32_t level, uint32_t glibc, llvm::TargetLibraryInfoImpl* library) {
  // Descriptions refer to names, which must stay.
  static auto& names = *new std::deque<std::string>;
  const auto keep = [](std::string name) -> llvm::StringRef {
    return names.emplace_back(std::move(name));
  };
  std::vector<llvm::VecDesc> descriptions;
  for (const Row& row : kFunctions) {
    if (row.glibc > glibc) continue;
    for (const Width& width : kWidths) {
      if (width.level > level) continue;
      for (const bool is_double : {false, true}) {
        const std::string lanes = std::to_string(width.bits / (is_double ? 64 : 32));
        const std::string shape = "N" + lanes + (row.binary ? "vv" : "v");
        const std::string scalar = std::string(row.name) + (is_double ? "" : "f");
        const llvm::StringRef vector =
            keep("_ZGV" + std::string(1, width.isa) + shape + "_" + scalar);
        const llvm::StringRef abi = keep("_ZGV_LLVM_" + shape);
        const auto count = llvm::ElementCount::getFixed(width.bits / (is_double ? 64 : 32));
        descriptions.emplace_back(keep(scalar), vector, count, /*Masked=*/false, abi);
        if (row.intrinsic) {
          descriptions.emplace_back(
              keep("llvm." + std::string(row.name) + (is_double ? ".f64" : ".f32")), vector, count,
              /*Masked=*/false, abi);
        }
      }
    }
  }
  library->addVectorizableFunctions(descriptions);
}

}  // namespace kiln::cpu
