#include "common/language/type.h"

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

using Types = google::protobuf::RepeatedPtrField<proto::Type>;

// Parses types from the text form of a Kernel's list; "none" is the first.
Types Parse(const std::vector<std::string>& texts) {
  Types types;
  types.Add();
  for (const std::string& text : texts) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, types.Add())) << text;
  }
  return types;
}

TEST(TypeTable, EqualTypesGetEqualIds) {
  TypeTable types;
  EXPECT_FALSE(types.GetScalar(proto::SCALAR_NONE));
  const TypeId f32 = types.GetScalar(proto::F32);
  const TypeId vec3 = types.GetTensor(proto::F32, {3});
  EXPECT_EQ(types.GetScalar(proto::F32), f32);
  EXPECT_EQ(types.GetTensor(proto::F32, {}), f32);
  EXPECT_EQ(types.GetTensor(proto::F32, {3}), vec3);
  EXPECT_NE(types.GetTensor(proto::F32, {3, 1}), vec3);
  Type s;
  s.members = {{"a", f32}, {"b", vec3}};
  EXPECT_EQ(types.Get(s), types.Get(s));
  EXPECT_EQ(types.NumScalars(types.Get(s)), 4u);
}

TEST(TypeTable, Names) {
  TypeTable types;
  const TypeId vec = types.GetTensor(proto::F32, {3});
  Type s;
  s.members = {{"pos", vec}, {"id", types.GetScalar(proto::I32)}};
  EXPECT_EQ(types.Name(TypeId()), "none");
  EXPECT_EQ(types.Name(types.GetScalar(proto::U1)), "u1");
  EXPECT_EQ(types.Name(vec), "vec3 of f32");
  EXPECT_EQ(types.Name(types.GetTensor(proto::F64, {3, 2})), "3x2 matrix of f64");
  EXPECT_EQ(types.Name(types.Get(s)), "struct {pos: vec3 of f32, id: i32}");
}

TEST(TypeTable, FlattensInOrder) {
  TypeTable types;
  Type inner, outer;
  inner.members = {{"v", types.GetTensor(proto::F64, {2})}, {"n", types.GetScalar(proto::U8)}};
  outer.members = {{"k", types.GetScalar(proto::I16)}, {"s", types.Get(inner)}};
  std::vector<Scalar> scalars;
  types.AppendScalars(types.Get(outer), &scalars);
  EXPECT_EQ(scalars, (std::vector<Scalar>{proto::I16, proto::F64, proto::F64, proto::U8}));
}

TEST(TypeTable, RoundTripsThroughTheMessage) {
  TypeTable types;
  Type s;
  s.members = {{"m", types.GetTensor(proto::F32, {2, 2})}};
  types.Get(s);
  Types message;
  types.ToProto(&message);
  const auto back = TypeTable::FromProto(message);
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->size(), types.size());
  for (size_t i = 0; i < types.size(); ++i) EXPECT_EQ((*back)[TypeId(i)], types[TypeId(i)]);
}

TEST(TypeTable, RefusesInvalidTypes) {
  const std::string f32 = "scalar: F32";
  const struct {
    std::vector<std::string> types;
    const char* says;
  } cases[] = {
      {{"scalar: 99"}, "unknown"},
      {{""}, "empty"},
      {{"shape: 3"}, "empty"},
      {{f32, f32}, "twice"},
      {{"scalar: F32 shape: 0"}, "zero"},
      {{"scalar: F32 shape: 65537"}, "at most"},
      {{"scalar: F32 shape: 4294967295 shape: 4294967295"}, "at most"},
      {{"scalar: F32 shape: 2 shape: 2 shape: 2"}, "dimensions"},
      {{"scalar: F32 quant { kind: QUANT_INT }"}, "quantised"},
      {{"members { name: 'a' type: 1 }"}, "before it"},
      {{f32, "members { name: 'a' type: 0 }"}, "before it"},
      {{f32, "members { name: 'a' type: 7 }"}, "before it"},
      {{f32, "scalar: F32 members { name: 'a' type: 1 }"}, "both"},
  };
  for (const auto& c : cases) {
    const auto table = TypeTable::FromProto(Parse(c.types));
    EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(table.status().message().find(c.says), std::string::npos) << table.status();
  }
  Types first_used;
  first_used.Add()->set_scalar(proto::F32);
  EXPECT_FALSE(TypeTable::FromProto(first_used).ok());
}

TEST(TypeTable, NestingIsBounded) {
  // Each struct contains the previous one `width` times.
  const auto nested = [](int depth, int width) {
    std::vector<std::string> types = {"scalar: F32"};
    for (int i = 1; i < depth; ++i) {
      std::string text;
      for (int m = 0; m < width; ++m) {
        text += "members { name: 'm" + std::to_string(m) + "' type: " + std::to_string(i) + " }";
      }
      types.push_back(text);
    }
    return TypeTable::FromProto(Parse(types)).status();
  };
  EXPECT_TRUE(nested(kMaxTypeDepth, 1).ok());
  EXPECT_FALSE(nested(kMaxTypeDepth + 1, 1).ok());
  EXPECT_TRUE(nested(6, 10).ok());
  EXPECT_FALSE(nested(14, 10).ok()) << "10^13 scalars";
}

}  // namespace
}  // namespace kiln
