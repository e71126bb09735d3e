#include "common/layout/snode_kinds.h"

#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "kiln/proto/layout.pb.h"

namespace kiln {
namespace {

TEST(SNodeKinds, AreThoseOfTheMessage) {
  for (int number = 1; number < proto::SNodeKind_ARRAYSIZE; ++number) {
    const SNodeFacts* kind = FindSNodeKind(number);
    ASSERT_NE(kind, nullptr) << number;
    EXPECT_EQ(absl::StrCat("SNODE_", absl::AsciiStrToUpper(kind->name)),
              proto::SNodeKind_Name(static_cast<proto::SNodeKind>(number)));
    EXPECT_EQ(FindSNodeKind(std::string_view(kind->name)), kind);
    EXPECT_EQ(&FactsOf(kind->kind), kind);
  }
  EXPECT_EQ(FindSNodeKind(0), nullptr);
  EXPECT_EQ(FindSNodeKind(-1), nullptr);
  EXPECT_EQ(FindSNodeKind(proto::SNodeKind_ARRAYSIZE), nullptr);
  EXPECT_EQ(FindSNodeKind("hash"), nullptr);
}

// What code assumes of every row.
TEST(SNodeKinds, FactsFitTogether) {
  for (const SNodeFacts& kind : kSNodeKinds) {
    EXPECT_EQ(kind.is_word(), kind.hold == CellsHold::kQuantised) << kind.name;
    EXPECT_LE(kind.keeps_memory(), kind.is_sparse) << kind.name;
    EXPECT_LE(kind.has_mask, kind.is_sparse) << kind.name;
    EXPECT_LE(kind.is_list, kind.is_sparse) << kind.name;
    EXPECT_LE(kind.is_sparse, kind.is_level() && kind.has_axes) << kind.name;
    EXPECT_LE(kind.has_mask, kind.cells == CellsAre::kInContainer) << kind.name;
    EXPECT_EQ(kind.is_list, kind.cells == CellsAre::kInChunks) << kind.name;
  }
}

TEST(SNodeKinds, Containers) {
  const struct {
    SNodeKind kind;
    uint64_t cells, cell_bytes, cell_alignment;
    uint64_t bytes, alignment, mask_offset;
  } cases[] = {
      {SNodeKind::kDense, 5, 12, 4, 60, 4, 0},        {SNodeKind::kPointer, 5, 12, 4, 40, 8, 0},
      {SNodeKind::kDynamic, 5, 12, 4, 16, 8, 0},      {SNodeKind::kBitmasked, 33, 2, 2, 76, 4, 68},
      {SNodeKind::kBitmasked, 32, 8, 8, 264, 8, 256}, {SNodeKind::kRoot, 1, 7, 1, 7, 1, 0},
  };
  for (const auto& c : cases) {
    const SNodeFacts& kind = FactsOf(c.kind);
    const ContainerShape shape = ShapeOfContainer(kind, c.cells, c.cell_bytes, c.cell_alignment);
    EXPECT_EQ(shape.bytes, c.bytes) << kind.name;
    EXPECT_EQ(shape.alignment, c.alignment) << kind.name;
    EXPECT_EQ(shape.mask_offset, c.mask_offset) << kind.name;
    EXPECT_LE(ContainerBytes(kind, c.cells, c.cell_bytes, c.mask_offset), shape.bytes) << kind.name;
  }
}

TEST(SNodeKinds, SizesThatOverflowAreTheLargest) {
  const uint64_t half = uint64_t{1} << 63;
  for (SNodeKind kind : {SNodeKind::kDense, SNodeKind::kBitmasked}) {
    EXPECT_EQ(ShapeOfContainer(FactsOf(kind), 4, half, 1).bytes, ~uint64_t{0});
  }
  EXPECT_EQ(ShapeOfContainer(FactsOf(SNodeKind::kPointer), half, 1, 1).bytes, ~uint64_t{0});
  EXPECT_EQ(ContainerBytes(FactsOf(SNodeKind::kBitmasked), 64, 1, ~uint64_t{0} - 4), ~uint64_t{0});
}

TEST(SNodeKinds, Ops) {
  const SNodeFacts &dense = FactsOf(SNodeKind::kDense), &pointer = FactsOf(SNodeKind::kPointer),
                   &dynamic = FactsOf(SNodeKind::kDynamic);
  for (SNodeOp op : {SNodeOp::kActivate, SNodeOp::kDeactivate, SNodeOp::kIsActive}) {
    EXPECT_FALSE(Accepts(dense, op));
    EXPECT_TRUE(Accepts(pointer, op));
    EXPECT_TRUE(Accepts(dynamic, op));
    EXPECT_FALSE(NamesContainer(pointer, op));
    EXPECT_EQ(NamesContainer(dynamic, op), op == SNodeOp::kDeactivate);
  }
  for (SNodeOp op : {SNodeOp::kLength, SNodeOp::kAppend}) {
    EXPECT_FALSE(Accepts(pointer, op));
    EXPECT_TRUE(Accepts(dynamic, op));
    EXPECT_TRUE(NamesContainer(dynamic, op));
  }
}

}  // namespace
}  // namespace kiln
