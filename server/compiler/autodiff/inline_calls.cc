// Inlining of all calls, for kernels that are differentiated.
//
//   %r = kiln.call 0(%x)        %r = kiln.loop carry (%unused = %zero : f32) {
//                                 kiln.if %c { kiln.break %x : f32 } else { kiln.yield }
//                          ->     ...
//                                 kiln.break %y : f32
//                               }
//
// A function that returns within control flow becomes a loop that runs once, and each return a
// break out of it. A return within a loop of the function, or of the kernel's serial code, first
// becomes a flag: it breaks out of the loop, and the code behind the loop returns if the flag is
// set.
//
// Guarantees: no calls, no functions; a return is directly in the kernel or in an if.
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "server/compiler/autodiff/autodiff.h"
#include "server/compiler/autodiff/replay.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

namespace {

using mlir::Value;

// Recursion by way of other functions can double the code with each of them.
constexpr int64_t kMostOps = 200'000;

class Inlining {
 public:
  explicit Inlining(ir::KernelOp kernel) : kernel_(kernel), b_(kernel.getContext()) {}

  mlir::LogicalResult Run() {
    for (auto function : kernel_.getBody().front().getOps<ir::FunctionOp>()) {
      functions_[function.getNumber()] = function;
      LowerReturns(function);
    }
    LowerReturns(kernel_);
    if (mlir::failed(InlineInto(kernel_))) return mlir::failure();
    for (auto& [number, function] : functions_) function.erase();
    return mlir::success();
  }

 private:
  // --- Returns within loops

  void LowerReturns(mlir::Operation* of) {
    llvm::SmallVector<mlir::Operation*> loops;  // inner ones first
    of->walk([&](mlir::Operation* op) {
      if (op != of && llvm::isa<ir::FunctionOp>(op)) return mlir::WalkResult::skip();
      if (IsLoop(op)) loops.push_back(op);
      return mlir::WalkResult::advance();
    });
    for (mlir::Operation* loop : loops) LowerReturnsOf(loop);
  }

  void LowerReturnsOf(mlir::Operation* loop) {
    llvm::SmallVector<ir::ReturnOp> returns;
    loop->walk([&](ir::ReturnOp op) { returns.push_back(op); });
    if (returns.empty()) return;
    const mlir::Location loc = loop->getLoc();
    b_.setInsertionPoint(loop);
    const Value flag = NewLocal(loc, b_.getI1Type());
    b_.create<ir::StoreOp>(loc, Zero(loc, b_.getI1Type()), flag);
    llvm::SmallVector<Value> locals;
    for (mlir::Type type : returns.front()->getOperandTypes()) {
      locals.push_back(NewLocal(loc, type));
    }
    for (ir::ReturnOp op : returns) {
      b_.setInsertionPoint(op);
      for (auto [value, local] : llvm::zip(op.getOperands(), locals)) {
        b_.create<ir::StoreOp>(op.getLoc(), value, local);
      }
      b_.create<ir::StoreOp>(
          op.getLoc(), b_.create<mlir::arith::ConstantOp>(op.getLoc(), b_.getBoolAttr(true)), flag);
      b_.create<ir::BreakOp>(op.getLoc(), Zeros(op.getLoc(), loop->getResultTypes()));
      op.erase();
    }
    b_.setInsertionPointAfter(loop);
    const Value left = b_.create<ir::LoadOp>(loc, b_.getI1Type(), flag);
    auto branch = b_.create<ir::IfOp>(loc, mlir::TypeRange(), left);
    b_.setInsertionPointToStart(&branch.getThenRegion().emplaceBlock());
    llvm::SmallVector<Value> values;
    for (Value local : locals) {
      const mlir::Type type = llvm::cast<ir::AddrType>(local.getType()).getPointee();
      values.push_back(b_.create<ir::LoadOp>(loc, type, local));
    }
    b_.create<ir::ReturnOp>(loc, values);
    b_.setInsertionPointToStart(&branch.getElseRegion().emplaceBlock());
    b_.create<ir::YieldOp>(loc);
  }

  Value NewLocal(mlir::Location loc, mlir::Type type) {
    return b_.create<ir::LocalOp>(loc, ir::AddrType::get(b_.getContext(), type));
  }

  Value Zero(mlir::Location loc, mlir::Type type) {
    return b_.create<mlir::arith::ConstantOp>(loc,
                                              llvm::cast<mlir::TypedAttr>(b_.getZeroAttr(type)));
  }

  llvm::SmallVector<Value> Zeros(mlir::Location loc, mlir::TypeRange types) {
    llvm::SmallVector<Value> zeros;
    for (mlir::Type type : types) zeros.push_back(Zero(loc, type));
    return zeros;
  }

  // --- Calls

  // Callees first, so that each function is made free of calls once.
  mlir::LogicalResult InlineInto(mlir::Operation* caller) {
    llvm::SmallVector<ir::CallOp> calls;
    caller->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
      if (op != caller && llvm::isa<ir::FunctionOp>(op)) return mlir::WalkResult::skip();
      if (auto call = llvm::dyn_cast<ir::CallOp>(op)) calls.push_back(call);
      return mlir::WalkResult::advance();
    });
    for (ir::CallOp call : calls) {
      ir::FunctionOp callee = functions_.lookup(call.getCallee());
      if (open_.contains(callee)) {
        return call.emitError(
            "the gradient of a function that calls itself is not supported: "
            "write a loop instead of the recursion");
      }
      if (done_.insert(callee).second) {
        open_.insert(callee);
        if (mlir::failed(InlineInto(callee))) return mlir::failure();
        open_.erase(callee);
      }
      if (mlir::failed(Inline(call, callee))) return mlir::failure();
    }
    return mlir::success();
  }

  mlir::LogicalResult Inline(ir::CallOp call, ir::FunctionOp callee) {
    callee->walk([&](mlir::Operation*) { ++ops_; });
    if (ops_ > kMostOps) {
      return call.emitError(
          "the gradient of this kernel is too large: its functions, put in the "
          "place of their calls, have more than 200000 operations");
    }
    mlir::Block& body = callee.getBody().front();
    mlir::IRMapping mapping;
    mapping.map(body.getArguments(), call.getArguments());
    int returns = 0;
    body.walk([&](ir::ReturnOp) { ++returns; });
    b_.setInsertionPoint(call);
    if (returns == 1 && llvm::isa<ir::ReturnOp>(body.getTerminator())) {
      for (mlir::Operation& op : body.without_terminator()) b_.clone(op, mapping);
      for (auto [result, value] :
           llvm::zip(call.getResults(), body.getTerminator()->getOperands())) {
        result.replaceAllUsesWith(mapping.lookupOrDefault(value));
      }
      call.erase();
      return mlir::success();
    }
    const mlir::Location loc = call.getLoc();
    auto once =
        b_.create<ir::LoopOp>(loc, call.getResultTypes(), Zeros(loc, call.getResultTypes()));
    mlir::Block& inside = once.getBodyRegion().emplaceBlock();
    for (mlir::Type type : call.getResultTypes()) inside.addArgument(type, loc);
    b_.setInsertionPointToStart(&inside);
    for (mlir::Operation& op : body) b_.clone(op, mapping);
    inside.walk([&](ir::ReturnOp op) {
      b_.setInsertionPoint(op);
      b_.create<ir::BreakOp>(op.getLoc(), op.getOperands());
      op.erase();
    });
    call.replaceAllUsesWith(once.getResults());
    call.erase();
    return mlir::success();
  }

  ir::KernelOp kernel_;
  mlir::OpBuilder b_;
  llvm::DenseMap<int64_t, ir::FunctionOp> functions_;
  llvm::DenseSet<mlir::Operation*> done_;  // free of calls, or being made so
  llvm::DenseSet<mlir::Operation*> open_;
  int64_t ops_ = 0;
};

struct InlineCallsPass : mlir::PassWrapper<InlineCallsPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InlineCallsPass)
  llvm::StringRef getArgument() const override { return "inline-calls"; }
  void runOnOperation() override {
    if (mlir::failed(Inlining(getOperation()).Run())) signalPassFailure();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateInlineCallsPass() { return std::make_unique<InlineCallsPass>(); }

}  // namespace kiln
