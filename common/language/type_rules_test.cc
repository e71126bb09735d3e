#include "common/language/type_rules.h"

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

Scalar ScalarNamed(const std::string& name) {
  for (int s = proto::U1; s <= proto::F64; ++s) {
    if (name == ScalarName(static_cast<Scalar>(s))) return static_cast<Scalar>(s);
  }
  ADD_FAILURE() << name;
  return proto::SCALAR_NONE;
}

// "f32", "i32[3]", "f64[2,3]".
TypeId TypeNamed(const std::string& text, TypeTable* types) {
  const size_t bracket = text.find('[');
  std::vector<uint32_t> shape;
  if (bracket != std::string::npos) {
    for (const auto& extent :
         absl::StrSplit(text.substr(bracket + 1, text.size() - bracket - 2), ',')) {
      shape.push_back(static_cast<uint32_t>(std::stoul(std::string(extent))));
    }
  }
  return types->GetTensor(ScalarNamed(text.substr(0, bracket)), shape);
}

// "result <- operand scalars", or the error's message.
std::string Typed(proto::Op op, const std::vector<std::string>& operands,
                  DefaultTypes defaults = {}) {
  TypeTable types;
  std::vector<TypeId> ids;
  ids.reserve(operands.size());
  for (const std::string& operand : operands) ids.push_back(TypeNamed(operand, &types));
  const auto typing = TypeOp(op, ids, defaults, &types);
  if (!typing.ok()) return std::string(typing.status().message());
  std::string text = types.Name(typing->result) + " <-";
  for (const Scalar s : typing->operand_scalars) text += std::string(" ") + ScalarName(s);
  return text;
}

TEST(Promote, MatchesTheReference) {
  // Rows and columns as in the reference implementation, u1 with i8 apart.
  const struct {
    const char *a, *b, *result;
  } cases[] = {
      {"i8", "i16", "i16"},  {"i32", "u32", "u32"}, {"i64", "u32", "i64"}, {"u8", "i8", "u8"},
      {"u64", "i64", "u64"}, {"u16", "i32", "i32"}, {"f16", "i32", "f16"}, {"f16", "u64", "f16"},
      {"f16", "f32", "f32"}, {"f32", "f64", "f64"}, {"i64", "f32", "f32"}, {"u1", "i8", "i8"},
      {"u1", "u1", "u1"},    {"u1", "f16", "f16"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Promote(ScalarNamed(c.a), ScalarNamed(c.b)), ScalarNamed(c.result)) << c.a << c.b;
    EXPECT_EQ(Promote(ScalarNamed(c.b), ScalarNamed(c.a)), ScalarNamed(c.result)) << c.a << c.b;
  }
}

TEST(TypeOp, Scalars) {
  const struct {
    proto::Op op;
    std::vector<std::string> operands;
    const char* typed;
  } cases[] = {
      {proto::OP_ADD, {"i32", "f32"}, "f32 <- f32 f32"},
      {proto::OP_ADD, {"u1", "u1"}, "i32 <- i32 i32"},
      {proto::OP_ADD, {"u1", "i8"}, "i8 <- i8 i8"},
      {proto::OP_MUL, {"i32", "u32"}, "u32 <- u32 u32"},
      {proto::OP_TRUEDIV, {"i32", "i32"}, "f32 <- f32 f32"},
      {proto::OP_TRUEDIV, {"i32", "f16"}, "f32 <- f32 f32"},
      {proto::OP_TRUEDIV, {"f16", "f16"}, "f16 <- f16 f16"},
      {proto::OP_TRUEDIV, {"u1", "f64"}, "f64 <- f64 f64"},
      {proto::OP_FLOORDIV, {"i32", "i64"}, "i64 <- i64 i64"},
      {proto::OP_POW, {"i32", "i64"}, "i32 <- i32 i32"},
      {proto::OP_POW, {"u1", "i64"}, "i32 <- i32 i32"},
      {proto::OP_POW, {"i32", "f16"}, "f16 <- f16 f16"},
      {proto::OP_SHL, {"u8", "i32"}, "u8 <- u8 u8"},
      {proto::OP_SHR, {"i64", "u1"}, "i64 <- i64 i64"},
      {proto::OP_SHL, {"u1", "i64"}, "i32 <- i32 i32"},
      {proto::OP_BIT_AND, {"u1", "u1"}, "u1 <- u1 u1"},
      {proto::OP_BIT_AND, {"u1", "i64"}, "i64 <- i64 i64"},
      {proto::OP_LT, {"i32", "f64"}, "u1 <- f64 f64"},
      {proto::OP_EQ, {"u1", "u1"}, "u1 <- i32 i32"},
      {proto::OP_LOGICAL_AND, {"i32", "f64"}, "u1 <- u1 u1"},
      {proto::OP_LOGICAL_NOT, {"i32"}, "u1 <- u1"},
      {proto::OP_NEG, {"u1"}, "i32 <- i32"},
      {proto::OP_NEG, {"u8"}, "u8 <- u8"},
      {proto::OP_BIT_NOT, {"u1"}, "u1 <- u1"},
      {proto::OP_SQRT, {"i64"}, "f32 <- f32"},
      {proto::OP_SIN, {"f16"}, "f16 <- f16"},
      {proto::OP_FLOOR, {"f16"}, "f16 <- f16"},
      {proto::OP_FLOOR, {"f64"}, "f64 <- f64"},
      {proto::OP_POPCNT, {"u64"}, "i32 <- u64"},
      {proto::OP_ISNAN, {"i32"}, "u1 <- f32"},
      {proto::OP_MAX, {"u1", "u1"}, "i32 <- i32 i32"},
      {proto::OP_ATAN2, {"i32", "i32"}, "f32 <- f32 f32"},
      {proto::OP_SELECT, {"i32", "u1", "u1"}, "u1 <- u1 u1 u1"},
      {proto::OP_SELECT, {"u1", "i32", "f32"}, "f32 <- u1 f32 f32"},
  };
  for (const auto& c : cases) EXPECT_EQ(Typed(c.op, c.operands), c.typed) << FindOp(c.op)->spelling;
}

TEST(TypeOp, UsesTheDefaultTypes) {
  const DefaultTypes wide = {proto::I64, proto::F64};
  EXPECT_EQ(Typed(proto::OP_TRUEDIV, {"i32", "f32"}, wide), "f64 <- f64 f64");
  EXPECT_EQ(Typed(proto::OP_ADD, {"u1", "u1"}, wide), "i64 <- i64 i64");
  EXPECT_EQ(Typed(proto::OP_SQRT, {"i8"}, wide), "f64 <- f64");
}

TEST(TypeOp, Tensors) {
  const struct {
    proto::Op op;
    std::vector<std::string> operands;
    const char* typed;
  } cases[] = {
      {proto::OP_ADD, {"f32[2,3]", "f64"}, "2x3 matrix of f64 <- f64 f64"},
      {proto::OP_ADD, {"i32", "u8[3]"}, "vec3 of i32 <- i32 i32"},
      {proto::OP_LT, {"i32[3]", "i32"}, "vec3 of u1 <- i32 i32"},
      {proto::OP_SHL, {"u8[3]", "i32[3]"}, "vec3 of u8 <- u8 u8"},
      {proto::OP_SHL, {"i32", "i64[3]"}, "vec3 of i32 <- i32 i32"},
      {proto::OP_SELECT, {"u1[3]", "i32[3]", "f32"}, "vec3 of f32 <- u1 f32 f32"},
      {proto::OP_SELECT, {"u1[3]", "i32", "f32"}, "vec3 of f32 <- u1 f32 f32"},
      {proto::OP_SELECT, {"u1", "i32[3]", "u8"}, "vec3 of i32 <- u1 i32 i32"},
      {proto::OP_MATMUL, {"f32[2,3]", "f64[3,2]"}, "2x2 matrix of f64 <- f64 f64"},
      {proto::OP_MATMUL, {"f32[2,3]", "i32[3]"}, "vec2 of f32 <- f32 f32"},
      {proto::OP_MATMUL, {"i32[2]", "f32[2,3]"}, "vec3 of f32 <- f32 f32"},
      {proto::OP_MATMUL, {"i32[3]", "i32[3]"}, "i32 <- i32 i32"},
  };
  for (const auto& c : cases) EXPECT_EQ(Typed(c.op, c.operands), c.typed) << FindOp(c.op)->spelling;
}

TEST(TypeOp, ErrorsAreTheUsersText) {
  const struct {
    proto::Op op;
    std::vector<std::string> operands;
    const char* says;
  } cases[] = {
      {proto::OP_SHL, {"u1", "f16"}, "unsupported operand type(s) for '<<': 'u1' and 'f16'"},
      {proto::OP_BIT_AND, {"f64", "i32"}, "unsupported operand type(s) for '&': 'f64' and 'i32'"},
      {proto::OP_BIT_NOT,
       {"f16"},
       "'bit_not' takes integral inputs only, however 'f16' is provided"},
      {proto::OP_FREXP_MANTISSA,
       {"i32"},
       "'frexp_mantissa' takes real inputs only, however 'i32' is provided"},
      {proto::OP_ADD,
       {"f32[2,3]", "f64[3,2]"},
       "unsupported operand type(s) for '+': '2x3 matrix of f32' and '3x2 matrix of f64'"},
      {proto::OP_MATMUL,
       {"f32[2,3]", "f32[2]"},
       "dimension mismatch between (2, 3) and (2,) for matrix multiplication"},
      {proto::OP_MATMUL,
       {"f32[2,3]", "i32"},
       "unsupported operand type(s) for '@': '2x3 matrix of f32' and 'i32'"},
      {proto::OP_MATMUL,
       {"f32[60000,1]", "f32[1,60000]"},
       "product of (60000, 1) and (1, 60000) is larger than 65536 elements"},
      {proto::OP_ADD, {"f32"}, "'add' takes 2 operands, not 1"},
      {proto::OP_CAST, {"f32"}, "op 40 computes no value of operands"},
      {proto::OP_ATOMIC_ADD, {"f32", "f32"}, "op 100 computes no value of operands"},
  };
  for (const auto& c : cases) EXPECT_EQ(Typed(c.op, c.operands), c.says);
  EXPECT_EQ(Typed(static_cast<proto::Op>(9999), {"f32"}), "op 9999 computes no value of operands");
}

// The check relies on this: operands that were cast need no further cast.
TEST(TypeOp, CastOperandsAreAFixedPoint) {
  const char* scalars[] = {"u1", "i8", "i32", "i64", "u8", "u32", "f16", "f32", "f64"};
  for (int number = 1; number < proto::Op_ARRAYSIZE; ++number) {
    const OpInfo* info = FindOp(number);
    if (info == nullptr || info->family == proto::FAMILY_CAST ||
        info->family == proto::FAMILY_ATOMIC) {
      continue;
    }
    for (const char* a : scalars) {
      for (const char* b : scalars) {
        TypeTable types;
        std::vector<TypeId> operands = {TypeNamed(a, &types), TypeNamed(b, &types),
                                        TypeNamed(a, &types)};
        operands.resize(static_cast<size_t>(info->arity));
        const auto once = TypeOp(info->op, operands, {}, &types);
        if (!once.ok()) continue;
        for (size_t i = 0; i < operands.size(); ++i) {
          operands[i] = types.GetScalar(once->operand_scalars[i]);
        }
        const auto twice = TypeOp(info->op, operands, {}, &types);
        ASSERT_TRUE(twice.ok()) << info->spelling << " " << a << " " << b;
        EXPECT_EQ(twice->result, once->result) << info->spelling << " " << a << " " << b;
        EXPECT_EQ(twice->operand_scalars, once->operand_scalars) << info->spelling;
      }
    }
  }
}

TEST(Casts, Allowed) {
  TypeTable types;
  const auto t = [&types](const char* text) { return TypeNamed(text, &types); };
  Type members;
  members.members = {{"a", t("f32")}};
  const TypeId structure = types.Get(members);
  const struct {
    TypeId from, to;
    bool cast, bit_cast;
  } cases[] = {
      {t("f32"), t("u1"), true, false},         {t("f32"), t("i32"), true, true},
      {t("f32[3]"), t("i32[3]"), true, true},   {t("f32[3]"), t("f64[3]"), true, false},
      {t("f32[3]"), t("i32[4]"), false, false}, {t("f32[3]"), t("f32"), false, false},
      {t("f32"), t("f32[3]"), true, false},     {structure, structure, true, false},
      {structure, t("f32"), false, false},      {t("f32"), structure, false, false},
      {TypeId(), TypeId(), false, false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(CheckCast(c.from, c.to, types).ok(), c.cast) << types.Name(c.from);
    EXPECT_EQ(CheckBitCast(c.from, c.to, types).ok(), c.bit_cast) << types.Name(c.from);
  }
}

TEST(Atomics, Allowed) {
  TypeTable types;
  const TypeId f32 = types.GetScalar(proto::F32);
  EXPECT_TRUE(CheckAtomic(proto::OP_ATOMIC_ADD, f32, types).ok());
  EXPECT_TRUE(CheckAtomic(proto::OP_ATOMIC_ADD, types.GetTensor(proto::I32, {3}), types).ok());
  EXPECT_FALSE(CheckAtomic(proto::OP_ATOMIC_AND, f32, types).ok());
  EXPECT_FALSE(CheckAtomic(proto::OP_ADD, f32, types).ok());
  EXPECT_FALSE(CheckAtomic(proto::OP_ATOMIC_ADD, TypeId(), types).ok());
}

}  // namespace
}  // namespace kiln
