#include "common/unit/math_library.h"

#include "gtest/gtest.h"

namespace kiln {
namespace {

proto::CompileUnit Unit(proto::Op op) {
  proto::CompileUnit unit;
  unit.mutable_options()->set_fast_math(true);
  unit.mutable_kernel()->mutable_body()->add_nodes()->set_op(op);
  return unit;
}

TEST(MathLibraryTest, AnOpStatesTheVersionThatItUses) {
  EXPECT_EQ(GlibcFor(Unit(proto::OP_TANH), 35), 35u);
  EXPECT_EQ(GlibcFor(Unit(proto::OP_TANH), 41), 35u) << "equal code has equal keys";
  EXPECT_EQ(GlibcFor(Unit(proto::OP_TANH), 34), 0u);
}

TEST(MathLibraryTest, OtherUnitsAreThoseOfAllMachines) {
  EXPECT_EQ(GlibcFor({}, 41), 0u);
  EXPECT_EQ(GlibcFor(Unit(proto::OP_SIN), 41), 0u) << "every supported machine has it";
  EXPECT_EQ(GlibcFor(Unit(static_cast<proto::Op>(12345)), 41), 0u);
}

TEST(MathLibraryTest, ExactCodeUsesNoVectorFunctions) {
  proto::CompileUnit unit = Unit(proto::OP_TANH);
  unit.mutable_options()->set_fast_math(false);
  EXPECT_EQ(GlibcFor(unit, 41), 0u);
}

TEST(MathLibraryTest, FunctionsCount) {
  proto::CompileUnit unit = Unit(proto::OP_ADD);
  unit.mutable_kernel()->add_functions()->add_nodes()->set_op(proto::OP_ATAN2);
  EXPECT_EQ(GlibcFor(unit, 41), 35u);
}

}  // namespace
}  // namespace kiln
