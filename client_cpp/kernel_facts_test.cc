#include "client_cpp/kernel_facts.h"

#include <gtest/gtest.h>

#include "common/unit/node_number.h"

namespace kiln {
namespace {

proto::Node* Add(proto::Function* function, proto::NodeKind kind,
                 const std::vector<uint32_t>& operands = {}, uint32_t index = 0) {
  proto::Node* node = function->add_nodes();
  node->set_kind(kind);
  node->set_index(index);
  for (const uint32_t operand : operands) node->add_operands(operand);
  return node;
}

// Three fields: the body stores to the first and reads the second; a called function writes the
// third through its address.
proto::Kernel ThreeFields() {
  proto::Kernel kernel;
  proto::Function* body = kernel.mutable_body();
  for (int i = 0; i < 3; ++i) body->add_params();
  body->add_nodes();                // id 0 is unused
  Add(body, proto::GLOBAL, {}, 0);  // 1
  Add(body, proto::ELEMENT, {1});   // 2
  Add(body, proto::GLOBAL, {}, 1);  // 3
  Add(body, proto::ELEMENT, {3});   // 4
  Add(body, proto::LOAD, {4});      // 5
  Add(body, proto::STORE, {2, 5});  // 6
  Add(body, proto::GLOBAL, {}, 2);  // 7
  Add(body, proto::CALL, {5, 7});   // 8
  proto::Function* function = kernel.add_functions();
  function->add_nodes();
  Add(function, proto::GLOBAL, {}, 1);  // 1
  return kernel;
}

TEST(KernelFacts, MarksParametersThatStoresAndCallsWrite) {
  EXPECT_EQ(WrittenParams(ThreeFields()), (std::vector<bool>{true, false, true}));
}

TEST(KernelFacts, AtomicsOfFunctionsWriteTheKernelsParameters) {
  proto::Kernel kernel = ThreeFields();
  Add(kernel.mutable_functions(0), proto::ATOMIC, {1});
  EXPECT_EQ(WrittenParams(kernel), (std::vector<bool>{true, true, true}));
}

TEST(KernelFacts, NodeKindsAreOneByteANode) {
  const std::vector<std::string> kinds = NodeKinds(ThreeFields());
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].size(), 9u);
  EXPECT_EQ(kinds[0][6], static_cast<char>(proto::STORE));
  EXPECT_EQ(kinds[1][1], static_cast<char>(proto::GLOBAL));
}

TEST(KernelFacts, ElementsNameTheParameterThatTheyAccess) {
  const auto params = AccessedParams(ThreeFields());
  EXPECT_EQ(params.at(NodeNumber(2)), ParamId(0));
  EXPECT_EQ(params.at(NodeNumber(4)), ParamId(1));
  EXPECT_EQ(params.at(NumberOfNode(FunctionId(1), NodeId(1))), ParamId(1));
  EXPECT_EQ(params.count(NodeNumber(5)), 0u);
}

TEST(KernelFacts, PositionsFollowInlinedCalls) {
  proto::SourceMap map;
  map.add_files("a.py");
  map.add_names("f");
  map.add_names("k");
  proto::Span* inner = map.add_spans();
  inner->set_line(3);
  inner->set_function(0);
  inner->set_inlined_at(2);
  proto::Span* outer = map.add_spans();
  outer->set_line(9);
  outer->set_function(1);
  map.add_node_span(0);
  map.add_node_span(1);
  const std::vector<SourcePosition> positions = PositionsOf(map, NodeNumber(1));
  ASSERT_EQ(positions.size(), 2u);
  EXPECT_EQ(positions[0].line, 3u);
  EXPECT_EQ(positions[0].function, "f");
  EXPECT_EQ(positions[1].line, 9u);
  EXPECT_EQ(positions[1].file, "a.py");
  EXPECT_TRUE(PositionsOf(map, NodeNumber(0)).empty());
  EXPECT_TRUE(PositionsOf(map, NodeNumber(7)).empty());
  EXPECT_TRUE(PositionsOf(map, NumberOfNode(FunctionId(4), NodeId(1))).empty());
}

TEST(KernelFacts, EndsForAMapWithACycle) {
  proto::SourceMap map;
  map.add_spans()->set_inlined_at(1);
  map.add_node_span(1);
  EXPECT_EQ(PositionsOf(map, NodeNumber(0)).size(), 1u);
}

}  // namespace
}  // namespace kiln
