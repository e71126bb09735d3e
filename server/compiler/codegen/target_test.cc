// A second implementation of codegen::Target, as small as can be: PTX for CUDA devices, of kernels
// without trees. It shows that common code asks its Target for all that differs.
#include "server/compiler/codegen/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "server/compiler/codegen/atomics.h"
#include "server/compiler/codegen/emit_kernel.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln {
namespace {

using codegen::LaunchField;
using llvm::Value;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr char kTriple[] = "nvptx64-nvidia-cuda";
// The launch passes slots by value: the kernel's arguments, then its own pointers.
constexpr int kArgumentSlots = 16;
constexpr int kSlots = kArgumentSlots + 4;

class PtxTarget final : public codegen::Target {
 public:
  PtxTarget() {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    std::string error;
    machine_.reset(llvm::TargetRegistry::lookupTarget(kTriple, error)
                       ->createTargetMachine(kTriple, "sm_90", "+ptx78", {}, {}));
    layout_.emplace(machine_->createDataLayout());
  }

  const char* triple() const override { return kTriple; }
  const llvm::DataLayout& data_layout() const override { return *layout_; }

  llvm::Function* NewTaskFunction(KernelState* state, const std::string& name) const override {
    llvm::Module* module = state->module;
    llvm::LLVMContext& c = module->getContext();
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(c), {llvm::PointerType::get(c, 0)},
                                         /*isVarArg=*/false);
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
    function->setCallingConv(llvm::CallingConv::PTX_Kernel);
    auto* slots = llvm::ArrayType::get(llvm::Type::getInt64Ty(c), kSlots);
    function->addParamAttr(0, llvm::Attribute::getWithByValType(c, slots));
    return function;
  }

  Value* LaunchFieldIn(FunctionEmitter& f, LaunchField field) const override {
    if (field == LaunchField::kArguments) return f.launch();
    return f.EntryLoad(f.launch(), 8 * (kArgumentSlots + static_cast<int64_t>(field)));
  }

  // A thread for each iteration.
  void EmitRangeTask(KernelState* state, ir::RangeTaskOp op, int number,
                     proto::Task* task) const override {
    llvm::Function* function = NewTaskFunction(state, task->symbol());
    FunctionEmitter f(state, function, /*parallel=*/true);
    f.DrawFor(number, op.getBody());
    llvm::IRBuilder<>& b = f.builder();
    ir::YieldOp bounds = f.EmitBlock(op.getBounds().front());
    Value* thread = b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}, {});
    Value* index =
        b.CreateAdd(b.CreateZExt(thread, b.getInt64Ty()), f.ValueOf(bounds.getValues()[0]));
    llvm::BasicBlock* body = f.NewBlock("body");
    llvm::BasicBlock* next = f.NewBlock("next");
    b.CreateCondBr(b.CreateICmpSLT(index, f.ValueOf(bounds.getValues()[1])), body, next);
    b.SetInsertPoint(body);
    f.StartRandom(index);
    const mlir::Value argument = op.getIndices()[0];
    f.Map(argument, b.CreateTrunc(index, LlvmType(argument.getType(), b.getContext())));
    f.PushLoop({next, {}, nullptr, {}});
    f.EmitBlock(op.getBody().front());
    f.PopLoop();
    b.SetInsertPoint(next);
    f.Finish();
  }
  void EmitStructTask(KernelState* state, ir::RangeTaskOp /*op*/, int /*number*/,
                      proto::Task* /*task*/) const override {
    state->unsupported = "kiln.task.struct_for";
  }

  Value* AllocateLocal(llvm::IRBuilderBase& entry, llvm::Type* type, int64_t count) const override {
    return entry.CreateAlloca(llvm::ArrayType::get(type, count));
  }

  // PTX adds floats, too.
  Value* EmitAtomic(llvm::IRBuilderBase& b, ir::AtomicKind kind, Value* pointer,
                    Value* value) const override {
    const bool native = kind == ir::AtomicKind::addf || kind == ir::AtomicKind::addi;
    if (!native) return nullptr;
    return b.CreateAtomicRMW(FormOf(kind).instruction, pointer, value, llvm::MaybeAlign(),
                             llvm::AtomicOrdering::Monotonic);
  }
  bool AddsFloatsInPairs() const override { return false; }

  // Functions of libdevice, and a division that is not exact.
  Value* EmitScalar(llvm::IRBuilderBase& b, mlir::Operation& op,
                    llvm::ArrayRef<Value*> v) const override {
    if (llvm::isa<mlir::math::SinOp>(op)) return CallPure(b, "__nv_sinf", b.getFloatTy(), v);
    if (llvm::isa<mlir::arith::DivFOp>(op)) {
      return b.CreateIntrinsic(llvm::Intrinsic::nvvm_div_approx_ftz_f, {}, v);
    }
    return nullptr;
  }

  void EmitReport(FunctionEmitter& f, codegen::Report report, int64_t node, int64_t count,
                  Value* values) const override {
    llvm::IRBuilder<>& b = f.builder();
    Call(f, report == codegen::Report::kPrint ? "print" : "fail", b.getVoidTy(),
         {f.launch(), b.getInt64(node), b.getInt64(count), values});
  }
  bool LoadsSeeOtherThreads() const override { return true; }
  void EmitDeactivate(FunctionEmitter& f, Value* node, Value* container,
                      Value* cell) const override {
    Call(f, "deactivate", f.builder().getVoidTy(), {f.launch(), node, container, cell});
  }
  Value* EmitTapePush(FunctionEmitter& f, Value* bytes) const override {
    return Call(f, "tape_push", f.builder().getPtrTy(), {bytes});
  }
  Value* EmitTapeTop(FunctionEmitter& f, Value* bytes) const override {
    return Call(f, "tape_top", f.builder().getPtrTy(), {bytes});
  }
  void EmitTapePop(FunctionEmitter& f, Value* bytes) const override {
    Call(f, "tape_pop", f.builder().getVoidTy(), {bytes});
  }

  Value* NewRandomStream(FunctionEmitter& f) const override {
    return f.Alloca(f.builder().getInt64Ty(), 2);
  }
  void StartRandom(FunctionEmitter& f, Value* stream, int task, Value* index) const override {
    Call(f, "philox_start", f.builder().getVoidTy(), {stream, f.builder().getInt64(task), index});
  }
  Value* EmitRandom(FunctionEmitter& f, Value* stream, llvm::Type* type) const override {
    return Call(f, "philox", type, {stream});
  }

  absl::Status Optimize(llvm::Module& /*module*/,
                        llvm::ArrayRef<std::string> /*exported*/) override {
    return absl::OkStatus();
  }
  // What nvJitLink takes is text.
  absl::StatusOr<llvm::SmallVector<char, 0>> EmitObject(llvm::Module& module) override {
    llvm::SmallVector<char, 0> text;
    llvm::raw_svector_ostream out(text);
    llvm::legacy::PassManager passes;
    machine_->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile);
    passes.run(module);
    return text;
  }
  absl::StatusOr<std::string> EmitAssembly(const llvm::Module& /*module*/) override {
    return absl::UnimplementedError("EmitObject makes text");
  }
  absl::StatusOr<Linked> Link(llvm::ArrayRef<char> object) override {
    return Linked{std::string(object.begin(), object.end()), {}};
  }

 private:
  static Value* Call(FunctionEmitter& f, const char* name, llvm::Type* result,
                     llvm::ArrayRef<Value*> arguments) {
    llvm::SmallVector<llvm::Type*> types;
    for (Value* argument : arguments) types.push_back(argument->getType());
    return f.builder().CreateCall(
        f.module()->getOrInsertFunction(name, llvm::FunctionType::get(result, types, false)),
        arguments);
  }

  std::unique_ptr<llvm::TargetMachine> machine_;
  std::optional<llvm::DataLayout> layout_;
};

// The PTX of a kernel with one f32 field of one axis.
absl::StatusOr<std::string> PtxOf(const std::string& tasks) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ir::KilnDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      absl::StrCat("kiln.kernel @k storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], "
                   "offset = [], types = [f32], components = [0, 0], bases = 1, "
                   "base_strides = [], alias = 0, read_only = false>] results [i32] {\n",
                   tasks, "\nkiln.return\n}\n"),
      &context);
  if (!module) return absl::InvalidArgumentError("the test's text does not parse");
  PtxTarget target;
  llvm::LLVMContext llvm_context;
  absl::StatusOr<EmittedKernel> emitted =
      EmitKernel(&module->getBody()->front(), target, llvm_context);
  if (!emitted.ok()) return emitted.status();
  absl::StatusOr<llvm::SmallVector<char, 0>> object = target.EmitObject(*emitted->module);
  if (!object.ok()) return object.status();
  return target.Link(*object)->payload;
}

// A task over [0, 1000), whose body may use %f, an f32 made of the index, and %p, its cell.
std::string Range(const std::string& body) {
  return absl::StrCat(R"(kiln.task.range_for "t" bounds {
    %l = arith.constant 0 : i64
    %u = arith.constant 1000 : i64
    kiln.yield %l, %u : i64, i64
  } body (%i : i32) {
    %p = kiln.global 0 component 0 [%i] : !kiln.addr<f32>
    %f = arith.sitofp %i : i32 to f32
  )",
                      body, "\nkiln.continue\n}");
}

TEST(TargetTest, ATaskIsAnEntryWithSlotsByValue) {
  const auto ptx = PtxOf(Range("kiln.store %f, %p : !kiln.addr<f32>"));
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, HasSubstr(".visible .entry task_0("));
  EXPECT_THAT(*ptx, HasSubstr(absl::StrCat("task_0_param_0[", 8 * kSlots, "]")));
  EXPECT_THAT(*ptx, HasSubstr("%tid.x"));
}

TEST(TargetTest, TheTargetChoosesAtomics) {
  const auto ptx =
      PtxOf(Range("%old = kiln.atomic addf %f, %p : !kiln.addr<f32>\n"
                  "%other = kiln.atomic mulf %old, %p : !kiln.addr<f32>"));
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, HasSubstr("atom.global.add.f32"));
  EXPECT_THAT(*ptx, HasSubstr("atom.global.cas.b32"));  // what it has no instruction for
}

TEST(TargetTest, TheTargetHasCodeOfItsOwnForScalars) {
  const auto ptx =
      PtxOf(Range("%s = math.sin %f : f32\n%q = arith.divf %s, %f : f32\n"
                  "%r = arith.mulf %q, %f : f32\n"
                  "kiln.store %r, %p : !kiln.addr<f32>"));
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, HasSubstr("__nv_sinf"));
  EXPECT_THAT(*ptx, HasSubstr("div.approx.ftz.f32"));
  EXPECT_THAT(*ptx, HasSubstr("mul.rn.f32"));
}

TEST(TargetTest, ReportsAndRandomNumbersAreTheTargets) {
  const auto ptx =
      PtxOf(Range("%r = kiln.random : f32\nkiln.print 7 (%r) : (f32)\n"
                  "%ok = arith.cmpf olt, %r, %f : f32\n"
                  "kiln.assert %ok, 9 (%r) : (f32)"));
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  for (const char* name : {"philox_start", "philox", "print", "fail"}) {
    EXPECT_THAT(*ptx, ContainsRegex(absl::StrCat("\n\t", name, ",[ \n]")));
  }
}

TEST(TargetTest, ASerialTaskNeedsAnEntryAlone) {
  const auto ptx = PtxOf(
      "kiln.task.serial \"s\" {\n%v = kiln.argument 0 : i32\n"
      "kiln.result 0, %v : i32\nkiln.return\n}");
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, HasSubstr("ld.param.u32"));
  EXPECT_THAT(*ptx, HasSubstr(absl::StrCat("task_0_param_0+", 8 * (kArgumentSlots + 1))));
}

}  // namespace
}  // namespace kiln
