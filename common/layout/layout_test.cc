#include "common/layout/layout.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

absl::StatusOr<TreeLayout> Make(const std::string& text) {
  return TreeLayout::Make(Parse<proto::Tree>(text));
}

// A node of `kind` with axes {axis, extent} and children.
std::string Node(const std::string& kind, const std::vector<std::pair<int, uint64_t>>& axes,
                 const std::vector<int>& children, const std::string& more = "") {
  std::string text = "nodes { kind: SNODE_" + kind;
  for (const auto& [axis, extent] : axes) {
    absl::StrAppend(&text, " axes { axis: ", axis, " extent: ", extent, " }");
  }
  for (const int child : children) absl::StrAppend(&text, " children: ", child);
  return absl::StrCat(text, " ", more, " } ");
}
std::string Root(const std::vector<int>& children) { return Node("ROOT", {}, children); }
std::string Place(const std::string& scalar, const std::string& more = "") {
  return Node("PLACE", {}, {}, "type { scalar: " + scalar + " } " + more);
}
std::string Quant(int bits, const std::string& more = "") {
  return Node(
      "PLACE", {}, {},
      absl::StrCat("type { scalar: I32 quant { kind: QUANT_INT bits: ", bits, " } } ", more));
}

TEST(TreeLayout, CellsAreNaturallyAligned) {
  const auto tree = Make(Root({1}) + Node("DENSE", {{0, 10}}, {2, 3, 4}) + Place("U8") +
                         Place("F64") + Place("I16"));
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ((*tree)[2].offset, 0u);
  EXPECT_EQ((*tree)[3].offset, 8u);
  EXPECT_EQ((*tree)[4].offset, 16u);
  EXPECT_EQ((*tree)[1].cell_bytes, 24u);
  EXPECT_EQ(tree->root_bytes(), 240u);
}

TEST(TreeLayout, ContainersOfEveryKind) {
  const struct {
    const char* what;
    std::string node;
    uint64_t bytes, cell, alignment, mask;
  } cases[] = {
      {"dense", Node("DENSE", {{0, 3}, {1, 5}}, {2}), 60, 4, 4, 0},
      {"bitmasked", Node("BITMASKED", {{0, 33}}, {2}), 33 * 4 + 8, 4, 4, 132},
      {"pointer", Node("POINTER", {{0, 5}}, {2}), 40, 4, 8, 0},
      {"dynamic", Node("DYNAMIC", {{0, 1000}}, {2}, "chunk_size: 32"), 16, 4, 8, 0},
  };
  for (const auto& c : cases) {
    const auto tree = Make(Root({1}) + c.node + Place("F32"));
    ASSERT_TRUE(tree.ok()) << c.what << tree.status();
    EXPECT_EQ((*tree)[1].container_bytes, c.bytes) << c.what;
    EXPECT_EQ((*tree)[1].cell_bytes, c.cell) << c.what;
    EXPECT_EQ((*tree)[1].alignment, c.alignment) << c.what;
    EXPECT_EQ((*tree)[1].mask_offset, c.mask) << c.what;
    EXPECT_EQ(tree->IsAllDense(2), std::string(c.what) == "dense");
  }
}

TEST(TreeLayout, Words) {
  const auto packed =
      Make(Root({1}) + Node("DENSE", {{0, 4}}, {2}) +
           Node("BIT_STRUCT", {}, {3, 4}, "physical_bits: 32") + Quant(11) + Quant(21));
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ((*packed)[4].bit_offset, 11u);
  EXPECT_EQ(packed->root_bytes(), 16u);
  const auto array =
      Make(Root({1}) + Node("QUANT_ARRAY", {{0, 8}}, {2}, "physical_bits: 32") + Quant(4));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->root_bytes(), 4u);
}

TEST(TreeLayout, AxesAndExtents) {
  const auto tree = Make(Root({1}) + Node("POINTER", {{2, 4}, {0, 3}}, {2}) +
                         Node("DENSE", {{0, 8}}, {3}) + Place("F32"));
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->PathAxes(3), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(tree->VirtualAxes(3), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(tree->AxisExtent(3, 0), 24u);
  EXPECT_EQ(tree->AxisExtent(3, 2), 4u);
  EXPECT_EQ(tree->AxisExtent(3, 1), 1u);
  // Row-major by axis number, whatever the order they are stated in.
  EXPECT_EQ((*tree)[1].levels[0].axis, 0u);
  EXPECT_EQ((*tree)[1].levels[0].multiplier, 4u);
  EXPECT_EQ((*tree)[1].levels[1].multiplier, 1u);
}

TEST(TreeLayout, Refuses) {
  const std::string dense = Node("DENSE", {{0, 4}}, {2});
  const std::string huge = Node("DENSE", {{0, uint64_t{1} << 40}}, {2});
  std::string deep = Root({1});
  for (int i = 2; i < 40; ++i) deep += Node("DENSE", {{0, 1}}, {i});
  const struct {
    const char* what;
    std::string text;
  } cases[] = {
      {"no nodes", ""},
      {"no root", Place("F32")},
      {"two roots", Root({1}) + Root({2}) + Place("F32")},
      {"child out of range", Root({9})},
      {"child is the root", Root({1}) + Node("DENSE", {{0, 4}}, {0})},
      {"cycle", Root({1}) + Node("DENSE", {{0, 4}}, {2}) + Node("DENSE", {{0, 4}}, {1})},
      {"two parents", Root({1, 2}) + dense + Place("F32")},
      {"child twice", Root({1, 1}) + Place("F32")},
      {"orphan", Root({1}) + Place("F32") + Place("F32")},
      {"unknown kind", Root({1}) + "nodes { kind: 99 }"},
      {"dense without axes", Root({1}) + Node("DENSE", {}, {2}) + Place("F32")},
      {"dense without children", Root({1}) + Node("DENSE", {{0, 4}}, {})},
      {"place with axes", Root({1}) + Node("PLACE", {{0, 4}}, {}, "type { scalar: F32 }")},
      {"place with children",
       Root({1}) + Node("PLACE", {}, {2}, "type { scalar: F32 }") + Place("F32")},
      {"place of nothing", Root({1}) + Node("PLACE", {}, {})},
      {"place of a vector", Root({1}) + Node("PLACE", {}, {}, "type { scalar: F32 shape: 3 }")},
      {"axis 12", Root({1}) + Node("DENSE", {{12, 4}}, {2}) + Place("F32")},
      {"axis twice", Root({1}) + Node("DENSE", {{1, 4}, {1, 4}}, {2}) + Place("F32")},
      {"extent 0", Root({1}) + Node("DENSE", {{0, 0}}, {2}) + Place("F32")},
      {"extent 2^64-1", Root({1}) + Node("DENSE", {{0, ~uint64_t{0}}}, {2}) + Place("F32")},
      {"2^80 cells",
       Root({1}) + huge + Node("DENSE", {{0, uint64_t{1} << 40}}, {3}) + Place("F32")},
      {"dynamic of two axes",
       Root({1}) + Node("DYNAMIC", {{0, 4}, {1, 4}}, {2}, "chunk_size: 1") + Place("F32")},
      {"chunk of zero", Root({1}) + Node("DYNAMIC", {{0, 4}}, {2}) + Place("F32")},
      {"too deep", deep + Place("F32")},
      {"word of 12 bits", Root({1}) + Node("BIT_STRUCT", {}, {2}, "physical_bits: 12") + Quant(4)},
      {"word too small",
       Root({1}) + Node("BIT_STRUCT", {}, {2, 3}, "physical_bits: 8") + Quant(4) + Quant(5)},
      {"quantised outside a word", Root({1}) + Quant(4)},
      {"plain inside a word",
       Root({1}) + Node("BIT_STRUCT", {}, {2}, "physical_bits: 8") + Place("I8")},
      {"dense inside a word", Root({1}) + Node("BIT_STRUCT", {}, {2}, "physical_bits: 8") +
                                  Node("DENSE", {{0, 1}}, {3}) + Quant(4)},
      {"array too small",
       Root({1}) + Node("QUANT_ARRAY", {{0, 9}}, {2}, "physical_bits: 32") + Quant(4)},
      {"mapping to axis 12", Root({1}) + Place("F32", "virtual_to_physical: 12")},
      {"mapping twice", Root({1}) + Place("F32", "virtual_to_physical: [1, 1]")},
      {"exponent that is not a place", Root({1}) + Place("F32", "exponent: 1")},
      {"integer that shares an exponent",
       Root({1}) + Node("BIT_STRUCT", {}, {2}, "physical_bits: 8") + Quant(4, "exponent: 3")},
      {"float without exponent",
       Root({1}) + Node("BIT_STRUCT", {}, {2}, "physical_bits: 32") +
           Node("PLACE", {}, {}, "type { scalar: F32 quant { kind: QUANT_FLOAT bits: 8 } }")},
      {"two places in a quant array",
       Root({1}) + Node("QUANT_ARRAY", {{0, 2}}, {2, 3}, "physical_bits: 32") + Quant(4) +
           Quant(4)},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Make(c.text).status().code(), absl::StatusCode::kInvalidArgument) << c.what;
  }
}

// --- Dense descriptors -------------------------------------------------------------

TreeLayout::DenseField Describe(const std::string& tree, const std::vector<int>& places,
                                const std::string& element) {
  const auto layout = Make(tree);
  EXPECT_TRUE(layout.ok()) << layout.status();
  auto field = layout->DescribeDense(places, Parse<proto::Type>(element));
  EXPECT_TRUE(field.ok()) << field.status();
  EXPECT_TRUE(CheckStorage(field->storage, {}).ok()) << CheckStorage(field->storage, {});
  return *field;
}

// "axis:extent*stride …"
std::string Digits(const TreeLayout::DenseField& field) {
  std::string text;
  for (const proto::Digit& digit : field.storage.dense().digits()) {
    absl::StrAppend(&text, digit.axis(), ":", digit.extent(), "*", digit.stride(), " ");
  }
  return text;
}

TEST(DescribeDense, ZeroDimensional) {
  const auto field = Describe(Root({1, 2}) + Place("F32") + Place("F64"), {2}, "scalar: F64");
  EXPECT_EQ(Digits(field), "");
  EXPECT_EQ(field.base_offsets, (std::vector<uint64_t>{8}));
  EXPECT_EQ(field.outer_extent, 1u);
  EXPECT_TRUE(field.shape.empty());
}

TEST(DescribeDense, MatrixBesideAnotherField) {
  const auto field = Describe(Root({1}) + Node("DENSE", {{0, 6}, {1, 7}}, {2, 3, 4}) + Place("I8") +
                                  Place("F32") + Place("F32"),
                              {3, 4}, "scalar: F32 shape: 2");
  EXPECT_EQ(Digits(field), "0:0*84 1:7*12 ");
  EXPECT_EQ(field.base_offsets, (std::vector<uint64_t>{4}));
  EXPECT_EQ(field.storage.dense().components(0).bit_offset(), 0u);
  EXPECT_EQ(field.storage.dense().components(1).bit_offset(), 32u);
  EXPECT_EQ(field.shape, (std::vector<uint64_t>{6, 7}));
  EXPECT_EQ(field.outer_extent, 6u);
}

TEST(DescribeDense, SameFieldElsewhereHasTheSameDescriptor) {
  const std::string alone =
      Describe(Root({1}) + Node("DENSE", {{0, 8}}, {2}) + Place("F32"), {2}, "scalar: F32")
          .storage.SerializeAsString();
  const auto beside = Describe(Root({1, 3}) + Node("DENSE", {{0, 9}}, {2}) + Place("F64") +
                                   Node("DENSE", {{0, 99}}, {4}) + Place("F32"),
                               {4}, "scalar: F32");
  EXPECT_EQ(beside.storage.SerializeAsString(), alone);
  EXPECT_EQ(beside.base_offsets, (std::vector<uint64_t>{128}));
}

TEST(DescribeDense, LargeArraysBeginLines) {
  const auto offset = [](uint64_t cells, const std::string& kind) {
    const auto tree = Make(Root({1, 3, 5}) + Node("DENSE", {{0, 9}}, {2}) + Place("F64") +
                           Node("DENSE", {{0, cells}}, {4}) + Place("F32") +
                           Node(kind, {{0, 3}}, {6}) + Place("F32"));
    EXPECT_TRUE(tree.ok()) << tree.status();
    return (*tree)[3].offset;
  };
  EXPECT_EQ(offset(63, "DENSE"), 72u);
  EXPECT_EQ(offset(64, "DENSE"), 128u);
  // Keys of kernels know where things are beside sparse SNodes.
  EXPECT_EQ(offset(64, "POINTER"), 72u);
}

TEST(DescribeDense, NestedLevelsGiveBlockedDigits) {
  const auto field = Describe(Root({1}) + Node("DENSE", {{0, 4}, {1, 4}}, {2}) +
                                  Node("DENSE", {{0, 8}, {1, 8}}, {3}) + Place("F32"),
                              {3}, "scalar: F32");
  EXPECT_EQ(Digits(field), "0:0*1024 1:4*256 0:8*32 1:8*4 ");
  EXPECT_EQ(field.shape, (std::vector<uint64_t>{32, 32}));
}

TEST(DescribeDense, NestedLevelsOfOneAxisMergeWhereRegular) {
  const std::string inner = Node("DENSE", {{0, 8}}, {3});
  EXPECT_EQ(Digits(Describe(Root({1}) + Node("DENSE", {{0, 4}}, {2}) + inner + Place("F32"), {3},
                            "scalar: F32")),
            "0:0*4 ");
  // Another field is between the blocks: no merging.
  EXPECT_EQ(Digits(Describe(
                Root({1}) + Node("DENSE", {{0, 4}}, {2, 4}) + inner + Place("F32") + Place("F32"),
                {3}, "scalar: F32")),
            "0:0*36 0:8*4 ");
}

TEST(DescribeDense, StructOfArrays) {
  const std::string tree = Root({1, 3}) + Node("DENSE", {{0, 10}}, {2}) + Place("F32") +
                           Node("DENSE", {{0, 10}}, {4}) + Place("F32");
  const auto field = Describe(tree, {2, 4}, "scalar: F32 shape: 2");
  EXPECT_EQ(field.base_offsets, (std::vector<uint64_t>{0, 40}));
  EXPECT_EQ(field.storage.dense().num_bases(), 2u);
  EXPECT_EQ(field.storage.dense().base_strides_size(), 0);
  // One component's cells are wider: strides per base.
  const auto uneven = Describe(Root({1, 3}) + Node("DENSE", {{0, 10}}, {2}) + Place("F32") +
                                   Node("DENSE", {{0, 10}}, {4, 5}) + Place("F32") + Place("F32"),
                               {2, 4}, "scalar: F32 shape: 2");
  EXPECT_EQ(uneven.storage.dense().base_strides(0).stride(0), 4u);
  EXPECT_EQ(uneven.storage.dense().base_strides(1).stride(0), 8u);
}

TEST(DescribeDense, TransposedOrderAndOffsets) {
  const auto field =
      Describe(Root({1}) + Node("DENSE", {{1, 5}}, {2}) + Node("DENSE", {{0, 3}}, {3}) +
                   Place("I32", "virtual_to_physical: [0, 1] index_offset: [-1, 2]"),
               {3}, "scalar: I32");
  EXPECT_EQ(Digits(field), "1:0*12 0:3*4 ");
  EXPECT_EQ(field.shape, (std::vector<uint64_t>{3, 5}));
  EXPECT_EQ(field.storage.dense().index_offset(0), -1);
  const auto swapped =
      Describe(Root({1}) + Node("DENSE", {{1, 5}}, {2}) + Node("DENSE", {{0, 3}}, {3}) +
                   Place("I32", "virtual_to_physical: [1, 0]"),
               {3}, "scalar: I32");
  EXPECT_EQ(Digits(swapped), "0:0*12 1:3*4 ");
  EXPECT_EQ(swapped.shape, (std::vector<uint64_t>{5, 3}));
}

TEST(DescribeDense, PlacesInAWord) {
  const auto field =
      Describe(Root({1}) + Node("DENSE", {{0, 4}}, {2}) +
                   Node("BIT_STRUCT", {}, {3, 4}, "physical_bits: 32") + Quant(11) + Quant(21),
               {4}, "scalar: I32");
  EXPECT_EQ(Digits(field), "0:0*4 ");
  EXPECT_EQ(field.base_offsets[0], 0u);
  EXPECT_EQ(field.storage.dense().components(0).bit_offset(), 0u);
  EXPECT_EQ(field.storage.word().bits(), 32u);
  EXPECT_EQ(field.storage.word().components(0).bit_offset(), 11u);
  EXPECT_EQ(field.storage.word().components(0).quant().bits(), 21u);
  EXPECT_TRUE(CheckStorage(field.storage, {}).ok());
}

TEST(DescribeDense, QuantArrayKeepsItsDigitsInTheWord) {
  const auto field =
      Describe(Root({1}) + Node("DENSE", {{0, 3}}, {2}) +
                   Node("QUANT_ARRAY", {{0, 8}}, {3}, "physical_bits: 32") + Quant(4),
               {3}, "scalar: I32");
  EXPECT_EQ(Digits(field), "0:0*4 ");
  EXPECT_EQ(field.outer_extent, 3u);
  EXPECT_EQ(field.shape, (std::vector<uint64_t>{24}));
  ASSERT_EQ(field.storage.word().digits_size(), 1);
  EXPECT_EQ(field.storage.word().digits(0).extent(), 8u);
  EXPECT_EQ(field.storage.word().digits(0).stride(), 4u);
  EXPECT_TRUE(CheckStorage(field.storage, {}).ok());
}

TEST(DescribeDense, SharedExponents) {
  const auto number = [](int bits, int exponent) {
    return Node("PLACE", {}, {},
                absl::StrCat("type { scalar: F32 quant { kind: QUANT_FLOAT is_signed: true bits: ",
                             bits, " exponent_bits: 5 } } exponent: ", exponent));
  };
  const std::string tree = Root({1}) + Node("DENSE", {{0, 4}}, {2}) +
                           Node("BIT_STRUCT", {}, {3, 4, 5}, "physical_bits: 64") + number(8, 0) +
                           number(10, 5) + number(12, 5);
  const auto field = Describe(tree, {5}, "scalar: F32");
  const proto::Word& word = field.storage.word();
  EXPECT_EQ(word.components(0).exponent_offset(), 13u);
  EXPECT_EQ(word.components(0).bit_offset(), 28u);
  ASSERT_EQ(word.sharers_size(), 2);
  EXPECT_EQ(word.sharers(0).bit_offset(), 18u);
  EXPECT_TRUE(CheckStorage(field.storage, {}).ok());
  EXPECT_EQ(Describe(tree, {3}, "scalar: F32").storage.word().sharers_size(), 0);
}

TEST(DescribeDense, Refuses) {
  const std::string f32 = "scalar: F32";
  const std::string dense = Root({1}) + Node("DENSE", {{0, 4}}, {2}) + Place("F32");
  const std::string pointer = Root({1}) + Node("POINTER", {{0, 4}}, {2}) + Place("F32");
  const struct {
    const char* what;
    std::string tree;
    std::vector<int> places;
    std::string element;
  } cases[] = {
      {"no places", dense, {}, f32},
      {"no such place", dense, {7}, f32},
      {"negative", dense, {-1}, f32},
      {"not a place", dense, {1}, f32},
      {"too few", dense, {2}, "scalar: F32 shape: 2"},
      {"sparse", pointer, {2}, f32},
      {"axis without an index",
       Root({1}) + Node("DENSE", {{0, 4}, {1, 4}}, {2}) + Place("F32", "virtual_to_physical: 0"),
       {2},
       f32},
      {"components of other shapes",
       Root({1, 3}) + Node("DENSE", {{0, 4}}, {2}) + Place("F32") + Node("DENSE", {{0, 5}}, {4}) +
           Place("F32"),
       {2, 4},
       "scalar: F32 shape: 2"},
      {"too few offsets",
       Root({1}) + Node("DENSE", {{0, 4}, {1, 4}}, {2}) + Place("F32", "index_offset: 3"),
       {2},
       f32},
  };
  for (const auto& c : cases) {
    const auto layout = Make(c.tree);
    ASSERT_TRUE(layout.ok()) << c.what << layout.status();
    EXPECT_FALSE(layout->DescribeDense(c.places, Parse<proto::Type>(c.element)).ok()) << c.what;
  }
}

TEST(CheckStorage, RefusesAbsurdDescriptors) {
  const std::string f32 = "element { scalar: F32 } ";
  const std::string one = "components {} num_bases: 1 ";
  const char* huge = "18446744073709551615";
  const std::string cases[] = {
      "",
      f32,
      f32 + "dense {}",
      f32 + "dense { components {} }",
      f32 + "dense { components {} num_bases: 4294967295 }",
      f32 + "dense { " + one + "num_axes: 13 }",
      f32 + "dense { " + one + "digits { axis: 0 extent: 4 stride: 4 } }",
      f32 + "dense { " + one + "num_axes: 1 digits { extent: 4 stride: 0 } }",
      f32 + "dense { " + one + "num_axes: 1 digits { extent: 4 stride: " + huge + " } }",
      f32 + "dense { " + one + "num_axes: 1 digits { extent: " + huge + " stride: 4 } }",
      f32 + "dense { " + one +
          "num_axes: 1 digits { extent: 4 stride: 4 } "
          "digits { extent: 0 stride: 4 } }",
      f32 + "dense { " + one + "num_axes: 1 digits { extent: 4 stride: 2 } }",
      f32 + "dense { " + one + "num_axes: 1 index_offset: [1, 2] }",
      f32 + "dense { " + one + "num_axes: 1 index_offset: 99999999999 }",
      f32 + "dense { components { base: 1 } num_bases: 1 }",
      f32 + "dense { components { bit_offset: 3 } num_bases: 1 }",
      f32 + "dense { components { bit_offset: " + huge + " } num_bases: 1 }",
      f32 + "word {} dense { components {} num_bases: 1 }",
      f32 + "word { bits: 32 } dense { components {} num_bases: 1 }",
      f32 + "word { bits: 32 components {} } dense { components {} num_bases: 1 }",
      f32 + "word { bits: 32 components { quant { kind: QUANT_INT bits: 4 } } } dense { " + one +
          "}",
      f32 + "word { bits: 32 components { quant { kind: QUANT_FIXED bits: 4 } } } dense { " + one +
          "}",
      f32 +
          "word { bits: 32 components { bit_offset: 29 quant { kind: QUANT_FIXED scale: 1 bits: 4 "
          "} } } dense { " +
          one + "}",
      f32 +
          "word { bits: 32 components { quant { kind: QUANT_FIXED scale: 1 bits: 4 } } "
          "digits { axis: 1 extent: 2 stride: 4 } } dense { " +
          one + "}",
      f32 +
          "word { bits: 32 components { quant { kind: QUANT_FIXED scale: 1 bits: 4 } } "
          "digits { extent: 9 stride: 4 } } dense { num_axes: 1 " +
          one + "}",
      f32 +
          "word { bits: 32 components { quant { kind: QUANT_FLOAT bits: 24 exponent_bits: 8 } } } "
          "dense { " +
          one + "}",
      f32 + "dense { " + one + "base_strides {} base_strides {} }",
      f32 + "dense { " + one + "base_strides { stride: 4 } }",
      f32 + "ndarray { ndim: 13 }",
      f32 + "ndarray { boundary: 7 }",
      f32 + "tree { tree: 1 }",
      "ndarray {}",
      "element { scalar: 99 } ndarray {}",
      "element { scalar: F32 shape: [65536, 65536] } ndarray {}",
      "element { scalar: F32 shape: [1, 1, 1] } ndarray {}",
      "element { scalar: F32 shape: 0 } ndarray {}",
      "element { members {} } ndarray {}",
      "element { scalar: I32 quant { kind: 9 } } ndarray {}",
      "element { scalar: I32 } word { bits: 8 } ndarray {}",
  };
  for (const std::string& text : cases) {
    EXPECT_EQ(CheckStorage(Parse<proto::Storage>(text), {}).code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

// 2^18 cells of 2^46 bytes are 2^64 bytes, which are not none.
TEST(CheckTree, RefusesSizesThatOverflow) {
  for (const char* kind : {"DENSE", "BITMASKED"}) {
    const std::string text = absl::StrCat(
        "nodes { kind: SNODE_ROOT cell_bytes: 64 } nodes { kind: SNODE_", kind,
        " axes { extent: 262144 } cell_bytes: ", uint64_t{1} << 46, " mask_offset: 32 }");
    EXPECT_EQ(CheckTree(Parse<proto::TreePart>(text)).code(), absl::StatusCode::kInvalidArgument)
        << kind;
  }
}

}  // namespace
}  // namespace kiln
