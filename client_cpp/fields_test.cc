#include "client_cpp/fields.h"

#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(FieldTest, ElementsByPositionAndIndices) {
  auto field = Field<float>::Create({3, 4});
  ASSERT_TRUE(field.ok()) << field.status();
  EXPECT_EQ(field->size(), 12u);
  EXPECT_EQ((*field)[5], 0.0f);
  field->at(1, 2) = 7;
  EXPECT_EQ((*field)[6], 7.0f);
  EXPECT_TRUE(field->CopyFrom(std::vector<float>(12, 2.5f)).ok());
  EXPECT_EQ(field->ToVector(), std::vector<float>(12, 2.5f));
  EXPECT_TRUE(absl::IsInvalidArgument(field->CopyFrom(std::vector<float>(11))));
  field->Fill(-1);
  EXPECT_EQ(field->at(2, 3), -1.0f);
}

TEST(FieldTest, TensorElementsAreAdjacent) {
  auto field = Field<double>::Create({5}, {3});
  ASSERT_TRUE(field.ok()) << field.status();
  EXPECT_EQ(field->size(), 15u);
  field->at(4, 2) = 1;
  EXPECT_EQ((*field)[14], 1.0);
  EXPECT_EQ(field->storage().dense().components_size(), 3);
}

TEST(FieldTest, AFieldWithoutAxesHasOneElement) {
  auto field = Field<double>::Create({}, {2});
  ASSERT_TRUE(field.ok()) << field.status();
  EXPECT_EQ(field->size(), 2u);
  EXPECT_EQ(field->storage().dense().num_axes(), 0u);
  field->at(1) = 3;
  EXPECT_EQ(field->ToVector(), (std::vector<double>{0, 3}));
}

TEST(FieldTest, CompanionsHaveTheFieldsForm) {
  auto field = Field<double>::Create({5}, {3}, Companions::kGradAndDual);
  ASSERT_TRUE(field.ok()) << field.status();
  field->grad()->Fill(2);
  EXPECT_EQ(field->dense().dual()->Fill(0.5), absl::OkStatus());
  EXPECT_EQ(field->dense().grad()->storage().SerializeAsString(),
            field->storage().SerializeAsString());
  EXPECT_EQ(field->grad()->ToVector(), std::vector<double>(15, 2));
  EXPECT_EQ(field->dual()->ToVector(), std::vector<double>(15, 0.5));
  EXPECT_EQ(field->ToVector(), std::vector<double>(15, 0));
  const auto plain = *Field<float>::Create({5}, {}, Companions::kDual);
  EXPECT_EQ(plain.grad().status(),
            absl::FailedPreconditionError("the field was made without a gradient"));
  EXPECT_TRUE(plain.dual().ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Field<int32_t>::Create({5}, {}, Companions::kGrad).status()));
}

// One artifact serves all sizes, because the launch passes the outermost extent.
TEST(FieldTest, SizeIsNotInTheDescriptor) {
  auto small = Field<int32_t>::Create({8}), large = Field<int32_t>::Create({800});
  EXPECT_EQ(small->storage().SerializeAsString(), large->storage().SerializeAsString());
  EXPECT_EQ(large->dense().outer_extent(), 800u);
}

TEST(FieldTest, RefusesImpossibleSizes) {
  EXPECT_FALSE(Field<float>::Create({uint64_t{1} << 40, uint64_t{1} << 40}).ok());
  EXPECT_FALSE(Field<float>::Create({uint64_t{1} << 43}).ok());
  EXPECT_FALSE(Field<float>::Create({0}).ok());
  EXPECT_FALSE(Field<float>::Create({4}, {1u << 20}).ok());
}

}  // namespace
}  // namespace kiln
