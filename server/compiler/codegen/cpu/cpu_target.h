// CPUs (levels of x86-64) as a target of code generation.
//
// A task is a function that the runtime calls on several threads, each time for a part of the
// iterations (range_task.h, struct_task.h). It finds what the launch passes in a KilnContext, and
// calls back into the runtime to print, to fail and to deactivate cells (runtime/abi.h).
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_CPU_TARGET_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_CPU_TARGET_H_

#include <memory>
#include <string>
#include <utility>

#include "server/compiler/codegen/cpu/machine.h"
#include "server/compiler/codegen/target.h"

namespace kiln::cpu {

class CpuTarget final : public codegen::Target {
 public:
  explicit CpuTarget(std::unique_ptr<Machine> machine) : machine_(std::move(machine)) {}

  const char* triple() const override { return machine_->triple(); }
  const llvm::DataLayout& data_layout() const override { return machine_->data_layout(); }

  llvm::Function* NewTaskFunction(KernelState* state, const std::string& name) const override;
  llvm::Value* LaunchFieldIn(FunctionEmitter& f, codegen::LaunchField field) const override;

  void EmitRangeTask(KernelState* state, ir::RangeTaskOp op, int number,
                     proto::Task* task) const override;
  void EmitStructTask(KernelState* state, ir::RangeTaskOp op, int number,
                      proto::Task* task) const override;

  llvm::Value* AllocateLocal(llvm::IRBuilderBase& entry, llvm::Type* type,
                             int64_t count) const override;

  llvm::Value* EmitAtomic(llvm::IRBuilderBase& b, ir::AtomicKind kind, llvm::Value* pointer,
                          llvm::Value* value) const override;
  bool AddsFloatsInPairs() const override { return true; }

  llvm::Value* EmitScalar(llvm::IRBuilderBase& b, mlir::Operation& op,
                          llvm::ArrayRef<llvm::Value*> operands) const override;
  bool IsInline(mlir::Operation& op) const override;

  Lanes lanes() const override { return machine_->lanes(); }
  llvm::Value* EmitGather(llvm::IRBuilderBase& b, llvm::Type* element, llvm::Value* pointer,
                          llvm::Value* offsets, llvm::Value* mask) const override;
  llvm::Value* EmitScatter(llvm::IRBuilderBase& b, llvm::Value* value, llvm::Value* pointer,
                           llvm::Value* offsets, llvm::Value* mask) const override;
  std::string VectorFunction(const std::string& name, bool is_f64, int64_t lanes) const override {
    return machine_->VectorFunction(name, is_f64, lanes);
  }

  void EmitReport(FunctionEmitter& f, codegen::Report report, int64_t node, int64_t count,
                  llvm::Value* values) const override;
  llvm::Value* EmitTapePush(FunctionEmitter& f, llvm::Value* bytes) const override;
  llvm::Value* EmitTapeTop(FunctionEmitter& f, llvm::Value* bytes) const override;
  void EmitTapePop(FunctionEmitter& f, llvm::Value* bytes) const override;
  bool LoadsSeeOtherThreads() const override { return true; }
  void EmitDeactivate(FunctionEmitter& f, llvm::Value* node, llvm::Value* container,
                      llvm::Value* cell) const override;

  llvm::Value* NewRandomStream(FunctionEmitter& f) const override;
  void StartRandom(FunctionEmitter& f, llvm::Value* stream, int task,
                   llvm::Value* index) const override;
  llvm::Value* EmitRandom(FunctionEmitter& f, llvm::Value* stream, llvm::Type* type) const override;

  absl::Status Optimize(llvm::Module& module, llvm::ArrayRef<std::string> exported) override;
  absl::StatusOr<llvm::SmallVector<char, 0>> EmitObject(llvm::Module& module) override {
    return machine_->EmitObject(module);
  }
  absl::StatusOr<std::string> EmitAssembly(const llvm::Module& module) override {
    return machine_->EmitAssembly(module);
  }
  absl::StatusOr<Linked> Link(llvm::ArrayRef<char> object) override;

 private:
  std::unique_ptr<Machine> machine_;
};

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_CPU_TARGET_H_
