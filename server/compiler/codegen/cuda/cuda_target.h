// CUDA devices as a target of code generation.
//
// A task is one entry of the module (runtime/cuda_abi.h). Its threads divide the iterations, or
// short chunks of them, among themselves. Each thread steps by the number of all threads, so that
// neighbours access neighbouring memory. An entry holds the kernel's PTX.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_CUDA_TARGET_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_CUDA_TARGET_H_

#include <memory>
#include <string>
#include <utility>

#include "server/compiler/codegen/cuda/ptx_machine.h"
#include "server/compiler/codegen/target.h"

namespace kiln::cuda {

// What C calls an operation that LLVM has no code for on CUDA; "" for others.
llvm::StringRef LibdeviceName(mlir::Operation& op);

class CudaTarget final : public codegen::Target {
 public:
  CudaTarget(kiln::Target target, std::unique_ptr<PtxMachine> machine)
      : target_(target), machine_(std::move(machine)) {}

  const char* triple() const override { return machine_->triple(); }
  const llvm::DataLayout& data_layout() const override { return machine_->data_layout(); }

  llvm::Function* NewTaskFunction(KernelState* state, const std::string& name) const override;
  llvm::Value* LaunchFieldIn(FunctionEmitter& f, codegen::LaunchField field) const override;

  void EmitRangeTask(KernelState* state, ir::RangeTaskOp op, int number,
                     proto::Task* task) const override;
  void EmitStructTask(KernelState* state, ir::RangeTaskOp op, int number,
                      proto::Task* task) const override;

  bool Joins(const KernelState& state, mlir::Operation& task) const override;
  void EmitJoined(KernelState* state, llvm::ArrayRef<proto::Task*> tasks) const override;

  llvm::Value* AllocateLocal(llvm::IRBuilderBase& entry, llvm::Type* type,
                             int64_t count) const override;

  llvm::Value* AllocateShared(KernelState* state, llvm::Type* type, int64_t count) const override;
  bool EmitSimt(FunctionEmitter& f, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> operands,
                llvm::Value** result) const override;

  llvm::Value* EmitAtomic(llvm::IRBuilderBase& b, ir::AtomicKind kind, llvm::Value* pointer,
                          llvm::Value* value) const override;
  bool AddsFloatsInPairs() const override { return false; }
  bool HasThreadsForLanes() const override { return true; }

  llvm::Value* EmitScalar(llvm::IRBuilderBase& b, mlir::Operation& op,
                          llvm::ArrayRef<llvm::Value*> operands) const override;

  void EmitReport(FunctionEmitter& f, codegen::Report report, int64_t node, int64_t count,
                  llvm::Value* values) const override;
  llvm::Value* EmitTapePush(FunctionEmitter& f, llvm::Value* bytes) const override;
  llvm::Value* EmitTapeTop(FunctionEmitter& f, llvm::Value* bytes) const override;
  void EmitTapePop(FunctionEmitter& f, llvm::Value* bytes) const override;
  // Caches of multiprocessors are not coherent.
  bool LoadsSeeOtherThreads() const override { return false; }
  void EmitDeactivate(FunctionEmitter& f, llvm::Value* node, llvm::Value* container,
                      llvm::Value* cell) const override;

  llvm::Value* NewRandomStream(FunctionEmitter& f) const override;
  void StartRandom(FunctionEmitter& f, llvm::Value* stream, int task,
                   llvm::Value* index) const override;
  llvm::Value* EmitRandom(FunctionEmitter& f, llvm::Value* stream, llvm::Type* type) const override;

  absl::Status Optimize(llvm::Module& module, llvm::ArrayRef<std::string> exported) override;
  // PTX, as text.
  absl::StatusOr<llvm::SmallVector<char, 0>> EmitObject(llvm::Module& module) override;
  absl::StatusOr<std::string> EmitAssembly(const llvm::Module& module) override;
  absl::StatusOr<Linked> Link(llvm::ArrayRef<char> object) override;

 private:
  static llvm::Value* CallTape(FunctionEmitter& f, const char* name, llvm::Type* result,
                               llvm::Value* bytes);
  const kiln::Target target_;
  std::unique_ptr<PtxMachine> machine_;
};

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_CUDA_TARGET_H_
