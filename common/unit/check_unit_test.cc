// Checks invalid units, each a small change of a valid one, and mistakes of the user, which are
// diagnostics.
#include "common/unit/check_unit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/language/kernel_parts.h"
#include "common/unit/node_number.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

using absl::StrCat;

proto::CompileUnit Parse(const std::string& text) {
  proto::CompileUnit unit;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &unit)) << text;
  return unit;
}

// The types of every test unit, from number 1 on.
constexpr char kTypes[] = R"(
  types {} types { scalar: I32 } types { scalar: F32 } types { scalar: U1 }
  types { scalar: F32 shape: 3 } types { members { name: "a" type: 2 } }
)";
enum { kI32 = 1, kF32, kU1, kVec3, kStruct };

// Storages 0 (dense f32, one index), 1 (ndarray, two indices), 2 (a pointer SNode of a tree), 3 (a
// dynamic one in its cells), 4 (f32 in the cells of that); parameters 0.. are an i32, then the
// storages.
constexpr char kStorages[] = R"(
  storages { element { scalar: F32 } dense {
    num_axes: 1 num_bases: 1 components {} digits { stride: 4 } } }
  storages { element { scalar: F32 } ndarray { ndim: 2 } }
  storages { tree { node: 1 axes: 0 } }
  storages { tree { node: 2 axes: [0, 1] } }
  storages { element { scalar: F32 } tree { node: 2 components { node: 2 } axes: [1, 0] } }
  trees {
    nodes { kind: SNODE_ROOT cell_bytes: 32 }
    nodes { kind: SNODE_POINTER axes { axis: 0 extent: 4 } cell_bytes: 16 }
    nodes { kind: SNODE_DYNAMIC parent: 1 axes { axis: 1 extent: 9 } chunk_size: 3 cell_bytes: 4 }
  }
)";
constexpr char kParams[] = R"(
  params { type: 1 }
  params { kind: PARAM_STORAGE storage: 0 }
  params { kind: PARAM_STORAGE storage: 1 }
  params { kind: PARAM_STORAGE storage: 2 }
  params { kind: PARAM_STORAGE storage: 3 }
  params { kind: PARAM_STORAGE storage: 4 }
)";

// A unit whose body lists `nodes` (1, 2, …) in block 0, with more blocks after it.
std::string Unit(const std::vector<std::string>& nodes, const std::vector<std::string>& blocks,
                 const std::string& more = "") {
  std::string text = StrCat("kernel { ", kTypes, " body { ", kParams, " nodes {} ");
  for (const std::string& node : nodes) absl::StrAppend(&text, "nodes { ", node, " } ");
  for (const std::string& block : blocks)
    absl::StrAppend(&text, "blocks { nodes: [", block, "] } ");
  return StrCat(text, " } ", more, " } ", kStorages);
}
// All nodes in one block.
std::string Flat(const std::vector<std::string>& nodes, const std::string& more = "") {
  std::string all;
  for (size_t i = 1; i <= nodes.size(); ++i) absl::StrAppend(&all, i > 1 ? ", " : "", i);
  return Unit(nodes, {all}, more);
}

const char kInt[] = "kind: CONST type: 1 index: 1";
const char kFloat[] = "kind: CONST type: 2 index: 1065353216";
const char kTrue[] = "kind: CONST type: 3 index: 1";
const char kLocal[] = "kind: LOCAL type: 2";
const char kLocalVec[] = "kind: LOCAL type: 4";

std::vector<proto::Diagnostic> Good(const std::string& text) {
  std::vector<proto::Diagnostic> diagnostics;
  const absl::Status status = CheckUnit(Parse(text), &diagnostics).status();
  EXPECT_TRUE(status.ok()) << status << "\n" << text;
  return diagnostics;
}

void ExpectBad(const std::string& text, const std::string& says) {
  std::vector<proto::Diagnostic> diagnostics;
  const absl::Status status = CheckUnit(Parse(text), &diagnostics).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_NE(status.message().find(says), std::string::npos) << status << "\n" << text;
}

TEST(CheckUnit, Accepts) {
  for (const std::string& text : {
           std::string(),
           Flat({}),
           Flat({kInt, "kind: GLOBAL type: 2 operands: 1 index: 1",
                 "kind: LOAD type: 2 operands: 2", "kind: STORE operands: [2, 3]",
                 "kind: ATOMIC type: 2 op: OP_ATOMIC_ADD operands: [2, 3]"}),
           Flat({kFloat, "kind: MAKE_TENSOR type: 4 operands: [1, 1, 1]", kInt,
                 "kind: EXTRACT type: 2 operands: [2, 3]",
                 "kind: BINARY op: OP_MUL type: 4 operands: [2, 1]",
                 "kind: MAKE_STRUCT type: 5 operands: 1", "kind: GET_MEMBER type: 2 operands: 6"}),
           Flat({kFloat, "kind: MAKE_TENSOR type: 4 operands: [1, 1, 1]",
                 "kind: PICK type: 4 operands: 2 attributes: [2, -1]",
                 "kind: PICK type: 4 operands: 2 attributes: [1, 0]",
                 "kind: REDUCE op: OP_ADD type: 2 operands: 3"}),
           Flat({kLocal, kLocal, "kind: JOIN type: 4 operands: [1, 2, 1]", kInt,
                 "kind: ELEMENT type: 2 operands: [3, 4]", "kind: LOAD type: 4 operands: 3",
                 "kind: STORE operands: [3, 6]",
                 "kind: ATOMIC type: 4 op: OP_ATOMIC_ADD operands: [3, 6]"}),
           // for i in range(1, 1): while true: if true: break else: continue
           Unit({kInt, "kind: RANGE_FOR operands: [1, 1] blocks: 1",
                 "kind: LOOP_INDEX type: 1 operands: 2", "kind: WHILE blocks: 2", kTrue,
                 "kind: IF operands: 5 blocks: [3, 4]", "kind: BREAK", "kind: CONTINUE"},
                {"1, 2", "3, 4", "5, 6", "7", "8"}),
           Unit({kTrue, "kind: CHOOSE type: 1 operands: 1 blocks: [1, 2]", kInt,
                 "kind: YIELD operands: 3", kInt, "kind: YIELD operands: 5",
                 "kind: PRINT operands: 2"},
                {"1, 2, 7", "3, 4", "5, 6"}),
           Unit({"kind: STRUCT_FOR index: 3 blocks: 1", "kind: LOOP_INDEX type: 1 operands: 1",
                 "kind: SNODE_ACTIVATE operands: 2 index: 3",
                 "kind: SNODE_IS_ACTIVE type: 3 operands: 2 index: 3",
                 "kind: SNODE_DEACTIVATE operands: 2 index: 3"},
                {"1", "2, 3, 4, 5"}),
           // A list below each cell of a pointer.
           Unit({"kind: STRUCT_FOR index: 5 blocks: 1",
                 "kind: LOOP_INDEX type: 1 operands: 1 index: 1",
                 "kind: SNODE_APPEND type: 1 operands: 2 index: 4",
                 "kind: GLOBAL type: 2 operands: [3, 2] index: 5",
                 "kind: SNODE_LENGTH type: 1 operands: 2 index: 5",
                 "kind: SNODE_IS_ACTIVE type: 3 operands: [2, 3] index: 4",
                 "kind: SNODE_DEACTIVATE operands: 2 index: 4", "kind: NO_ACTIVATE index: 5",
                 "kind: BLOCK_LOCAL attributes: [5, 1]"},
                {"1", "2, 3, 4, 5, 6, 7, 8, 9"}),
           // No block lists dead code.
           Unit({kInt, "kind: CONST type: 4", "kind: STORE operands: [9, 9]"}, {"1"}),
       }) {
    EXPECT_TRUE(Good(text).empty());
  }
}

TEST(CheckUnit, RefusesOneNode) {
  const struct {
    std::vector<std::string> nodes;
    const char* says;
  } cases[] = {
      {{"kind: NODE_NONE"}, "of kind 0"},
      {{"kind: 999"}, "of kind 999"},
      {{"kind: CONST type: 99"}, "type 99"},
      {{"kind: CONST type: 4"}, "not a scalar"},
      {{"kind: CONST type: 3 index: 2"}, "bits beyond"},
      {{"kind: CONST type: 1 index: 4294967296"}, "bits beyond"},
      {{kInt, "kind: UNARY op: OP_NEG type: 1 operands: 2"}, "not made before"},
      {{kInt, "kind: UNARY op: OP_NEG type: 1 operands: 3", kInt}, "not made before"},
      {{kInt, "kind: UNARY op: OP_NEG type: 1 operands: 0"}, "not made before"},
      {{kInt, "kind: UNARY op: OP_NEG type: 1 operands: 4294967295"}, "not made before"},
      {{kInt, "kind: UNARY op: OP_NEG type: 2 operands: 1"}, "not 'i32'"},
      {{kInt, "kind: UNARY op: OP_NEG type: 0 operands: 1"}, "not 'i32'"},
      {{kInt, "kind: UNARY op: OP_ADD type: 1 operands: 1"}, "does not fit"},
      {{kInt, "kind: UNARY op: OP_CAST type: 1 operands: 1"}, "does not fit"},
      {{kInt, "kind: UNARY op: OP_NEG type: 1"}, "0 operands"},
      {{kInt, "kind: UNARY op: OP_NEG type: 1 operands: [1, 1]"}, "2 operands"},
      {{kInt, kFloat, "kind: BINARY op: OP_ADD type: 2 operands: [1, 2]"}, "cast to f32"},
      {{kFloat, "kind: BINARY op: OP_SHL type: 2 operands: [1, 1]"}, "unsupported operand"},
      {{kLocal, "kind: UNARY op: OP_NEG type: 2 operands: 1"}, "not a value"},
      {{kInt, "kind: CAST_TO op: OP_NEG type: 2 operands: 1"}, "not a cast"},
      {{kInt, "kind: CAST_TO op: OP_CAST operands: 1"}, "no type"},
      {{kInt, "kind: CAST_TO op: OP_BIT_CAST type: 3 operands: 1"}, "equal width"},
      {{kFloat, "kind: CAST_TO op: OP_CAST type: 5 operands: 1"}, "cannot cast"},
      {{kFloat, "kind: MAKE_TENSOR type: 4 operands: [1, 1]"}, "2 elements"},
      {{kFloat, kInt, "kind: MAKE_TENSOR type: 4 operands: [1, 1, 2]"}, "not 'f32'"},
      {{kFloat, "kind: MAKE_TENSOR type: 2 operands: 1"}, "1 elements"},
      {{kFloat, kInt, "kind: EXTRACT type: 2 operands: [1, 2]"}, "indices for 'f32'"},
      {{kLocalVec, kFloat, "kind: ELEMENT type: 2 operands: [1, 2]"}, "not an integer"},
      {{kLocalVec, kInt, "kind: ELEMENT type: 1 operands: [1, 2]"}, "not 'f32'"},
      {{kLocalVec, kInt, "kind: ELEMENT type: 2 operands: [1, 2, 2]"}, "2 indices"},
      {{kLocal, "kind: JOIN type: 4 operands: [1, 1]"}, "2 addresses for"},
      {{kLocal, "kind: JOIN type: 2 operands: 1"}, "1 addresses for 'f32'"},
      {{kLocal, kFloat, "kind: JOIN type: 4 operands: [1, 1, 2]"}, "operand 2 is not an address"},
      {{kLocal, "kind: LOCAL type: 1", "kind: JOIN type: 4 operands: [1, 2, 1]"},
       "operand 1 is the address of 'i32'"},
      {{kLocalVec, "kind: JOIN type: 4 operands: [1, 1, 1]"}, "operand 0 is the address of"},
      {{kFloat, "kind: PICK type: 4 operands: 1 attributes: [0, 0]"}, "from 'f32'"},
      {{kLocalVec, "kind: LOAD type: 4 operands: 1",
        "kind: PICK type: 2 operands: 2 attributes: 0"},
       "to 'f32'"},
      {{kLocalVec, "kind: LOAD type: 4 operands: 1",
        "kind: PICK type: 4 operands: 2 attributes: 0"},
       "1 attributes"},
      {{kLocalVec, "kind: LOAD type: 4 operands: 1",
        "kind: PICK type: 4 operands: 2 attributes: [1, 1]"},
       "elements 1 to 3"},
      {{kLocalVec, "kind: LOAD type: 4 operands: 1",
        "kind: PICK type: 4 operands: 2 attributes: [1, -1]"},
       "elements -1 to 1"},
      {{kLocalVec, "kind: LOAD type: 4 operands: 1",
        "kind: PICK type: 4 operands: 2 attributes: [0, 9223372036854775807]"},
       "attribute 9223372036854775807"},
      {{kLocalVec, "kind: LOAD type: 4 operands: 1", "kind: REDUCE op: OP_SUB type: 2 operands: 2"},
       "does not reduce"},
      {{kLocalVec, "kind: LOAD type: 4 operands: 1", "kind: REDUCE op: OP_ADD type: 1 operands: 2"},
       "not 'f32'"},
      {{kLocalVec, "kind: LOAD type: 4 operands: 1",
        "kind: REDUCE op: OP_LOGICAL_OR type: 3 operands: 2"},
       "must be cast"},
      {{kFloat, "kind: REDUCE op: OP_ADD type: 2 operands: 1"}, "no elements to reduce"},
      {{kInt, "kind: MAKE_STRUCT type: 5 operands: 1"}, "not 'f32'"},
      {{kFloat, "kind: MAKE_STRUCT type: 2 operands: 1"}, "members for"},
      {{kFloat, "kind: GET_MEMBER type: 2 operands: 1"}, "no member"},
      {{"kind: LOCAL type: 5", "kind: MEMBER type: 2 operands: 1 index: 1"}, "no member 1"},
      {{"kind: LOCAL type: 5", "kind: MEMBER type: 1 operands: 1"}, "not 'f32'"},
      {{"kind: LOCAL"}, "address of nothing"},
      {{kInt, "kind: LOCAL type: 2 operands: 1"}, "not 'f32'"},
      {{"kind: PARAM type: 2 index: 0"}, "not 'i32'"},
      {{"kind: PARAM type: 1 index: 1"}, "another kind"},
      {{"kind: PARAM type: 1 index: 18446744073709551615"}, "does not exist"},
      {{"kind: REFERENCE type: 1 index: 0"}, "another kind"},
      {{"kind: RANDOM type: 4"}, "not a scalar"},
      {{"kind: SIMT index: 99"}, "operation 99 does not exist"},
      {{"kind: SIMT type: 1 index: 11"}, "0 operands"},
      {{kFloat, "kind: SIMT type: 1 operands: 1 index: 11"}, "not 'i32'"},
      {{kInt, "kind: SIMT type: 2 operands: 1 index: 11"}, "not 'i32'"},
      {{"kind: SIMT type: 1 index: 0"}, "has no value"},
      {{"kind: SHARED_ARRAY type: 4"}, "outside a loop"},
      {{"kind: SHARED_ARRAY type: 2"}, "not a tensor"},
      {{"kind: SHAPE type: 1 index: 1"}, "no such axis"},
      {{"kind: SHAPE type: 1 index: 1 attributes: 1"}, "no such axis"},
      {{"kind: SHAPE type: 1 index: 1 attributes: -1"}, "no such axis"},
      {{"kind: SHAPE type: 2 index: 1 attributes: 0"}, "not 'i32'"},
      {{"kind: GLOBAL type: 2 index: 1"}, "0 indices"},
      {{kInt, "kind: GLOBAL type: 2 operands: [1, 1] index: 1"}, "2 indices"},
      {{kFloat, "kind: GLOBAL type: 2 operands: 1 index: 1"}, "not an integer"},
      {{kInt, "kind: GLOBAL type: 1 operands: 1 index: 1"}, "not 'f32'"},
      {{kInt, "kind: GLOBAL type: 2 operands: 1 index: 3"}, "not 'none'"},
      {{kInt, "kind: LOAD type: 1 operands: 1"}, "not an address"},
      {{kLocal, "kind: LOAD type: 1 operands: 1"}, "not 'f32'"},
      {{kLocal, kInt, "kind: STORE operands: [1, 2]"}, "not 'f32'"},
      {{kFloat, "kind: STORE operands: [1, 1]"}, "not an address"},
      {{kLocal, kFloat, "kind: ATOMIC op: OP_ADD type: 2 operands: [1, 2]"}, "not atomic"},
      {{kLocal, kFloat, "kind: ATOMIC op: OP_ATOMIC_AND type: 2 operands: [1, 2]"}, "integral"},
      {{kInt, "kind: RANGE_FOR operands: [1, 1]"}, "0 blocks"},
      {{"kind: BREAK"}, "outside a loop"},
      {{"kind: CONTINUE"}, "outside a loop"},
      {{kInt, "kind: YIELD operands: 1"}, "outside a choice"},
      {{kInt, "kind: RETURN operands: 1"}, "1 values, not 0"},
      {{"kind: RETURN", "kind: PRINT"}, "nodes follow"},
      {{kInt, "kind: ASSERT operands: 1"}, "not 'u1'"},
      {{kLocal, "kind: PRINT operands: 1"}, "not a value"},
      {{kInt, "kind: LOOP_INDEX type: 1 operands: 1"}, "not a loop around"},
      {{kInt, "kind: LOOP_INDEX type: 1 operands: 2"}, "not a loop around"},
      {{"kind: LOOP_INDEX type: 1 operands: 4294967295"}, "not a loop around"},
      {{"kind: CALL index: 0"}, "function 1 does not exist"},
      {{"kind: BLOCK_LOCAL attributes: 9"}, "does not exist"},
      {{"kind: BLOCK_LOCAL attributes: -1"}, "does not exist"},
      {{kInt, "kind: ASSUME_IN_RANGE type: 1 operands: [1, 1]"}, "two attributes"},
      {{kFloat, "kind: SNODE_ACTIVATE operands: 1 index: 3"}, "not an integer"},
      {{"kind: SNODE_ACTIVATE index: 0"}, "another kind"},
      {{"kind: SNODE_ACTIVATE index: 1"}, "not an SNode"},
      {{"kind: SNODE_ACTIVATE index: 3"}, "0 indices, not 1"},
      {{kInt, "kind: SNODE_IS_ACTIVE type: 1 operands: 1 index: 3"}, "not 'u1'"},
      {{kInt, "kind: SNODE_LENGTH type: 1 operands: 1 index: 3"}, "pointer SNode does not"},
      {{kInt, "kind: SNODE_LENGTH type: 2 operands: 1 index: 4"}, "not 'i32'"},
      {{kInt, "kind: SNODE_APPEND type: 1 operands: [1, 1] index: 4"}, "2 indices, not 1"},
      {{kInt, "kind: SNODE_DEACTIVATE operands: [1, 1] index: 4"}, "2 indices, not 1"},
      {{kInt, "kind: SNODE_ACTIVATE operands: 1 index: 4"}, "1 indices, not 2"},
      {{kInt, "kind: GLOBAL type: 2 operands: 1 index: 3"}, "is of"},
      {{kInt, "kind: SNODE_ADDRESS type: 1 operands: 1 index: 3"}, "SNode itself"},
      {{"kind: NO_ACTIVATE index: 0"}, "another kind"},
  };
  for (const auto& c : cases) ExpectBad(Flat(c.nodes), c.says);
}

TEST(CheckUnit, RefusesBlocks) {
  const std::string if_node = "kind: IF operands: 1 blocks: [1, 2]";
  const std::string range = "kind: RANGE_FOR operands: [1, 1] blocks: 1";
  const std::string choose = "kind: CHOOSE type: 1 operands: 1 blocks: [1, 2]";
  const struct {
    std::vector<std::string> nodes, blocks;
    const char* says;
  } cases[] = {
      {{kInt}, {"1, 1"}, "used twice"},
      {{kInt}, {"2"}, "does not exist"},
      {{kInt}, {"0"}, "does not exist"},
      {{kTrue, if_node}, {"1, 2", ""}, "block 2"},
      {{kTrue, "kind: IF operands: 1 blocks: [1, 1]"}, {"1, 2", ""}, "block 1"},
      {{kTrue, "kind: IF operands: 1 blocks: [0, 1]"}, {"1, 2", ""}, "block 0"},
      {{kTrue, "kind: IF operands: 1 blocks: 1"}, {"1, 2", ""}, "1 blocks"},
      {{kInt, if_node}, {"1, 2", "", ""}, "not 'u1'"},
      // A value made inside a block is not visible after the block.
      {{kTrue, if_node, kInt, "kind: PRINT operands: 3"}, {"1, 2, 4", "3", ""}, "not made before"},
      {{kTrue, if_node, kInt, "kind: PRINT operands: 3"}, {"1, 2", "3", "4"}, "not made before"},
      {{kInt, "kind: RANGE_FOR operands: 1 blocks: 1"}, {"1, 2", ""}, "1 operands"},
      {{kInt, "kind: RANGE_FOR operands: [1, 1, 1] blocks: 1"}, {"1, 2", ""}, "3 bounds"},
      {{kFloat, range}, {"1, 2", ""}, "not 'i32'"},
      {{kInt, range + " index: 1"}, {"1, 2", ""}, "loop configuration 1"},
      {{kInt, range, "kind: LOOP_INDEX type: 1 operands: 2 index: 1"}, {"1, 2", "3"}, "dimension"},
      {{"kind: STRUCT_FOR index: 1 attributes: -1 blocks: 1"}, {"1", ""}, "loop configuration"},
      {{"kind: STRUCT_FOR index: 0 blocks: 1"}, {"1", ""}, "another kind"},
      {{kTrue, choose, kInt, "kind: YIELD operands: 3"}, {"1, 2", "3, 4", ""}, "yields no value"},
      {{kTrue, choose, kFloat, "kind: YIELD operands: 3"}, {"1, 2", "3, 4", ""}, "not 'i32'"},
      {{kTrue, choose, "kind: RETURN"}, {"1, 2", "3", ""}, "inside a choice"},
      {{"kind: WHILE blocks: 1", kTrue, "kind: CHOOSE type: 1 operands: 2 blocks: [2, 3]",
        "kind: BREAK"},
       {"1", "2, 3", "4", ""},
       "inside a choice"},
  };
  for (const auto& c : cases) ExpectBad(Unit(c.nodes, c.blocks), c.says);
}

TEST(CheckUnit, RefusesTheRest) {
  const std::string unit = Flat({kInt});
  const auto with = [&unit](const std::string& from, const std::string& to) {
    return absl::StrReplaceAll(unit, {{from, to}});
  };
  const struct {
    std::string text;
    const char* says;
  } cases[] = {
      {unit + "target { cpu: 9 }", "CPU level"},
      {unit + "target { cpu: CPU_LEVEL_NONE }", "CPU level"},
      {unit + "options { default_int: F32 }", "default integer"},
      {unit + "options { default_float: I32 }", "default float"},
      {unit + "options { opt_level: 4 }", "optimisation level"},
      {unit + "options { on_overflow: 3 }", "on overflow"},
      {unit + "options { lanes: 3 }", "lanes"},
      {unit + "options { deterministic: true }", "deterministic"},
      {with("nodes {}", "nodes { kind: PRINT }"), "node 0 is used"},
      {with("kind: SNODE_ROOT", "kind: SNODE_DENSE"), "root"},
      {with("tree { node: 1", "tree { node: 3"), "SNode 3"},
      {with("tree { node: 1", "tree { tree: 1 node: 1"), "tree 1"},
      {with("tree { node: 1", "tree { components {} components {} node: 1"), "2 components"},
      {with("tree { node: 1", "tree { components {} node: 1"), "no type"},
      {with("tree { node: 1 axes: 0", "tree { node: 1 axes: 12"), "physical axis 12"},
      {with("tree { node: 1 axes: 0", "tree { node: 1 axes: [0, 0]"), "physical axis 0"},
      {with("tree { node: 1", "tree { node: 1 index_offset: [1, 1]"), "2 index offsets"},
      {with("components { node: 2 }", "components { node: 2 axes: 1 }"), "other axes"},
      {with("components { node: 2 }", "components { node: 2 axes: [1, 12] }"), "physical axis 12"},
      {with("storages { tree {",
            "storages { element { scalar: F32 } tree { components { node: 1 bit_offset: 104 }"),
       "offset of 104 bits"},
      {with("extent: 4", "extent: 5"), "40 bytes at 0 of a cell of 32"},
      {with("extent: 4", "extent: 4 } axes { axis: 0 extent: 1"), "out of range or order"},
      {with("extent: 4", "extent: 0"), "extent of 0"},
      {with("kind: SNODE_POINTER", "kind: SNODE_PLACE"), "kind 6"},
      {with("chunk_size: 3", ""), "chunk size"},
      {with("axes { axis: 1 extent: 9 }", "axes { axis: 0 extent: 9 }"), "divided above"},
      {with("kind: SNODE_POINTER", "kind: SNODE_DYNAMIC"), "chunk size"},
      {with("kind: SNODE_POINTER", "kind: SNODE_BITMASKED"), "mask at 0"},
      {with("kind: SNODE_POINTER", "parent: 1 kind: SNODE_POINTER"), "parent 1"},
      {with("ndarray { ndim: 2 }", "ndarray { ndim: 99 }"), "99 indices"},
      {with("ndarray { ndim: 2 } }", "ndarray { ndim: 2 } grad: 6 }"), "gradient"},
      {with("storage: 2", "storage: 5"), "storage 5"},
      {with("params { type: 1 }", "params { kind: PARAM_REFERENCE type: 1 }"), "references"},
      {with("params { type: 1 }", "params { kind: 77 type: 1 }"), "kind 77"},
      {with("params { type: 1 }", "params { type: 6 }"), "type 6"},
      {with("params { type: 1 }", "returns: 6 params { type: 1 }"), "return type 6"},
      {with("types {}", "types { scalar: F32 }"), "type 0"},
      {"kernel { autodiff: 9 }", "autodiff mode 9"},
      {"kernel { autodiff: AUTODIFF_NONE }", "autodiff mode 0"},
      {"kernel { body { nodes {} } }", "without blocks"},
      {"kernel { body { blocks {} } }", "without blocks"},
  };
  for (const auto& c : cases) ExpectBad(c.text, c.says);
}

TEST(CheckUnit, CallsFitTheFunction) {
  const std::string callee =
      "functions { params { kind: PARAM_REFERENCE type: 2 } params { type: 1 } returns: 2 "
      "nodes {} nodes { kind: REFERENCE type: 2 } nodes { kind: LOAD type: 2 operands: 1 } "
      "nodes { kind: RETURN operands: 2 } blocks { nodes: [1, 2, 3] } }";
  EXPECT_TRUE(Good(Flat({kLocal, kInt, "kind: CALL type: 2 operands: [1, 2]"}, callee)).empty());
  ExpectBad(Flat({kLocal, kInt, "kind: CALL type: 2 operands: 1"}, callee), "1 arguments");
  ExpectBad(Flat({kLocal, kInt, "kind: CALL type: 1 operands: [1, 2]"}, callee), "not 'f32'");
  ExpectBad(Flat({kLocal, kFloat, "kind: CALL type: 2 operands: [1, 2]"}, callee), "not 'i32'");
  ExpectBad(Flat({kLocalVec, kInt, "kind: CALL type: 2 operands: [1, 2]"}, callee), "another type");
  ExpectBad(Flat({kFloat, kInt, "kind: CALL type: 2 operands: [1, 2]"}, callee), "not an address");
}

TEST(CheckUnit, FunctionsAreChecked) {
  const auto function = [](const std::string& signature, const std::vector<std::string>& nodes) {
    std::string text = StrCat("functions { ", signature, " nodes {} "), ids;
    for (size_t i = 0; i < nodes.size(); ++i) {
      absl::StrAppend(&text, "nodes { ", nodes[i], " } ");
      absl::StrAppend(&ids, i > 0 ? ", " : "", i + 1);
    }
    return Flat({}, StrCat(text, "blocks { nodes: [", ids, "] } }"));
  };
  // A function may call itself, use the kernel's storages, and return anywhere.
  EXPECT_TRUE(Good(function("params { type: 1 } returns: 1",
                            {"kind: PARAM type: 1", "kind: CALL type: 1 operands: 1",
                             "kind: RETURN operands: 2"}))
                  .empty());
  const struct {
    std::string text;
    const char* says;
  } cases[] = {
      {function("params { kind: PARAM_REFERENCE type: 4 }", {}), "not a scalar"},
      {function("params { kind: PARAM_REFERENCE type: 99 }", {}), "not a scalar"},
      {function("params { kind: PARAM_REFERENCE }", {}), "not a scalar"},
      {function("params { kind: PARAM_STORAGE }", {}), "storages are the kernel's"},
      {function("params { type: 99 }", {}), "type 99"},
      {function("returns: 99", {}), "return type 99"},
      {function("params { type: 1 }", {"kind: REFERENCE type: 1"}), "another kind"},
      {function("params { kind: PARAM_REFERENCE type: 1 }", {"kind: PARAM type: 1"}),
       "another kind"},
      {function("params { type: 1 }", {"kind: PARAM type: 1 index: 1"}), "parameter 1"},
      {function("", {"kind: SHAPE type: 1 index: 77 attributes: 0"}), "parameter 77"},
      {function("", {"kind: CALL index: 1"}), "function 2 does not exist"},
      {function("returns: [1, 2]", {"kind: CALL type: 1"}), "another type"},
      {function("returns: 1", {"kind: RETURN"}), "0 values, not 1"},
  };
  for (const auto& c : cases) ExpectBad(c.text, c.says);
  proto::CompileUnit many;
  for (uint32_t i = 0; i <= kMaxFunctions; ++i) many.mutable_kernel()->add_functions();
  std::vector<proto::Diagnostic> diagnostics;
  EXPECT_FALSE(CheckUnit(many, &diagnostics).ok());
  many.mutable_kernel()->mutable_functions()->RemoveLast();
  many.mutable_kernel()->add_types();
  const absl::Status status = CheckUnit(many, &diagnostics).status();
  EXPECT_TRUE(status.ok()) << status;
}

TEST(CheckUnit, ReturnsTypesAndReachedNodes) {
  std::vector<proto::Diagnostic> diagnostics;
  // Node 2 is in no block.
  const absl::StatusOr<CheckedUnit> checked = CheckUnit(Parse(R"(
    kernel {
      types {} types { scalar: I32 } types { scalar: U1 }
      body {
        params { type: 1 }
        nodes {}
        nodes { kind: CONST type: 2 index: 1 }
        nodes { kind: CONST type: 1 }
        nodes { kind: IF operands: 1 blocks: 2 blocks: 1 }
        nodes { kind: PRINT }
        nodes { kind: PRINT }
        nodes { kind: PRINT }
        blocks { nodes: 1 nodes: 3 nodes: 6 }
        blocks { nodes: 4 }
        blocks { nodes: 5 }
      }
      functions {}
    })"),
                                                        &diagnostics);
  ASSERT_TRUE(checked.ok()) << checked.status();
  ASSERT_EQ(checked->nodes.size(), 2u);
  std::vector<uint32_t> reached;
  for (const NodeId id : checked->nodes[kKernelBody]) reached.push_back(id.number());
  EXPECT_EQ(reached, (std::vector<uint32_t>{1, 3, 5, 4, 6}));
  EXPECT_TRUE(checked->nodes[FunctionId(1)].empty());
  EXPECT_EQ(checked->arguments.slots.size(), 1u);
  EXPECT_EQ(checked->types[TypeId(2)].scalar, proto::U1);
}

TEST(CheckUnit, DepthIsBounded) {
  const auto nested = [](int depth) {
    std::vector<std::string> nodes, blocks = {"1"};
    for (int i = 1; i <= depth; ++i) {
      nodes.push_back(StrCat("kind: WHILE blocks: ", i));
      blocks.push_back(i < depth ? StrCat(i + 1) : "");
    }
    return Unit(nodes, blocks);
  };
  EXPECT_TRUE(Good(nested(kMaxBlockDepth)).empty());
  ExpectBad(nested(kMaxBlockDepth + 1), "deep");
  ExpectBad(nested(20000), "deep");
}

TEST(CheckUnit, UsersMistakesAreDiagnostics) {
  const std::string range = "kind: RANGE_FOR operands: [1, 1] blocks: 1";
  const struct {
    std::string text;
    uint32_t node;
    const char* says;
  } cases[] = {
      {Unit({kInt, range, "kind: BREAK"}, {"1, 2", "3"}), 3, "Cannot break in the outermost loop"},
      {Unit({kInt, range, "kind: RETURN"}, {"1, 2", "3"}), 3, "Return statements"},
      {Unit({"kind: WHILE blocks: 1", "kind: STRUCT_FOR index: 1 blocks: 2"}, {"1", "2", ""}), 2,
       "outermost"},
      {Flat({kLocalVec, "kind: CONST type: 1 index: 3", "kind: ELEMENT type: 2 operands: [1, 2]"}),
       3, "out of range"},
      {Flat({kLocalVec, "kind: CONST type: 1 index: 4294967295",
             "kind: ELEMENT type: 2 operands: [1, 2]"}),
       3, "out of range"},
  };
  for (const auto& c : cases) {
    const auto diagnostics = Good(c.text);
    ASSERT_EQ(diagnostics.size(), 1u) << c.text;
    EXPECT_EQ(diagnostics[0].node(), c.node);
    EXPECT_EQ(diagnostics[0].severity(), proto::ERROR);
    EXPECT_NE(diagnostics[0].message().find(c.says), std::string::npos) << c.says;
  }
  // In a serialized loop, break is allowed.
  EXPECT_TRUE(
      Good(absl::StrReplaceAll(Unit({kInt, range + " index: 1", "kind: BREAK"}, {"1, 2", "3"}),
                               {{"kernel {", "kernel { loops { serialize: true }"}}))
          .empty());
}

}  // namespace
}  // namespace kiln
