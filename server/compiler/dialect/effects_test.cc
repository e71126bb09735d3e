#include "server/compiler/dialect/effects.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/function_facts.h"

namespace kiln {
namespace {

// Every op of the dialect, at either level.
constexpr char kKernels[] = R"(
kiln.kernel @structured
    trees [#kiln.tree<slot = 0, nodes = [
      <root, axes = [], cell_bytes = 64>, <dynamic, axes = [0, 8], cell_bytes = 4, chunk = 4>]>]
    storages [
      #kiln.ndarray<slot = 2, axes = 1, types = [f32, f32], soa = false, clamp = false, alias = 0, read_only = false>,
      #kiln.dense<slot = 4, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
      #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [i32], components = [0, 1, 0], alias = 0, read_only = false>]
    results [] {
  kiln.function 0 (%x : f32, %at : !kiln.addr<f32>) -> (f32) {
    %old = kiln.load %at : <f32>
    kiln.store %x, %at : <f32>
    kiln.return %old : f32
  }
  kiln.function 1 () {
    %i = arith.constant 0 : i32
    kiln.print 1 (%i) : (i32)
    kiln.activate 2 [%i]
    kiln.return
  }
  kiln.function 2 () {
    kiln.call 1() : () -> ()
    kiln.return
  }
  %i = kiln.argument 9 : i32
  %n = kiln.extent 0 axis 0 : i32
  %o = kiln.outer_extent 1 : i32
  %row = arith.constant 8 : i64
  %inside = kiln.inside %i from %row to %row : i32
  %array = kiln.global 0 component 0 [%i] : <f32>
  %component = kiln.component 0 components 0, 2 at %i [%i] : <f32>
  %x = kiln.load %component : <f32>
  %local = kiln.local : <f32>
  %locals = kiln.local_array 4 : <f32>
  %temporary = kiln.temporary 0 : <f32>
  %element = kiln.element %locals[%i] : <f32>
  kiln.zero 4, %locals : <f32>
  kiln.store %x, %element : <f32>
  %old = kiln.atomic addf %x, %array : <f32>
  %was = kiln.update %temporary : <f32> {
  ^bb0(%now: f32):
    kiln.yield %now : f32
  }
  kiln.activate 2 [%i]
  kiln.deactivate 2 []
  %active = kiln.is_active 2 [%i]
  %length = kiln.length 2 []
  %number = kiln.append 2 []
  %number_of = kiln.address_of %array : <f32>
  %random = kiln.random : f32
  %shared = kiln.shared_array 8 : <f32>
  %votes = kiln.simt "warp.ballot"(%length) : (i32) -> i32
  %constant = kiln.stop_gradient %random : f32
  %one = arith.constant 1 : i64
  %pushed = kiln.tape.push 3, %one x 8 : <i8>
  %top = kiln.tape.top %one x 8 : <i8>
  %slot = kiln.tape.slot %top[%one] x 8 at 0 : <i8>, <f32>
  kiln.tape.pop %one x 8
  kiln.print 1 (%x, %locals) {counts = array<i64: 1, 4>} : (f32, !kiln.addr<f32>)
  kiln.assert %active, 2 (%x) : (f32)
  %result = kiln.call 0(%x, %local) : (f32, !kiln.addr<f32>) -> f32
  kiln.call 2() : () -> ()
  kiln.result 0, %x : f32
  kiln.parallel_for (%j) = (%i) to (%n) : i32 {
    kiln.for %k = %i to %n : i32 {
      kiln.continue
    }
    kiln.loop {
      kiln.if %active {
        kiln.break
      } else {
        kiln.yield
      }
      kiln.continue
    }
    kiln.continue
  }
  kiln.return
}
kiln.kernel @offloaded
    trees [#kiln.tree<slot = 0, nodes = [
      <root, axes = [], cell_bytes = 64>, <pointer, axes = [0, 8], cell_bytes = 4>]>]
    storages [
      #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [i32], components = [0, 1, 0], alias = 0, read_only = false>]
    results [] {
  kiln.task.listgen "task_0" tree 0 node 1 "S0root->S1pointer"
  kiln.task.range_for "task_1" struct_for 0 body (%i : i32) {
    kiln.continue
  }
  kiln.task.gc "task_2" tree 0 node 1 "S0root->S1pointer"
  kiln.task.serial "task_3" {
    kiln.return
  }
  kiln.return
}
)";

std::string Describe(const Effects& effects) {
  static const std::pair<unsigned, const char*> kNames[] = {{kTouchesMemory, "touches memory"},
                                                            {kIsAtomic, "atomic"},
                                                            {kActivates, "activates"},
                                                            {kDeactivates, "deactivates"},
                                                            {kQueries, "queries"},
                                                            {kDraws, "draws"},
                                                            {kReports, "reports"},
                                                            {kFails, "fails"},
                                                            {kLeaves, "leaves"},
                                                            {kCalls, "calls"},
                                                            {kTapes, "tapes"}};
  std::string text;
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : ", ") + word; };
  if (!effects.reads.empty()) add("reads " + std::to_string(effects.reads.size()));
  if (!effects.writes.empty()) add("writes " + std::to_string(effects.writes.size()));
  for (const auto& [effect, name] : kNames) {
    if (effects.Has(effect)) add(name);
  }
  if (effects.snode) add("of " + std::to_string(*effects.snode));
  return text;
}

class EffectsTest : public testing::Test {
 protected:
  void SetUp() override {
    context_.loadDialect<ir::KilnDialect, mlir::arith::ArithDialect>();
    module_ = mlir::parseSourceString<mlir::ModuleOp>(kKernels, &context_);
    ASSERT_TRUE(module_);
  }

  template <typename Op>
  std::vector<Op> All() {
    std::vector<Op> ops;
    module_->walk([&](Op op) { ops.push_back(op); });
    return ops;
  }

  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

TEST_F(EffectsTest, OfEachOp) {
  const std::map<std::string, std::string> expected = {
      {"activate", "activates, of 2"},
      {"address_of", ""},
      {"append", "atomic, activates, queries, of 2"},
      {"argument", ""},
      {"assert", "fails, leaves"},
      {"atomic", "reads 1, writes 1, atomic"},
      {"break", "leaves"},
      {"call", "reads 1, writes 1, calls"},
      {"component", ""},
      {"continue", "leaves"},
      {"deactivate", "deactivates, of 2"},
      {"element", ""},
      {"extent", ""},
      {"for", ""},
      {"function", ""},
      {"global", ""},
      {"if", ""},
      {"inside", ""},
      {"is_active", "queries, of 2"},
      {"kernel", ""},
      {"length", "queries, of 2"},
      {"load", "reads 1"},
      {"local", ""},
      {"local_array", ""},
      {"loop", "leaves"},
      {"outer_extent", ""},
      {"parallel_for", ""},
      {"print", "reads 1, reports"},
      {"random", "draws"},
      {"result", "reports"},
      {"return", "leaves"},
      {"shared_array", ""},
      {"simt", "touches memory, calls"},
      {"stop_gradient", ""},
      {"store", "writes 1"},
      {"tape.pop", "tapes"},
      {"tape.push", "fails, tapes"},
      {"tape.slot", ""},
      {"tape.top", "tapes"},
      {"task.gc", ""},
      {"task.listgen", ""},
      {"task.range_for", ""},
      {"task.serial", ""},
      {"temporary", ""},
      {"update", "reads 1, writes 1, atomic"},
      {"yield", ""},
      {"zero", "writes 1"},
  };
  std::map<std::string, std::string> found;
  module_->walk([&](mlir::Operation* op) {
    if (!llvm::isa<ir::KilnDialect>(op->getDialect())) return;
    const std::string text = Describe(EffectsOf(op));
    std::string& known = found[op->getName().stripDialect().str()];
    if (text.size() > known.size()) known = text;  // of calls, the one that passes an address
  });
  EXPECT_EQ(found, expected);
  std::set<std::string> names;
  for (mlir::RegisteredOperationName name : context_.getRegisteredOperations()) {
    if (name.getDialectNamespace() == "kiln") names.insert(name.stripDialect().str());
  }
  for (const std::string& name : names) {
    EXPECT_EQ(expected.count(name), 1u) << "kiln." << name << " is not in this test";
  }
}

// An op that MLIR may drop or move freely has no effects, and an op of this table that has none is
// one that MLIR may drop.
TEST_F(EffectsTest, MlirKnowsTheSame) {
  module_->walk([&](mlir::Operation* op) {
    auto interface = llvm::dyn_cast<mlir::MemoryEffectOpInterface>(op);
    if (!interface || op->getNumRegions() > 0) return;
    const Effects effects = EffectsOf(op);
    const bool allocates = llvm::isa<ir::LocalOp, ir::LocalArrayOp, ir::SharedArrayOp>(op);
    EXPECT_EQ(mlir::isMemoryEffectFree(op), Describe(effects).empty() && !allocates)
        << op->getName().getStringRef().str();
    EXPECT_EQ(interface.hasEffect<mlir::MemoryEffects::Read>(),
              !effects.reads.empty() || effects.snode || effects.Has(kDraws | kTapes))
        << op->getName().getStringRef().str();
    EXPECT_EQ(interface.hasEffect<mlir::MemoryEffects::Write>(),
              !effects.writes.empty() || effects.Has(kActivates | kDeactivates | kDraws | kTapes))
        << op->getName().getStringRef().str();
  });
}

TEST_F(EffectsTest, ACallDoesWhatItsCalleesDo) {
  const FunctionFacts facts(*module_->getOps<ir::KernelOp>().begin());
  std::vector<ir::CallOp> calls = All<ir::CallOp>();
  ASSERT_EQ(calls.size(), 3u);  // of 1 by 2; of 0; of 2
  // Its own argument is memory that the call names.
  EXPECT_EQ(Describe(facts.EffectsOf(calls[1])), "reads 1, writes 1, calls");
  EXPECT_EQ(Describe(facts.EffectsOf(calls[2])), "touches memory, activates, reports, calls");
  EXPECT_EQ(Describe(facts.EffectsOf(calls[2])), Describe(facts.EffectsOf(calls[0])));
  auto function = *std::next(All<ir::FunctionOp>().begin(), 2);
  EXPECT_TRUE(facts.Any(function.getBody(), kActivates));
  EXPECT_FALSE(facts.Any(function.getBody(), kFails | kDraws | kIsAtomic));
}

// A function that the kernel lacks may do anything.
TEST_F(EffectsTest, OfAnUnknownFunction) {
  ir::CallOp call = All<ir::CallOp>()[2];
  const FunctionFacts before(call->getParentOfType<ir::KernelOp>());
  call.setCallee(7);
  EXPECT_TRUE(before.EffectsOf(call).Has(kTouchesMemory));
  EXPECT_TRUE(before.EffectsOf(call).Has(kFails));
}

TEST_F(EffectsTest, ArraysOfElements) {
  ir::ElementOp element = All<ir::ElementOp>()[0];
  EXPECT_EQ(ArrayOf(element), element.getArray());
  EXPECT_EQ(ArrayOf(element.getArray()), element.getArray());
}

}  // namespace
}  // namespace kiln
