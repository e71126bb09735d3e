// Kernels for CUDA by families of operations: what their PTX contains, and that nvJitLink takes it
// for old and new devices (skipped where there is none).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/artifact/cuda_payload.h"
#include "common/artifact/target_proto.h"
#include "common/language/simt_ops.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "server/compiler/codegen/codegen.h"
#include "server/compiler/codegen/cuda/libdevice.h"
#include "server/compiler/codegen/cuda/nv_jit_link.h"
#include "server/compiler/codegen/emit_kernel.h"
#include "server/compiler/codegen/llvm_flags.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Made {
  std::string cubin, ptx, payload;
  std::vector<proto::Task> tasks;
};

// One kernel with an ndarray of `type`, of one axis, and an argument slot after its two.
std::string Kernel(const std::string& type, const std::string& tasks) {
  return absl::StrCat("kiln.kernel @k storages [#kiln.ndarray<slot = 0, axes = 1, types = [", type,
                      "], soa = false, clamp = false, alias = 0, read_only = false>] results ",
                      "[i32] attributes {slots = 3 : i64} {\n", tasks, "\nkiln.return\n}\n");
}

// A task over [0, 1000); its body may use %p, the cell of the index %i, and %v, its value.
std::string Range(const std::string& type, const std::string& body) {
  return absl::StrCat(R"(kiln.task.range_for "t" bounds {
    %l = arith.constant 0 : i64
    %u = arith.constant 1000 : i64
    kiln.yield %l, %u : i64, i64
  } body (%i : i32) {
    %p = kiln.global 0 component 0 [%i] : !kiln.addr<)",
                      type, ">\n%v = kiln.load %p : !kiln.addr<", type, ">\n", body,
                      "\nkiln.continue\n}");
}

absl::StatusOr<GeneratedCode> Generate(const std::string& text, Target target) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ir::KilnDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) return absl::InvalidArgumentError("the test's text does not parse");
  proto::Target message;
  SetTarget(target, &message);
  proto::CodeOptions options;
  options.set_opt_level(3);
  std::vector<proto::StageReport> stages;
  CodeGenerator generator;
  return generator.Generate(&module->getBody()->front(), message, options, {}, &stages, "");
}

absl::StatusOr<Made> Compile(const std::string& text, Target target) {
  cuda::ReadLibdevice();
  cuda::LoadNvJitLink();
  absl::StatusOr<GeneratedCode> code = Generate(text, target);
  if (!code.ok()) return code.status();
  CudaPayload payload;
  Made made;
  std::string wrong = UnpackCudaPayload(code->payload, &payload);
  if (wrong.empty()) wrong = CudaPtxText(payload, &made.ptx);
  if (!wrong.empty()) return absl::InternalError(wrong);
  made.cubin = payload.cubin;
  made.payload = code->payload;
  made.tasks = code->tasks;
  return made;
}

struct Family {
  const char* name;
  std::string text;
};

std::string Atomic(const std::string& kind, const std::string& type) {
  return absl::StrCat("%old = kiln.atomic ", kind, " %v, %p : !kiln.addr<", type,
                      ">\nkiln.store %old, %p : !kiln.addr<", type, ">\n");
}

// All kinds of atomics on one type, in one task each.
std::string Atomics(const std::string& type, const std::vector<const char*>& kinds) {
  std::string tasks;
  for (const char* kind : kinds) tasks += Range(type, Atomic(kind, type)) + "\n";
  return Kernel(type, tasks);
}

std::string Math(const std::string& type) {
  std::string body;
  std::string last = "%v";
  int next = 0;
  for (const char* name : {"sin",  "cos",   "tan",       "asin",  "acos", "atan", "sinh",  "cosh",
                           "tanh", "asinh", "acosh",     "atanh", "exp",  "exp2", "expm1", "log",
                           "log2", "log10", "log1p",     "cbrt",  "erf",  "sqrt", "rsqrt", "floor",
                           "ceil", "round", "roundeven", "trunc", "absf"}) {
    const std::string result = absl::StrCat("%m", next++);
    absl::StrAppend(&body, result, " = math.", name, " ", last, " : ", type, "\n");
    last = result;
  }
  for (const char* name : {"math.powf", "math.atan2", "math.copysign", "arith.remf", "arith.divf",
                           "arith.minnumf", "arith.maximumf"}) {
    const std::string result = absl::StrCat("%m", next++);
    absl::StrAppend(&body, result, " = ", name, " ", last, ", %v : ", type, "\n");
    last = result;
  }
  return Kernel(type, Range(type, body + "kiln.store " + last + ", %p : !kiln.addr<" + type + ">"));
}

// `steps` sines of sines, and one exponential.
std::string Sines(int steps) {
  std::string body = "%s0 = math.exp %v : f32\n";
  for (int i = 0; i < steps; ++i) {
    absl::StrAppend(&body, "%s", i + 1, " = math.sin %s", i, " : f32\n");
  }
  return Kernel("f32",
                Range("f32", absl::StrCat(body, "kiln.store %s", steps, ", %p : !kiln.addr<f32>")));
}

std::string IntegerMath(const std::string& type) {
  return Kernel(
      type, Range(type, absl::StrCat("%a = math.ctpop %v : ", type, "\n%b = math.ctlz %a : ", type,
                                     "\n%c = math.cttz %b : ", type, "\n%d = math.absi %c : ", type,
                                     "\n%e = math.ipowi %d, %v : ", type,
                                     "\nkiln.store %e, %p : !kiln.addr<", type, ">")));
}

std::string Random(const std::string& type) {
  return Kernel(type, Range(type, absl::StrCat("%r = kiln.random : ", type,
                                               "\nkiln.store %r, %p : !kiln.addr<", type, ">")));
}

// A task that may fail, print, call a function and keep an array.
std::string Reports() {
  return Kernel("i32", R"(kiln.function 0 (%x : i32, %at : !kiln.addr<i32>) -> (i32) {
      %old = kiln.atomic addi %x, %at : !kiln.addr<i32>
      %zero = arith.constant 0 : i32
      %good = arith.cmpi sge, %old, %zero : i32
      kiln.assert %good, 5 (%old) : (i32)
      kiln.print 6 (%old) : (i32)
      kiln.return %old : i32
    }
  )" + Range("i32", R"(kiln.print 7 (%i, %v) : (i32, i32)
      %c = kiln.call 0(%v, %p) : (i32, !kiln.addr<i32>) -> (i32)
      %ok = arith.cmpi slt, %c, %v : i32
      kiln.assert %ok, 9 (%c) : (i32)
      kiln.store %c, %p : !kiln.addr<i32>)"));
}

std::string TypeText(proto::Scalar scalar) { return scalar == proto::F32 ? "f32" : "i32"; }

// All operations of ti.simt, with an array that the threads of a block share.
std::string Simt() {
  std::string body = R"(%pad = kiln.shared_array 64 : !kiln.addr<i32>
      %mine = kiln.element %pad[%i] : !kiln.addr<i32>
      kiln.store %v, %mine : !kiln.addr<i32>
      %f = arith.bitcast %v : i32 to f32
      %o = kiln.atomic addi %v, %mine : !kiln.addr<i32>)";
  int next = 0;
  for (const SimtFacts& op : kSimtOps) {
    std::string values, types;
    for (int i = 0; i < op.num_operands; ++i) {
      absl::StrAppend(&values, i == 0 ? "" : ", ", op.operands[i] == proto::F32 ? "%f" : "%v");
      absl::StrAppend(&types, i == 0 ? "" : ", ", TypeText(op.operands[i]));
    }
    absl::StrAppend(&body, "\n");
    const bool has_value = op.result != proto::SCALAR_NONE;
    const std::string result = absl::StrCat("%s", next++);
    if (has_value) absl::StrAppend(&body, result, " = ");
    absl::StrAppend(&body, "kiln.simt \"", op.name, "\"(", values, ") : (", types, ") -> ",
                    has_value ? TypeText(op.result) : "()");
    if (!has_value) continue;
    const std::string number = op.result == proto::F32 ? result + "i" : result;
    if (op.result == proto::F32) {
      absl::StrAppend(&body, "\n", number, " = arith.bitcast ", result, " : f32 to i32");
    }
    absl::StrAppend(&body, "\nkiln.store ", number, ", %mine : !kiln.addr<i32>");
  }
  absl::StrAppend(&body, "\n%l = kiln.load %mine : !kiln.addr<i32>",
                  "\nkiln.store %l, %p : !kiln.addr<i32>");
  return Kernel("i32", Range("i32", body));
}

std::string Serial() {
  return Kernel("i32", R"(kiln.task.serial "s" {
    %v = kiln.argument 2 : i32
    %t = kiln.temporary 8 : !kiln.addr<i32>
    %old = kiln.atomic addi %v, %t : !kiln.addr<i32>
    kiln.result 0, %old : i32
    kiln.return
  })");
}

// The sum of all elements.
std::string Sums(const std::string& type, const char* zero, const char* kind) {
  std::string text = Range(type, absl::StrCat("%s = arith.add", kind, " %x, %v : ", type));
  const auto replace = [&text](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("(%i : i32)", absl::StrCat("(%i : i32, %x : ", type, ")"));
  replace("kiln.continue\n}", absl::StrCat("kiln.continue %s : ", type, "\n} finish (%t = ", zero,
                                           " : ", type, ") {\n%a = kiln.temporary 0 : ",
                                           "!kiln.addr<", type, ">\n%o = kiln.atomic add", kind,
                                           " %t, %a : !kiln.addr<", type, ">\nkiln.yield\n}"));
  return Kernel(type, text);
}

std::vector<Family> Families() {
  const std::vector<const char*> ints = {"addi",  "subi",  "muli", "minsi", "maxsi",
                                         "minui", "maxui", "andi", "ori",   "xori"};
  const std::vector<const char*> floats = {"addf", "subf", "mulf", "minf", "maxf"};
  return {{"atomics of i8", Atomics("i8", ints)},
          {"atomics of i16", Atomics("i16", ints)},
          {"atomics of i32", Atomics("i32", ints)},
          {"atomics of i64", Atomics("i64", ints)},
          {"atomics of i1", Atomics("i1", {"andi", "ori", "xori"})},
          {"atomics of f16", Atomics("f16", floats)},
          {"atomics of f32", Atomics("f32", floats)},
          {"atomics of f64", Atomics("f64", floats)},
          {"math of f32", Math("f32")},
          {"math of f64", Math("f64")},
          {"math of f16", Math("f16")},
          {"many sines", Sines(200)},
          {"math of i16", IntegerMath("i16")},
          {"math of i32", IntegerMath("i32")},
          {"math of i64", IntegerMath("i64")},
          {"random f16", Random("f16")},
          {"random f32", Random("f32")},
          {"random f64", Random("f64")},
          {"random i32", Random("i32")},
          {"random i64", Random("i64")},
          {"threads of a block", Simt()},
          {"reports and functions", Reports()},
          {"sums of f32", Sums("f32", "0.0", "f")},
          {"sums of f64", Sums("f64", "0.0", "f")},
          {"sums of i8", Sums("i8", "0", "i")},
          {"serial", Serial()}};
}

TEST(CudaTargetTest, DevicesOldAndNewTakeEachFamily) {
  cuda::LoadNvJitLink();
  cuda::ReadLibdevice();
  if (!cuda::HasNvJitLink() || cuda::Libdevice().empty()) {
    GTEST_SKIP() << "no CUDA toolkit in /usr/local/cuda or KILN_CUDA_TOOLKIT";
  }
  for (const Family& family : Families()) {
    for (const uint32_t arch : {75, 90, 120}) {
      const auto made = Compile(family.text, Target::Cuda(arch));
      ASSERT_TRUE(made.ok()) << family.name << ", sm_" << arch << ": " << made.status();
      CudaPayload read;
      EXPECT_EQ(CheckCudaPayload(made->payload, Target::Cuda(arch), &read), "") << family.name;
      EXPECT_EQ(CheckCudaPtx(read, Target::Cuda(arch)), "") << family.name;
      EXPECT_FALSE(read.cubin.empty()) << family.name;
    }
  }
}

TEST(CudaTargetTest, MachineCodeSaysWhatItIsFor) {
  cuda::LoadNvJitLink();
  if (!cuda::HasNvJitLink()) GTEST_SKIP() << "no CUDA toolkit";
  const auto made = Compile(Serial(), Target::Cuda(86));
  ASSERT_TRUE(made.ok()) << made.status();
  const auto problem = [&](std::string_view cubin, Target target) {
    CudaPayload read;
    return CheckCudaPayload(PackCudaPayload(cubin, made->ptx), target, &read);
  };
  EXPECT_EQ(problem(made->cubin, Target::Cuda(86)), "");
  EXPECT_EQ(problem(made->cubin, Target::Cuda(80)), "its machine code is for sm_86, not sm_80");
  for (size_t size = 1; size < made->cubin.size(); ++size) {
    EXPECT_NE(problem(std::string_view(made->cubin).substr(0, size), Target::Cuda(86)), "") << size;
  }
}

// LLVM 19 has no code for some ordered atomics and weakens others in silence. Nothing of a library
// may stay a call to something that the module does not define.
TEST(CudaTargetTest, PtxHasNoOrderedAtomicsAndIsComplete) {
  cuda::ReadLibdevice();
  for (const Family& family : Families()) {
    const auto made = Compile(family.text, Target::CudaPtx(75));
    if (!made.ok() && cuda::Libdevice().empty()) continue;
    ASSERT_TRUE(made.ok()) << family.name << ": " << made.status();
    EXPECT_EQ(made->cubin, "") << family.name;
    EXPECT_THAT(made->ptx, HasSubstr(".target sm_75")) << family.name;
    for (const char* never : {".acquire", ".release", ".acq_rel", ".extern"}) {
      EXPECT_THAT(made->ptx, Not(HasSubstr(never))) << family.name;
    }
  }
}

// On a module in libdevice's form, which needs no toolkit: a large function with many calls stays
// one, a small one is still inlined.
TEST(CudaTargetTest, TheFunctionWithTheMostCopiesStaysOne) {
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  llvm::Type* f32 = llvm::Type::getFloatTy(context);
  const auto add = [&](const char* name, int additions) {
    auto* f = llvm::Function::Create(llvm::FunctionType::get(f32, {f32}, false),
                                     llvm::GlobalValue::ExternalLinkage, name, module);
    f->addFnAttr(llvm::Attribute::AlwaysInline);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
    llvm::Value* x = f->getArg(0);
    for (int i = 0; i < additions; ++i) x = b.CreateFAdd(x, f->getArg(0));
    b.CreateRet(x);
    return f;
  };
  llvm::Function* large = add("__nv_sinf", 200);
  llvm::Function* small = add("__nv_expf", 10);
  llvm::Function* task = add("task_0", 1);
  llvm::IRBuilder<> b(&task->getEntryBlock(), task->getEntryBlock().begin());
  for (int64_t i = 0; i < 70; ++i) b.CreateCall(large, {task->getArg(0)});
  b.CreateCall(small, {task->getArg(0)});
  cuda::LimitCopies(module);
  EXPECT_TRUE(large->hasFnAttribute(llvm::Attribute::AlwaysInline)) << "70 copies fit";
  for (int64_t i = 0; i < 20; ++i) b.CreateCall(large, {task->getArg(0)});
  cuda::LimitCopies(module);
  EXPECT_TRUE(large->hasFnAttribute(llvm::Attribute::NoInline));
  EXPECT_FALSE(large->hasFnAttribute(llvm::Attribute::AlwaysInline));
  EXPECT_TRUE(small->hasFnAttribute(llvm::Attribute::AlwaysInline));
}

TEST(CudaTargetTest, FunctionsWithManyCopiesStayFunctions) {
  cuda::ReadLibdevice();
  if (cuda::Libdevice().empty()) GTEST_SKIP() << "no CUDA toolkit";
  const auto few = Compile(Sines(20), Target::CudaPtx(75));
  ASSERT_TRUE(few.ok()) << few.status();
  EXPECT_THAT(few->ptx, Not(HasSubstr("__nv_")));
  const auto many = Compile(Sines(200), Target::CudaPtx(75));
  ASSERT_TRUE(many.ok()) << many.status();
  EXPECT_THAT(many->ptx, HasSubstr("__nv_sinf"));
  EXPECT_THAT(many->ptx, Not(HasSubstr("__nv_expf"))) << "one copy, which costs little";
  EXPECT_LT(many->ptx.size(), 3 * few->ptx.size());
}

TEST(CudaTargetTest, EqualKernelsGiveEqualBytes) {
  const std::string text = Reports();
  const auto one = Compile(text, Target::Cuda(90));
  const auto other = Compile(text, Target::Cuda(90));
  ASSERT_TRUE(one.ok() && other.ok()) << one.status();
  EXPECT_EQ(one->ptx, other->ptx);
  EXPECT_TRUE(one->payload == other->payload) << "the machine code differs";
}

// So large that the code generator for CPUs leaves out what takes long, by LLVM's flags.
std::string LargeKernel() {
  constexpr int kSteps = 3000;
  std::string body = "%x0 = arith.muli %v, %v : i32\n";
  for (int i = 0; i < kSteps; ++i) {
    absl::StrAppend(&body, "%y", i, " = arith.muli %x", i, ", %x", i, " : i32\n%x", i + 1,
                    " = arith.addi %y", i, ", %v : i32\n");
  }
  return Kernel("i32", Range("i32", absl::StrCat(body, "kiln.store %x", kSteps, ", %p : <i32>")));
}

// Reads every third element: addresses that LLVM's loop strength reduction steps through.
std::string Strided() {
  return Kernel("i32", Range("i32", R"(%zero = arith.constant 0 : i32
      %many = kiln.argument 2 : i32
      %three = arith.constant 3 : i32
      %s = kiln.for %k = %zero to %many : i32 carry (%a = %v : i32) {
        %at = arith.muli %k, %three : i32
        %q = kiln.global 0 component 0 [%at] : !kiln.addr<i32>
        %w = kiln.load %q : !kiln.addr<i32>
        %b = arith.xori %a, %w : i32
        kiln.continue %b : i32
      }
      kiln.store %s, %p : <i32>)"));
}

// LLVM's flags belong to the process.
TEST(CudaTargetTest, CodeForCpusBeforeChangesNothing) {
  const auto texts = [] {
    std::vector<std::string> texts;
    for (const std::string& kernel : {Strided(), Reports(), Sums("f32", "0.0", "f"), Serial()}) {
      const auto made = Compile(kernel, Target::CudaPtx(75));
      EXPECT_TRUE(made.ok()) << made.status();
      texts.push_back(made.ok() ? made->ptx : "");
    }
    return texts;
  };
  const std::vector<std::string> before = texts();
  const auto for_cpu = Generate(LargeKernel(), Target::Cpu(3));
  ASSERT_TRUE(for_cpu.ok()) << for_cpu.status();
  EXPECT_TRUE(texts() == before) << "after a large kernel";
  // LLD, which links a kernel for CPUs at the end, resets the flags. One that was emitted and not
  // linked, as after an error, leaves them.
  for (const codegen::LlvmFlags flags : {codegen::LlvmFlags{true, false, false},
                                         {false, true, false},
                                         {false, false, true},
                                         {true, true, true}}) {
    codegen::SetLlvmFlags(flags);
    EXPECT_TRUE(texts() == before)
        << "after a kernel with the flags " << flags.skip_loop_strength_reduction << " "
        << flags.skip_machine_licm << " " << flags.skip_codegen_prepare;
  }
}

TEST(CudaTargetTest, AtomicsAreInstructionsWhereThereAreSome) {
  const auto ptx = [](const std::string& kind, const std::string& type) {
    const auto made = Compile(Kernel(type, Range(type, Atomic(kind, type))), Target::CudaPtx(75));
    return made.ok() ? made->ptx : made.status().ToString();
  };
  EXPECT_THAT(ptx("addf", "f32"), HasSubstr("atom.global.add.f32"));
  EXPECT_THAT(ptx("subf", "f64"), HasSubstr("atom.global.add.f64"));
  EXPECT_THAT(ptx("maxui", "i64"), HasSubstr("atom.global.max.u64"));
  EXPECT_THAT(ptx("minf", "f32"), HasSubstr("atom.global.cas.b32"));
  EXPECT_THAT(ptx("mulf", "f64"), HasSubstr("atom.global.cas.b64"));
}

TEST(CudaTargetTest, OperationsOfThreadsAreInstructions) {
  const auto made = Compile(Simt(), Target::CudaPtx(75));
  ASSERT_TRUE(made.ok()) << made.status();
  for (const char* text : {".shared .align 16 .b8", "bar.sync",         "bar.red.and.pred",
                           "bar.red.or.pred",       "bar.red.popc.u32", "membar.gl",
                           "vote.sync.all",         "vote.sync.any",    "vote.sync.uni",
                           "vote.sync.ballot",      "shfl.sync.idx",    "shfl.sync.up",
                           "shfl.sync.down",        "shfl.sync.bfly",   "match.any.sync",
                           "match.all.sync",        "activemask",       "bar.warp.sync",
                           "atom.shared.add.u32",   "st.shared"}) {
    EXPECT_THAT(made->ptx, HasSubstr(text));
  }
  // Nothing moves out of order, and nothing is left out.
  EXPECT_THAT(made->ptx, Not(HasSubstr(".local")));
}

TEST(CudaTargetTest, ASumEndsWithOneAtomicOfEachBlock) {
  const auto made = Compile(Sums("f32", "0.0", "f"), Target::CudaPtx(75));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->ptx, HasSubstr("shfl.sync.down.b32"));
  EXPECT_THAT(made->ptx, HasSubstr("bar.sync"));
  const size_t first = made->ptx.find("atom.global.add.f32");
  EXPECT_NE(first, std::string::npos) << made->ptx;
  EXPECT_EQ(made->ptx.find("atom.global.add.f32", first + 1), std::string::npos);
}

int Count(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// A loop over an array, as the host knows it. tests/golden/ptx_chunks.mlir has more.
TEST(CudaTargetTest, NeighboursAreAccessedAtOnce) {
  const auto made = [](const std::string& type, const std::string& upper) {
    const char* add = type[0] == 'f' ? "addf" : "addi";
    std::string text =
        Kernel(type, Range(type, absl::StrCat("%w = arith.", add, " %v, %v : ", type,
                                              "\nkiln.store %w, %p : <", type, ">")));
    const std::string known = "arith.constant 1000 : i64";
    text.replace(text.find(known), known.size(), upper);
    auto made = Compile(text, Target::CudaPtx(75));
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  };
  const std::string extent = "kiln.extent 0 axis 0 : i64";
  for (const auto& [type, access, chunk] : {std::tuple{"f32", "v4.f32", 4u},
                                            {"i64", "v2.u64", 2u},
                                            {"f16", "v4.b32", 8u},
                                            {"i8", "u32", 4u}}) {
    const Made loop = made(type, extent);
    EXPECT_EQ(loop.tasks[0].items_per_thread(), chunk);
    EXPECT_EQ(Count(loop.ptx, absl::StrCat("ld.global.", access)), 1) << loop.ptx;
    EXPECT_EQ(Count(loop.ptx, absl::StrCat("st.global.", access)), 1) << loop.ptx;
    EXPECT_EQ(loop.tasks[0].length_factor(), 1u);
    EXPECT_THAT(loop.tasks[0].length_slots(), testing::ElementsAre(1u));
  }
  // Few iterations, each of which has a thread.
  const Made small = made("f32", "arith.constant 1000 : i64");
  EXPECT_EQ(small.tasks[0].items_per_thread(), 0u);
  EXPECT_EQ(Count(small.ptx, ".v4."), 0);
  EXPECT_EQ(small.tasks[0].length_factor(), 0u);
}

// y[i, j] = x[i - 1, j] + x[i + 1, j], with so many rows and columns of the loop, and a sum of the
// results. tests/golden/ptx_stencils.mlir has more.
std::string Stencil(const std::string& rows, const std::string& columns, bool sums, int more_ops) {
  std::string text = R"(kiln.kernel @k storages [
    #kiln.ndarray<slot = 0, axes = 2, types = [f32], soa = false, clamp = false, alias = 1, read_only = false>,
    #kiln.ndarray<slot = 3, axes = 2, types = [f32], soa = false, clamp = false, alias = 1, read_only = false>]
    results [] attributes {slots = 6 : i64} {
  kiln.task.range_for "t" bounds {
    %l = arith.constant 1 : i64
)";
  absl::StrAppend(&text, "%n = ", rows, "\n%m = ", columns, R"(
    kiln.yield %l, %n, %l, %m : i64, i64, i64, i64
  } body (%i : i32, %j : i32)",
                  sums ? ", %s : f32" : "", R"() {
    %one = arith.constant 1 : i32
    %up = arith.subi %i, %one : i32
    %down = arith.addi %i, %one : i32
    %p = kiln.global 0 component 0 [%up, %j] : <f32>
    %q = kiln.global 0 component 0 [%down, %j] : <f32>
    %x = kiln.load %p : <f32>
    %y = kiln.load %q : <f32>
    %v0 = arith.addf %x, %y : f32
)");
  for (int i = 0; i < more_ops; ++i) {
    absl::StrAppend(&text, "%v", i + 1, " = arith.addf %v", i, ", %x : f32\n");
  }
  absl::StrAppend(&text, "%r = kiln.global 1 component 0 [%i, %j] : <f32>\nkiln.store %v", more_ops,
                  ", %r : <f32>\n");
  absl::StrAppend(&text,
                  sums ? R"(%t = arith.addf %s, %v0 : f32
    kiln.continue %t : f32
  } finish (%u = 0.0 : f32) {
    %a = kiln.temporary 0 : <f32>
    %o = kiln.atomic addf %u, %a : <f32>
    kiln.yield
  })"
                       : "kiln.continue\n}",
                  "\nkiln.return\n}\n");
  return text;
}

TEST(CudaTargetTest, StencilsTakePatchesOfRows) {
  const std::string rows = "kiln.extent 1 axis 0 : i64", columns = "kiln.extent 1 axis 1 : i64";
  const auto constant = [](int n) { return absl::StrCat("arith.constant ", n, " : i64"); };
  struct Case {
    std::string rows, columns;
    bool sums = false;
    int more_ops = 0;
    uint32_t items = 16;
    int loads = 6;  // of four elements
  };
  for (const Case& c : {
           Case{rows, columns},
           Case{constant(2001), constant(2001)},
           Case{rows, columns, false, /*more_ops=*/40, 8, 4},   // patches of two rows
           Case{rows, columns, false, /*more_ops=*/100, 2, 0},  // chunks of two iterations
           // Its accumulators keep their order.
           Case{rows, columns, /*sums=*/true, 0, 4, 2},
           Case{constant(6), columns, false, 0, 4, 2},
           Case{constant(500), constant(500), false, 0, 4, 2},
       }) {
    const auto made = Compile(Stencil(c.rows, c.columns, c.sums, c.more_ops), Target::CudaPtx(75));
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->tasks[0].items_per_thread(), c.items) << c.rows << c.more_ops;
    EXPECT_EQ(Count(made->ptx, "ld.global.v4.f32"), c.loads) << made->ptx;
    EXPECT_EQ(made->tasks[0].waves(), c.sums ? 1u : 0u);
  }
}

// How many loads a round of an inner loop has that LLVM has unrolled. `body` makes %t of %s and of
// what it loads.
int64_t LoadsOfRound(const std::string& body, const std::string& upper = "kiln.argument 2 : i32") {
  const std::string text = absl::StrCat(R"(
    %first = arith.constant 0 : i32
    %n = )",
                                        upper, R"(
    %r = kiln.for %k = %first to %n : i32 carry (%s = %v : f32) {
      %q = kiln.global 0 component 0 [%k] : !kiln.addr<f32>
      %x = kiln.load %q : !kiln.addr<f32>
)",
                                        body, R"(
      kiln.continue %t : f32
    }
    kiln.store %r, %p : !kiln.addr<f32>)");
  const absl::StatusOr<Made> made = Compile(Kernel("f32", Range("f32", text)), Target::Cuda(80));
  if (!made.ok()) {
    ADD_FAILURE() << made.status();
    return 0;
  }
  // From the first mark of an unrolled loop to its end.
  const size_t begin = made->ptx.find("nounroll");
  const size_t end = made->ptx.find(" bra ", begin);
  if (begin == std::string::npos || end == std::string::npos) return 1;
  int64_t loads = 0;
  for (size_t at = begin; (at = made->ptx.find("ld.global", at + 1)) < end;) ++loads;
  return loads;
}

TEST(CudaTargetTest, InnerLoopsHaveManyLoadsUnderWay) {
  EXPECT_EQ(LoadsOfRound("%t = arith.addf %s, %x : f32"), 16);
  EXPECT_EQ(LoadsOfRound("%t = arith.addf %s, %x : f32", "arith.constant 1000 : i32"), 8);
  std::string more;
  for (int i = 0; i < 25; ++i) {
    absl::StrAppend(&more, "%y", i + 1, " = arith.mulf %", i == 0 ? "x" : absl::StrCat("y", i),
                    ", %x : f32\n");
  }
  EXPECT_EQ(LoadsOfRound(more + "%t = arith.addf %s, %y25 : f32"), 8);
  EXPECT_EQ(LoadsOfRound("%z = arith.divf %x, %v : f32\n%t = arith.addf %s, %z : f32"), 4);
}

TEST(CudaTargetTest, ShortTasksInARowAreOneEntry) {
  const auto store = [](const std::string& number) {
    return absl::StrCat("%v = arith.constant ", number,
                        " : i32\n%a = kiln.temporary 0 : <i32>\nkiln.store %v, %a : <i32>\n"
                        "kiln.print 0 (%v) : (i32)\n");
  };
  const std::string serial =
      absl::StrCat("kiln.task.serial \"s\" {\n", store("1"), "kiln.return\n}\n");
  std::string loop = Range("i32", "%w = arith.addi %v, %v : i32\nkiln.store %w, %p : <i32>");
  const std::string length = "1000";
  loop.replace(loop.find(length), length.size(), "100");
  const auto all =
      Compile(Kernel("i32", absl::StrCat(serial, loop, "\n", serial)), Target::CudaPtx(75));
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(Count(all->ptx, ".entry"), 1) << all->ptx;
  EXPECT_EQ(Count(all->ptx, "bar.sync"), 2) << all->ptx;
  ASSERT_EQ(all->tasks.size(), 3u);
  EXPECT_FALSE(all->tasks[0].joined());
  EXPECT_EQ(all->tasks[0].end(), all->tasks[0].block_dim());
  EXPECT_TRUE(all->tasks[1].joined() && all->tasks[2].joined());
  // A loop with more to do has its own, and so has what is after it.
  const auto apart = Compile(
      Kernel("i32", absl::StrCat(serial, Range("i32", "kiln.store %v, %p : <i32>"), "\n", serial)),
      Target::CudaPtx(75));
  ASSERT_TRUE(apart.ok()) << apart.status();
  EXPECT_EQ(Count(apart->ptx, ".entry"), 3);
  EXPECT_EQ(Count(apart->ptx, "bar.sync"), 0);
}

// Those that have left the loop would wait in a shuffle for those that vote in it.
TEST(CudaTargetTest, ASumBesideOperationsOfThreadsIsOneOfEachThread) {
  std::string text = Sums("i32", "0", "i");
  const std::string sum = "%s = arith.addi %x, %v";
  text.replace(text.find(sum), sum.size(),
               "%y = kiln.simt \"warp.ballot\"(%v) : (i32) -> i32\n%s = arith.addi %x, %y");
  const auto made = Compile(text, Target::CudaPtx(75));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->ptx, HasSubstr("vote.sync.ballot"));
  EXPECT_THAT(made->ptx, Not(HasSubstr("shfl.sync")));
  EXPECT_THAT(made->ptx, Not(HasSubstr("bar.sync")));
}

// A loop over two fields in dense blocks of 40 cells below a pointer. Its body may use %p and %q,
// the cells of the first field at the loop's index %i and beside it, and %r, that of the second
// one.
std::string Blocks(const std::string& body, const std::string& attributes) {
  return absl::StrCat(R"(kiln.kernel @k
      trees [#kiln.tree<slot = 0, nodes = [<root, axes = [], cell_bytes = 64>,
        <pointer, axes = [0, 4], cell_bytes = 320>,
        <dense, parent = 1, axes = [0, 40], cell_bytes = 8>]>]
      storages [
        #kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [i32],
          components = [0, 2, 0], alias = 0, read_only = false>,
        #kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [i32],
          components = [0, 2, 4], alias = 0, read_only = false>]
      results [] attributes {slots = 2 : i64} {
    kiln.task.range_for "t" struct_for 0 body (%i : i32) {
      %one = arith.constant 1 : i32
      %a = arith.addi %i, %one : i32
      %p = kiln.global 0 component 0 [%i] : <i32>
      %q = kiln.global 0 component 0 [%a] : <i32>
      %r = kiln.global 1 component 0 [%i] {no_activate} : <i32>
      )",
                      body, "\nkiln.continue\n} attributes {", attributes, "}\nkiln.return\n}\n");
}

// A block of threads that reads from a tile runs one dense block at a time.
TEST(CudaTargetTest, TilesHaveBlocksOfFewThreads) {
  const auto block_dim = [](const std::string& attributes) {
    const auto made = Compile(Blocks(R"(%x = kiln.load %p : <i32>
                                        %y = kiln.load %q : <i32>
                                        %s = arith.addi %x, %y : i32
                                        kiln.store %s, %r : <i32>)",
                                     attributes),
                              Target::CudaPtx(75));
    return made.ok() ? absl::StrCat(made->tasks[0].block_dim()) : made.status().ToString();
  };
  EXPECT_EQ(block_dim("block_local = array<i64: 0>"), "64");
  EXPECT_EQ(block_dim("block_local = array<i64: 0>, block_dim = 256 : i32"), "256");
  EXPECT_EQ(block_dim("block_local = array<i64: 1>"), "128") << "nothing is read from that field";
}

// Iterations update the tile, and the block then the device's memory.
TEST(CudaTargetTest, TilesGatherUpdates) {
  const std::string updates = R"(%o = kiln.atomic addi %i, %p : <i32>
                                 %n = kiln.atomic subi %one, %q : <i32>)";
  const auto tiled = Compile(Blocks(updates, "block_local = array<i64: 0>"), Target::CudaPtx(75));
  ASSERT_TRUE(tiled.ok()) << tiled.status();
  EXPECT_EQ(tiled->tasks[0].block_dim(), 64u);
  EXPECT_EQ(Count(tiled->ptx, "atom.shared.add"), 2) << tiled->ptx;
  EXPECT_EQ(Count(tiled->ptx, "bar.sync"), 3);
  // An old value is that of the device's memory.
  const auto used =
      Compile(Blocks(updates + "\nkiln.store %n, %r : <i32>", "block_local = array<i64: 0>"),
              Target::CudaPtx(75));
  ASSERT_TRUE(used.ok()) << used.status();
  EXPECT_EQ(Count(used->ptx, "atom.shared"), 0);
}

TEST(CudaTargetTest, ATaskTakesItsLaunchByValue) {
  const auto made = Compile(Serial(), Target::CudaPtx(80));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->ptx, HasSubstr(".visible .entry task_0("));
  EXPECT_EQ(made->tasks[0].kind(), proto::TASK_SERIAL);
}

}  // namespace
}  // namespace kiln
