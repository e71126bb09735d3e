#include "common/language/ids.h"

#include <cstdint>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"

namespace kiln {
namespace {

template <typename A, typename B, typename = void>
constexpr bool kCompare = false;
template <typename A, typename B>
constexpr bool kCompare<A, B, std::void_t<decltype(std::declval<A>() == std::declval<B>())>> = true;

static_assert(kCompare<NodeId, NodeId>);
static_assert(!kCompare<NodeId, TypeId> && !kCompare<NodeId, uint32_t>);
static_assert(!std::is_constructible_v<NodeId, TypeId>, "a type is no node");
static_assert(!std::is_convertible_v<uint32_t, NodeId> && !std::is_convertible_v<NodeId, uint32_t>);
static_assert(sizeof(NodeId) == sizeof(uint32_t) && std::is_trivially_copyable_v<NodeId>);

TEST(Ids, AreTheirNumbers) {
  EXPECT_EQ(NodeId(7).number(), 7u);
  EXPECT_LT(NodeId(7), NodeId(8));
  EXPECT_FALSE(NodeId());
  EXPECT_TRUE(NodeId(1));
}

TEST(Ids, NoNumberWrapsToAValidId) {
  EXPECT_EQ(ParamId(uint64_t{1} << 32), ParamId(~0u));
  EXPECT_EQ(ParamId(-1), ParamId(~0u));
  EXPECT_EQ(FunctionAtPosition(~uint64_t{0}), FunctionId(~0u));
}

TEST(Ids, FunctionsBeginWithTheBody) {
  EXPECT_NE(FunctionAtPosition(0), kKernelBody);
  EXPECT_EQ(PositionOf(FunctionAtPosition(5)), 5u);
}

TEST(Ids, ListsReadNumbers) {
  const std::vector<int64_t> numbers = {9, 2, -1};
  const IdList<ParamId, int64_t> all(numbers), last(numbers, 2);
  EXPECT_EQ(std::vector<ParamId>(all.begin(), all.end()),
            (std::vector<ParamId>{ParamId(9), ParamId(2), ParamId(~0u)}));
  EXPECT_EQ(all[1], ParamId(2));
  EXPECT_EQ(last.size(), 1u);
  EXPECT_TRUE((IdList<ParamId, int64_t>(numbers, 3).empty()));
}

TEST(Ids, VectorsGrowById) {
  IdVector<NodeId, bool> flags(2);
  EXPECT_EQ(flags.Add(true), NodeId(2));
  flags[NodeId(1)] = true;
  EXPECT_FALSE(flags[NodeId(0)]);
  EXPECT_TRUE(flags[NodeId(1)] && flags[NodeId(2)]);
  EXPECT_FALSE(flags.Has(NodeId(3)));
}

}  // namespace
}  // namespace kiln
