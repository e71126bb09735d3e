#include "server/compiler/lowering/deferral.h"

#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

// Node 1 is an address of a large matrix, node 2 its load; types: 1 f32, 2 a large matrix.
class DeferralTest : public testing::Test {
 protected:
  DeferralTest() {
    scalar_ = types_.GetScalar(proto::F32);
    large_ = types_.GetTensor(proto::F32, {8, 8});
  }

  // `nodes` in text after the two; blocks[0] lists all that `body` names.
  Deferral Defer(const std::string& nodes, const std::string& blocks, bool is_body = true) {
    const std::string large = std::to_string(large_.number());
    const std::string text = "nodes {} nodes { kind: LOCAL type: " + large +
                             " } nodes { kind: LOAD operands: 1 type: " + large + " } " + nodes +
                             blocks;
    function_.Clear();
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &function_));
    return Deferral(function_, types_, is_body);
  }
  std::string Large(const std::string& node) const {
    return "nodes { type: " + std::to_string(large_.number()) + " " + node + " } ";
  }

  TypeTable types_;
  TypeId scalar_, large_;
  proto::Function function_;
};

TEST_F(DeferralTest, AChainOfElementwiseOpsIsDeferredUpToItsStore) {
  const Deferral found =
      Defer(Large("kind: UNARY operands: 2") + Large("kind: BINARY operands: [3, 2]") +
                "nodes { kind: STORE operands: [1, 4] }",
            "blocks { nodes: [1, 2, 3, 4, 5] }");
  for (const int id : {2, 3, 4}) EXPECT_TRUE(found.IsDeferred(NodeId(id))) << id;
}

TEST_F(DeferralTest, AnOpWithTwoUsesIsComputedOnceAndALoadTwice) {
  const Deferral found =
      Defer(Large("kind: UNARY operands: 2") + Large("kind: BINARY operands: [3, 3]") +
                "nodes { kind: STORE operands: [1, 4] }",
            "blocks { nodes: [1, 2, 3, 4, 5] }");
  EXPECT_FALSE(found.IsDeferred(NodeId(3)));
  EXPECT_TRUE(found.IsDeferred(NodeId(2)));
  EXPECT_TRUE(found.IsDeferred(NodeId(4)));
}

TEST_F(DeferralTest, AWriteBetweenALoadAndItsUseEndsTheDeferral) {
  const Deferral found =
      Defer("nodes { kind: STORE operands: [1, 2] } " + Large("kind: UNARY operands: 2"),
            "blocks { nodes: [1, 2, 3, 4] }");
  EXPECT_FALSE(found.IsDeferred(NodeId(2)));
}

TEST_F(DeferralTest, AUseInAnotherBlockEndsTheDeferral) {
  const Deferral found =
      Defer("nodes { kind: WHILE blocks: 1 } " + Large("kind: UNARY operands: 2"),
            "blocks { nodes: [1, 2, 3] } blocks { nodes: 4 }");
  EXPECT_FALSE(found.IsDeferred(NodeId(2)));
}

TEST_F(DeferralTest, OnlyTheKernelsParametersAreDeferredAndInEveryBlock) {
  const std::string nodes =
      Large("kind: PARAM") + "nodes { kind: WHILE blocks: 1 } " + Large("kind: UNARY operands: 3");
  const std::string blocks = "blocks { nodes: [3, 4] } blocks { nodes: 5 }";
  EXPECT_TRUE(Defer(nodes, blocks).IsDeferred(NodeId(3)));
  EXPECT_FALSE(Defer(nodes, blocks, /*is_body=*/false).IsDeferred(NodeId(3)));
}

TEST_F(DeferralTest, AProductOfMatricesIsNotElementwise) {
  const Deferral found =
      Defer(Large("kind: BINARY op: OP_MATMUL operands: [2, 2]"), "blocks { nodes: [1, 2, 3] }");
  EXPECT_FALSE(found.IsDeferred(NodeId(3)));
}

TEST_F(DeferralTest, ScalarsAreNeverDeferred) {
  const Deferral found =
      Defer("nodes { kind: CONST type: " + std::to_string(scalar_.number()) + " }",
            "blocks { nodes: [1, 2, 3] }");
  EXPECT_FALSE(found.IsDeferred(NodeId(3)));
}

TEST_F(DeferralTest, APickUnderADeferredNodeIsFound) {
  const Deferral found =
      Defer(Large("kind: PICK operands: 2 attributes: [0, 1, 8]") +
                Large("kind: UNARY operands: 3") + "nodes { kind: STORE operands: [1, 4] }",
            "blocks { nodes: [1, 2, 3, 4, 5] }");
  EXPECT_TRUE(found.HasPick(NodeId(3)));
  EXPECT_TRUE(found.HasPick(NodeId(4)));
  EXPECT_FALSE(found.HasPick(NodeId(2)));
}

}  // namespace
}  // namespace kiln
