#include "server/compiler/dialect/lane_shapes.h"

#include <gtest/gtest.h>

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace kiln {
namespace {

std::string ShapeOf(const LaneShapes& shapes, mlir::Value value) {
  if (!shapes.Varies(value)) return "uniform";
  const std::optional<int64_t> stride = shapes.StrideOf(value);
  return stride ? std::to_string(*stride) : "varies";
}

// Compares the first result of each operation of the body that has an attribute `is` with it, and
// branches and loops with `diverges`, if they have one of these.
void Check(const std::string& body) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ir::KilnDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  const std::string text = R"(
    kiln.kernel @k storages [#kiln.ndarray<slot = 0, axes = 2, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
      kiln.task.range_for "k" bounds {
        %c0 = arith.constant 0 : i64
        %n = kiln.extent 0 axis 0 : i64
        kiln.yield %c0, %n, %c0, %n : i64, i64, i64, i64
      } body (%i : i32, %j : i32) {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %n = kiln.argument 7 : i32
        )" + body + R"(
        kiln.continue
      }
      kiln.return
    })";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text;
  int checked = 0;
  module->walk([&](ir::RangeTaskOp task) {
    const LaneShapes shapes(task);
    task.getBody().walk([&](mlir::Operation* op) {
      if (auto is = op->getAttrOfType<mlir::StringAttr>("is")) {
        EXPECT_EQ(ShapeOf(shapes, op->getResult(0)), is.getValue().str()) << text;
        ++checked;
      }
    });
  });
  EXPECT_GT(checked, 0);
}

TEST(LaneShapes, StridesFollowFromSumsAndConstantFactors) {
  Check(R"(
    %four = arith.constant 4 : i32
    %a = arith.addi %i, %n {is = "uniform"} : i32
    %b = arith.addi %a, %j {is = "1"} : i32
    %c = arith.muli %b, %four {is = "4"} : i32
    %d = arith.subi %zero, %c {is = "-4"} : i32
    %e = arith.shli %b, %one {is = "2"} : i32
    %f = arith.extsi %e {is = "2"} : i32 to i64
    %g = arith.muli %j, %n {is = "varies"} : i32
    %h = arith.andi %j, %one {is = "varies"} : i32)");
}

TEST(LaneShapes, LoadsVaryWithTheirAddress) {
  Check(R"(
    %row = kiln.global 0 component 0 [%i, %zero] : <f32>
    %x = kiln.load %row {is = "uniform"} : <f32>
    %cell = kiln.global 0 component 0 [%i, %j] : <f32>
    %y = kiln.load %cell {is = "varies"} : <f32>
    %local = kiln.local_array 4 : <f32>
    %first = kiln.element %local[%zero] : <f32>
    %z = kiln.load %first {is = "varies"} : <f32>)");
}

TEST(LaneShapes, ADivergentLoopCarriesUniformValuesAndHasVaryingResults) {
  Check(R"(
    %r = kiln.loop carry (%count = %zero : i32) {
      %next = arith.addi %count, %one {is = "uniform"} : i32
      %more = arith.cmpi slt, %count, %j {is = "varies"} : i32
      kiln.if %more {
        kiln.yield
      } else {
        kiln.break %count : i32
      }
      kiln.continue %next : i32
    }
    %s = arith.addi %r, %one {is = "varies"} : i32)");
}

TEST(LaneShapes, AUniformLoopHasUniformResults) {
  Check(R"(
    %r = kiln.for %k = %zero to %n : i32 carry (%sum = %zero : i32) {
      %done = arith.cmpi eq, %k, %i : i32
      kiln.if %done {
        kiln.break %sum : i32
      }
      %next = arith.addi %sum, %k {is = "uniform"} : i32
      kiln.continue %next : i32
    }
    %s = arith.addi %r, %one {is = "uniform"} : i32)");
}

// The count differs between lanes that went on at different places.
TEST(LaneShapes, ValuesOfSeveralContinuesVaryIfTheyDiverge) {
  Check(R"(
    %r = kiln.for %k = %zero to %n : i32 carry (%count = %zero : i32) {
      %skip = arith.cmpi slt, %k, %j : i32
      kiln.if %skip {
        kiln.continue %count : i32
      }
      %next = arith.addi %count, %one {is = "varies"} : i32
      kiln.continue %next : i32
    })");
}

// One carried value makes the next one vary, against the order of the code.
TEST(LaneShapes, ChainsOfCarriedValues) {
  Check(R"(
    %r:3 = kiln.for %k = %zero to %n : i32 carry (%a = %zero : i32, %b = %zero : i32, %c = %zero : i32) {
      %x = arith.addi %a, %one {is = "varies"} : i32
      kiln.continue %b, %c, %j : i32, i32, i32
    })");
}

TEST(LaneShapes, BoundsThatVaryMakeALoopDiverge) {
  Check(R"(
    %r = kiln.for %k = %zero to %j : i32 carry (%sum = %zero : i32) {
      %x = arith.addi %k, %one {is = "uniform"} : i32
      kiln.continue %x : i32
    }
    %s = arith.addi %r, %one {is = "varies"} : i32
    %t = kiln.for %k = %j to %n : i32 carry (%sum = %zero : i32) {
      %x = arith.addi %k, %one {is = "varies"} : i32
      kiln.continue %zero : i32
    })");
}

}  // namespace
}  // namespace kiln
