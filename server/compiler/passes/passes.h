// The passes over kiln.kernel, and the table that orders them.
#ifndef KILN_SERVER_COMPILER_PASSES_PASSES_H_
#define KILN_SERVER_COMPILER_PASSES_PASSES_H_

#include <memory>
#include <optional>

#include "llvm/ADT/ArrayRef.h"
#include "mlir/Pass/Pass.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

// Structured level.
std::unique_ptr<mlir::Pass> CreateDemoteAtomicsPass();
std::unique_ptr<mlir::Pass> CreatePromoteLocalsPass();
std::unique_ptr<mlir::Pass> CreateSimplifyControlPass();
std::unique_ptr<mlir::Pass> CreateHoistAddressesPass();
std::unique_ptr<mlir::Pass> CreateForwardStoresPass();
std::unique_ptr<mlir::Pass> CreateCarryBranchesPass();
std::unique_ptr<mlir::Pass> CreateMergeUpdatesPass();
std::unique_ptr<mlir::Pass> CreateCarryCellsPass();
// Any level.
std::unique_ptr<mlir::Pass> CreateCsePass();
std::unique_ptr<mlir::Pass> CreateRefuseSimtPass();
// Structured to offloaded.
std::unique_ptr<mlir::Pass> CreateOffloadPass();
// Offloaded level.
std::unique_ptr<mlir::Pass> CreateCheckSimtPass();
std::unique_ptr<mlir::Pass> CreateNarrowBoundsPass();
std::unique_ptr<mlir::Pass> CreateReducePass();
std::unique_ptr<mlir::Pass> CreateReductionFormPass();
std::unique_ptr<mlir::Pass> CreateSplitRowsPass();
std::unique_ptr<mlir::Pass> CreateJamRowsPass();
std::unique_ptr<mlir::Pass> CreatePairAtomicsPass();
std::unique_ptr<mlir::Pass> CreateLanesPass();

// A kernel's attribute that says which of its tasks may run in lanes, a LanesWish; absent: the
// first.
inline constexpr char kLanesAttribute[] = "lanes";
// The values of proto::Lanes.
enum class LanesWish { kWhereTheyPay = 0, kNever = 1, kWherePossible = 2 };

// A kernel's attribute with the level of x86-64 that it is compiled for; absent: for a GPU.
inline constexpr char kCpuLevelAttribute[] = "cpu_level";
std::optional<int64_t> CpuLevelOf(ir::KernelOp kernel);
// The least level with lanes.
inline constexpr int64_t kLeastLevelOfLanes = 3;

// Which kernels a pass is for.
enum class PassFor {
  kAll,
  kGradients,        // kernels that are differentiated
  kSecondGradients,  // those whose gradient is differentiated again
  kCpus,             // targets that run iterations in rows
};

// One stage of the pipeline: its name in reports and on kiln-opt's command line.
struct PassRow {
  const char* name;
  std::unique_ptr<mlir::Pass> (*create)();
  PassFor kernels = PassFor::kAll;
};

inline bool IsForGradients(const PassRow& row) {
  return row.kernels == PassFor::kGradients || row.kernels == PassFor::kSecondGradients;
}

// From what the front end makes to what the code generator takes, in order.
llvm::ArrayRef<PassRow> Pipeline();

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_PASSES_PASSES_H_
