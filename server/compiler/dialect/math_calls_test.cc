#include "server/compiler/dialect/math_calls.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace kiln {
namespace {

TEST(MathCallsTest, FunctionsAreCallsAndInstructionsAreNone) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::arith::ArithDialect, mlir::math::MathDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    %x = arith.constant 2.0 : f32
    %n = arith.constant 3 : i32
    %0 = math.sin %x : f32
    %1 = math.sinh %x : f32
    %2 = math.cbrt %x : f32
    %3 = math.log1p %x : f32
    %4 = math.erf %x : f32
    %5 = math.powf %x, %x : f32
    %6 = math.ipowi %n, %n : i32
    %7 = arith.remf %x, %x : f32
    %8 = math.sqrt %x : f32
    %9 = math.floor %x : f32
    %10 = math.ctpop %n : i32
    %11 = arith.divf %x, %x : f32
  )",
                                                        &context);
  ASSERT_TRUE(module);
  std::map<std::string, bool> found;
  for (mlir::Operation& op : module->getBody()->getOperations()) {
    found[op.getName().getStringRef().str()] = IsLibraryCall(op);
  }
  const std::map<std::string, bool> expected = {
      {"arith.constant", false}, {"arith.divf", false}, {"arith.remf", true},  {"math.cbrt", true},
      {"math.ctpop", false},     {"math.erf", true},    {"math.floor", false}, {"math.ipowi", true},
      {"math.log1p", true},      {"math.powf", true},   {"math.sin", true},    {"math.sinh", true},
      {"math.sqrt", false}};
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace kiln
