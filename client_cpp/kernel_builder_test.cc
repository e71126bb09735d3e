#include "client_cpp/kernel_builder.h"

#include "absl/strings/str_cat.h"
#include "common/language/op_table.h"
#include "common/unit/check_unit.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

using absl::StatusCode;

proto::Storage Field(const std::string& element = "scalar: F32", int axes = 1) {
  std::string digits;
  for (int a = 0; a < axes; ++a)
    absl::StrAppend(&digits, "digits { axis: ", a, " extent: ", a > 0 ? 4 : 0, " stride: 64 } ");
  proto::Storage storage;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("element { ", element, " } dense { num_axes: ", axes, " num_bases: 1 ", digits,
                   "}"),
      &storage));
  uint64_t elements = 1;
  for (const uint32_t extent : storage.element().shape()) elements *= extent;
  for (uint64_t i = 0; i < elements; ++i) {
    storage.mutable_dense()->add_components()->set_bit_offset(32 * i);
  }
  return storage;
}

// A builder with a float field, a vector field and an i32 parameter.
class Builder : public testing::Test {
 protected:
  NodeNumber I32(int64_t value) { return b_.ConstInt(value, proto::I32); }
  NodeNumber F32(double value) { return b_.ConstFloat(value, proto::F32); }
  NodeNumber Variable(Scalar s) { return *b_.Load(*b_.Local(b_.ScalarType(s))); }
  NodeNumber Vec3() { return *b_.Load(*b_.Local(b_.types().GetTensor(proto::F32, {3}))); }
  std::string TypeName(NodeNumber id) { return b_.types().Name(b_.TypeOf(id)); }

  // The finished unit, which the check must accept without diagnostics.
  proto::CompileUnit Finish() {
    proto::CompileUnit unit;
    EXPECT_TRUE(b_.Finish(&unit, &map_).ok());
    std::vector<proto::Diagnostic> diagnostics;
    const absl::Status status = CheckUnit(unit, &diagnostics).status();
    EXPECT_TRUE(status.ok()) << status << "\n" << unit.DebugString();
    EXPECT_TRUE(diagnostics.empty()) << diagnostics[0].message();
    EXPECT_EQ(map_.node_span_size(), unit.kernel().body().nodes_size());
    return unit;
  }
  // The kinds of the nodes that block `b` lists, with their operands.
  static std::string Listing(const proto::CompileUnit& unit, int b) {
    std::string text;
    for (const uint32_t id : unit.kernel().body().blocks(b).nodes()) {
      const proto::Node& node = unit.kernel().body().nodes(static_cast<int>(id));
      absl::StrAppend(&text, text.empty() ? "" : "; ", id, " ", FindNode(node.kind())->spelling);
      for (const uint32_t operand : node.operands()) absl::StrAppend(&text, " ", operand);
    }
    return text;
  }

  KernelBuilder b_;
  ParamId x_ = b_.AddStorageParam(Field());
  ParamId v_ = b_.AddStorageParam(Field("scalar: F32 shape: 3"));
  ParamId n_ = b_.AddValueParam(b_.ScalarType(proto::I32));
  proto::SourceMap map_;
};

TEST_F(Builder, LoadsMarkAndWritesCheckTheMarks) {
  const ParamId marks = b_.AddStorageParam(Field());
  const ParamId vector_marks = b_.AddStorageParam(Field("scalar: F32 shape: 3"));
  EXPECT_FALSE(b_.CheckOverwrites(x_, vector_marks, "").ok());
  ASSERT_TRUE(b_.CheckOverwrites(x_, marks, "x is overwritten").ok());
  ASSERT_TRUE(b_.CheckOverwrites(v_, vector_marks, "v is overwritten").ok());
  const NodeNumber x = *b_.Global(x_, {I32(0)});
  ASSERT_TRUE(b_.Load(x).ok());
  ASSERT_TRUE(b_.Store(x, F32(2)).ok());
  const NodeNumber last = I32(2);
  const NodeNumber v = *b_.Element(*b_.Global(v_, {I32(1)}), {last});
  ASSERT_TRUE(b_.Atomic(proto::OP_ATOMIC_ADD, v, F32(2)).ok());
  const NodeNumber free = *b_.Local(b_.ScalarType(proto::F32));
  ASSERT_TRUE(b_.Store(free, F32(2)).ok());
  const auto unit = Finish();
  EXPECT_EQ(Listing(unit, 0),
            "1 const; 2 global 1; 3 global 1; 4 const; 5 store 3 4; 6 load 2; "
            "7 const; 8 global 1; 9 load 8; 10 const; 11 binary 9 10; 12 assert 11; 13 store 2 7; "
            "14 const; 15 const; 16 global 15; 17 element 16 14; 18 const; 19 global 15; "
            "20 element 19 14; 21 load 20; 22 const; 23 binary 21 22; 24 assert 23; "
            "25 atomic 17 18; 26 local; 27 const; 28 store 26 27");
  EXPECT_EQ(map_.formats().at(12).pieces(0).text(), "x is overwritten");
  EXPECT_EQ(map_.formats().at(24).pieces(0).text(), "v is overwritten");
}

TEST_F(Builder, ExampleOfTheHeader) {
  const NodeNumber loop = *b_.BeginStructFor(x_, {});
  const NodeNumber i = *b_.LoopIndex(loop, 0);
  const NodeNumber xi = *b_.Load(*b_.Global(x_, {i}));
  const NodeNumber yi = *b_.Global(x_, {i});
  const NodeNumber product = *b_.Binary(proto::OP_MUL, *b_.Param(n_), xi);
  ASSERT_TRUE(b_.Store(yi, *b_.Binary(proto::OP_ADD, product, *b_.Load(yi))).ok());
  ASSERT_TRUE(b_.End().ok());
  const auto unit = Finish();
  EXPECT_EQ(Listing(unit, 0), "1 struct_for");
  EXPECT_EQ(Listing(unit, 1),
            "2 loop_index 1; 3 global 2; 4 load 3; 5 global 2; 6 param; 7 cast 6; 8 binary 7 4; "
            "9 load 5; 10 binary 8 9; 11 store 5 10");
}

TEST_F(Builder, PowersAreComputedInTheTypeOfAWiderExponent) {
  const NodeNumber byte = Variable(proto::U8), word = Variable(proto::I32);
  const NodeNumber wide = *b_.Binary(proto::OP_POW, byte, word);
  EXPECT_EQ(TypeName(wide), "u8");
  EXPECT_EQ(TypeName(NodeNumber(wide.number() - 1)), "i32") << "the power itself";
  const NodeNumber narrow = *b_.Binary(proto::OP_POW, word, byte);
  const NodeNumber literal = *b_.Binary(proto::OP_POW, byte, I32(3));
  EXPECT_FALSE(b_.Binary(proto::OP_POW, byte, NodeNumber(999)).ok());
  const auto unit = Finish();
  const auto& nodes = unit.kernel().body().nodes();
  const auto at = [&](NodeNumber id) { return nodes[static_cast<int>(id.number())]; };
  ASSERT_EQ(at(wide).kind(), proto::CAST_TO) << "back to the base's type";
  EXPECT_EQ(at(narrow).kind(), proto::BINARY);
  EXPECT_EQ(at(literal).kind(), proto::BINARY) << "u8 has that exponent";
}

TEST_F(Builder, OperandsAreCastAndConstantsFolded) {
  const NodeNumber f = Variable(proto::F32);
  const NodeNumber sum = *b_.Binary(proto::OP_ADD, f, I32(-2));
  EXPECT_EQ(TypeName(sum), "f32");
  const NodeNumber wide = *b_.Binary(proto::OP_MUL, Variable(proto::I64), I32(-1));
  EXPECT_EQ(TypeName(wide), "i64");
  const NodeNumber shifted = *b_.Binary(proto::OP_SHL, Variable(proto::U8), Variable(proto::I32));
  EXPECT_EQ(TypeName(shifted), "u8");
  const auto unit = Finish();
  const auto& nodes = unit.kernel().body().nodes();
  const auto operand = [&](NodeNumber id, int i) {
    return nodes[static_cast<int>(nodes[static_cast<int>(id.number())].operands(i))];
  };
  EXPECT_EQ(operand(sum, 1).kind(), proto::CONST);
  EXPECT_EQ(operand(sum, 1).index(), 0xc0000000u) << "-2.0f";
  EXPECT_EQ(operand(wide, 1).index(), ~uint64_t{0}) << "sign-extended";
  EXPECT_EQ(operand(shifted, 1).kind(), proto::CAST_TO);
}

TEST_F(Builder, ConstantsWrapToTheirWidth) {
  const struct {
    NodeNumber id;
    uint64_t bits;
  } cases[] = {
      {b_.ConstInt(-1, proto::I8), 0xff},
      {b_.ConstInt(-1, proto::U16), 0xffff},
      {b_.ConstInt(-1, proto::I64), ~uint64_t{0}},
      {b_.ConstUInt(~uint64_t{0}, proto::U64), ~uint64_t{0}},
      {b_.ConstInt(2, proto::U1), 1},
      {b_.ConstInt(1, proto::F64), 0x3ff0000000000000},
      {b_.ConstFloat(1.0, proto::F16), 0x3c00},
      {b_.ConstFloat(-1.0, proto::F32), 0xbf800000},
      {b_.ConstFloat(2.9, proto::I32), 2},
      {b_.ConstBool(true), 1},
  };
  const auto unit = Finish();
  for (const auto& c : cases) {
    EXPECT_EQ(NodeAt(unit.kernel().body(), NodeInFunction(c.id)).index(), c.bits) << c.id.number();
  }
}

TEST_F(Builder, TensorsAndScalars) {
  const NodeNumber vec = Vec3();
  EXPECT_EQ(TypeName(*b_.Binary(proto::OP_MUL, vec, Variable(proto::F64))), "vec3 of f64");
  EXPECT_EQ(TypeName(*b_.Binary(proto::OP_LT, I32(1), vec)), "vec3 of u1");
  EXPECT_EQ(TypeName(*b_.MakeTensor({I32(1), F32(2), I32(3), I32(4)}, {2, 2})),
            "2x2 matrix of f32");
  EXPECT_EQ(TypeName(*b_.Extract(vec, {I32(2)})), "f32");
  EXPECT_EQ(TypeName(*b_.Binary(proto::OP_MATMUL, vec, vec)), "f32");
  EXPECT_EQ(TypeName(*b_.Ternary(proto::OP_SELECT, Variable(proto::I32), vec, I32(0))),
            "vec3 of f32");
  EXPECT_EQ(TypeName(*b_.Cast(F32(1), b_.types().GetTensor(proto::F32, {3}))), "vec3 of f32");
  EXPECT_EQ(*b_.Cast(vec, b_.TypeOf(vec)), vec) << "no node when already of the type";
  const NodeNumber cell = *b_.Global(v_, {I32(0)});
  EXPECT_TRUE(b_.Store(cell, I32(1)).ok()) << "broadcast";
  EXPECT_TRUE(b_.Store(*b_.Element(cell, {b_.ConstBool(true)}), I32(1)).ok());
  EXPECT_EQ(TypeName(*b_.Atomic(proto::OP_ATOMIC_ADD, cell, I32(1))), "vec3 of f32");
  Finish();
}

TEST_F(Builder, Structs) {
  Type members;
  members.members = {{"a", b_.ScalarType(proto::F32)}, {"n", b_.ScalarType(proto::I64)}};
  const TypeId type = b_.types().Get(members);
  const NodeNumber value = *b_.MakeStruct(type, {I32(1), I32(2)});
  EXPECT_EQ(TypeName(*b_.GetMember(value, 1)), "i64");
  const NodeNumber local = *b_.Local(type, value);
  EXPECT_TRUE(b_.Store(*b_.MemberAddress(local, 0), I32(3)).ok());
  EXPECT_FALSE(b_.GetMember(value, 2).ok());
  EXPECT_FALSE(b_.MemberAddress(local, -1).ok());
  EXPECT_FALSE(b_.Store(local, I32(1)).ok());
  Finish();
}

TEST_F(Builder, ChoiceHasThePromotedType) {
  const NodeNumber n = *b_.Param(n_);
  const NodeNumber choose = *b_.BeginChoose(n);
  ASSERT_TRUE(b_.Yield(n).ok());
  ASSERT_TRUE(b_.Else().ok());
  ASSERT_TRUE(b_.Yield(F32(2)).ok());
  ASSERT_TRUE(b_.End().ok());
  EXPECT_EQ(TypeName(choose), "f32");
  EXPECT_TRUE(b_.Store(*b_.Global(x_, {n}), choose).ok());
  const auto unit = Finish();
  EXPECT_EQ(Listing(unit, 1), "5 cast 1; 6 yield 5");
  EXPECT_EQ(Listing(unit, 2), "4 const; 7 yield 4");
}

TEST_F(Builder, CodeAfterAJumpIsMadeButNotListed) {
  ASSERT_TRUE(b_.BeginWhile().ok());
  ASSERT_TRUE(b_.Break().ok());
  EXPECT_TRUE(b_.Store(*b_.Global(x_, {I32(0)}), F32(1)).ok());
  const NodeNumber dead = *b_.BeginWhile();
  ASSERT_TRUE(b_.Continue().ok());
  ASSERT_TRUE(b_.End().ok());
  ASSERT_TRUE(b_.End().ok());
  I32(5);
  const auto unit = Finish();
  EXPECT_EQ(Listing(unit, 1), "2 break");
  EXPECT_EQ(unit.kernel().body().blocks(0).nodes_size(), 2);
  EXPECT_TRUE(dead);
}

TEST_F(Builder, LoopsAndJumps) {
  proto::LoopConfig serial;
  serial.set_serialize(true);
  EXPECT_EQ(b_.Break().message(), "'break' outside loop");
  const NodeNumber loop =
      *b_.BeginRangeFor({I32(0), *b_.Param(n_), I32(0), b_.ConstInt(9, proto::I64)}, {});
  EXPECT_EQ(TypeName(*b_.LoopIndex(loop, 1)), "i32");
  EXPECT_FALSE(b_.LoopIndex(loop, 2).ok());
  EXPECT_EQ(b_.Break().message(), "Cannot break in the outermost loop");
  EXPECT_EQ(b_.Return({}).message(), "Return statements are not allowed in a parallel loop");
  ASSERT_TRUE(b_.BeginIf(*b_.Param(n_)).ok());
  EXPECT_TRUE(b_.Continue().ok());
  ASSERT_TRUE(b_.Else().ok());
  EXPECT_FALSE(b_.Else().ok());
  ASSERT_TRUE(b_.End().ok());
  ASSERT_TRUE(b_.End().ok());
  EXPECT_FALSE(b_.LoopIndex(loop, 0).ok()) << "closed";
  ASSERT_TRUE(b_.BeginRangeFor({I32(0), I32(9)}, serial).ok());
  EXPECT_TRUE(b_.Break().ok());
  ASSERT_TRUE(b_.End().ok());
  EXPECT_FALSE(b_.End().ok());
  Finish();
}

TEST_F(Builder, ReturnsAreCast) {
  b_.SetReturnTypes({b_.ScalarType(proto::F64), b_.types().GetTensor(proto::F32, {3})});
  EXPECT_EQ(b_.Return({I32(1)}).message(), "the function returns 2 values, not 1");
  EXPECT_FALSE(b_.Return({Vec3(), Vec3()}).ok());
  EXPECT_TRUE(b_.Return({I32(1), I32(2)}).ok());
  Finish();
}

TEST_F(Builder, ErrorsAreTheUsersTextAndAddNothing) {
  const NodeNumber f = Variable(proto::F32);
  const NodeNumber vec = Vec3();
  const NodeNumber i = I32(3);
  const NodeNumber local = *b_.Local(b_.TypeOf(vec));
  const struct {
    absl::Status status;
    const char* says;
  } cases[] = {
      {b_.Binary(proto::OP_BIT_AND, f, i).status(),
       "unsupported operand type(s) for '&': 'f32' and 'i32'"},
      {b_.Binary(proto::OP_ADD, f, local).status(), "node 6 (local) is not a value"},
      {b_.Binary(proto::OP_ADD, f, NodeNumber()).status(), "node 0 does not exist here"},
      {b_.Binary(proto::OP_ADD, f, NodeNumber(999)).status(), "node 999 does not exist here"},
      {b_.Load(f).status(), "node 2 (load) is not an address"},
      {b_.Store(*b_.Global(x_, {i}), vec), "cannot assign 'vec3 of f32' to 'f32'"},
      {b_.Atomic(proto::OP_ATOMIC_ADD, *b_.Global(x_, {i}), vec).status(),
       "unsupported operand type(s) for 'atomic_add': 'f32' and 'vec3 of f32'"},
      {b_.Atomic(proto::OP_ATOMIC_OR, local, i).status(),
       "'atomic_or' takes integral inputs only, however 'vec3 of f32' is provided"},
      {b_.Global(x_, {i, i}).status(), "Field with dim 1 accessed with indices of dim 2"},
      {b_.Global(x_, {f}).status(),
       "indices must be integers, however 'f32' is provided as index 0"},
      {b_.Global(n_, {i}).status(), "parameter 2 is not a storage"},
      {b_.Extract(vec, {i}).status(), "index 3 is out of range for dimension 0 of 'vec3 of f32'"},
      {b_.Element(local, {I32(-1)}).status(),
       "index -1 is out of range for dimension 0 of 'vec3 of f32'"},
      {b_.Extract(f, {i}).status(), "'f32' takes 0 indices, not 1"},
      {b_.BeginIf(vec).status(), "The truth value of 'vec3 of f32' is ambiguous"},
      {b_.BeginRangeFor({i, f}, {}).status(),
       "range takes integers only, however 'f32' is provided"},
      {b_.BeginRangeFor({i}, {}).status(), "a range loop takes a begin and an end per dimension"},
      {b_.Shape(x_, 1).status(), "axis 1 does not exist: the parameter has 1"},
      {b_.MakeTensor({f, f}, {3}).status(), "a tensor of 2 elements cannot have the given shape"},
      {b_.MakeTensor({vec}, {1}).status(), "elements of a tensor are scalars, not 'vec3 of f32'"},
      {b_.Cast(vec, b_.TypeOf(f)).status(), "cannot cast 'vec3 of f32' to 'f32'"},
      {b_.BitCast(f, b_.ScalarType(proto::F64)).status(),
       "bit_cast needs types of equal width, not 'f32' and 'f64'"},
      {b_.Cast(f, TypeId(999)).status(), "type 999 does not exist"},
      {b_.Yield(f), "a value is yielded outside a choice"},
      {b_.Else(), "'else' without 'if'"},
      {b_.End(), "no block is open"},
      {b_.Continue(), "'continue' outside loop"},
  };
  for (const auto& c : cases) EXPECT_EQ(c.status.message(), c.says);
  Finish();
}

TEST_F(Builder, ValuesOfClosedBlocksAreInvisible) {
  ASSERT_TRUE(b_.BeginIf(I32(1)).ok());
  const NodeNumber inside = I32(2);
  EXPECT_TRUE(b_.Unary(proto::OP_NEG, inside).ok());
  ASSERT_TRUE(b_.Else().ok());
  EXPECT_FALSE(b_.Unary(proto::OP_NEG, inside).ok());
  ASSERT_TRUE(b_.End().ok());
  EXPECT_FALSE(b_.Unary(proto::OP_NEG, inside).ok());
  Finish();
}

TEST_F(Builder, DepthIsBounded) {
  for (int i = 0; i < kMaxBlockDepth; ++i) ASSERT_TRUE(b_.BeginIf(I32(1)).ok());
  EXPECT_EQ(b_.BeginWhile().status().message(),
            "Blocks can be nested 256 deep at most; an elif counts as an if in the else before it");
  for (int i = 0; i < kMaxBlockDepth; ++i) ASSERT_TRUE(b_.End().ok());
  Finish();
}

TEST_F(Builder, ChoicesNeedBothValues) {
  ASSERT_TRUE(b_.BeginChoose(I32(1)).ok());
  EXPECT_EQ(b_.Break().message(), "'break' inside an expression");
  ASSERT_TRUE(b_.Yield(I32(1)).ok());
  EXPECT_FALSE(b_.Yield(I32(1)).ok());
  EXPECT_FALSE(b_.End().ok());
  proto::CompileUnit unit;
  EXPECT_EQ(b_.Finish(&unit, &map_).code(), StatusCode::kFailedPrecondition);
}

TEST_F(Builder, PrintsSpansAndOtherNodes) {
  proto::Span span;
  span.set_line(7);
  EXPECT_EQ(b_.AddFile("a.py"), 0u);
  EXPECT_EQ(b_.AddName("f"), 0u);
  b_.SetSpan(b_.AddSpan(span));
  const NodeNumber one = I32(1);
  proto::Format format;
  format.set_end("\n");
  const NodeNumber print = b_.Print({one}, format);
  EXPECT_FALSE(b_.Print({NodeNumber(999)}, format));
  EXPECT_TRUE(b_.Assert(one, {one}, format).ok());
  proto::Node hint;
  hint.set_kind(proto::BLOCK_LOCAL);
  EXPECT_TRUE(b_.Append(hint).ok());
  proto::Node loop;
  loop.set_kind(proto::WHILE);
  EXPECT_FALSE(b_.Append(loop).ok());
  Finish();
  EXPECT_EQ(map_.node_span(one.number()), 1u);
  EXPECT_EQ(map_.formats().at(print.number()).end(), "\n");
}

TEST_F(Builder, FunctionsCallThemselves) {
  const TypeId i32 = b_.ScalarType(proto::I32);
  const NodeNumber outside = I32(5);
  const FunctionId f = *b_.BeginFunction({{i32}}, {i32});
  const NodeNumber n = *b_.Param(ParamId(0));
  EXPECT_NE(n, outside);
  EXPECT_FALSE(b_.Binary(proto::OP_ADD, n, outside).ok()) << "a node of the caller";
  const NodeNumber one = I32(1);
  ASSERT_TRUE(b_.BeginIf(*b_.Binary(proto::OP_LE, n, one)).ok());
  ASSERT_TRUE(b_.Return({one}).ok());
  EXPECT_EQ(b_.EndFunction().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(b_.End().ok());
  const NodeNumber rest = *b_.Call(f, {*b_.Binary(proto::OP_SUB, n, one)});
  ASSERT_TRUE(b_.Return({*b_.Binary(proto::OP_MUL, n, rest)}).ok());
  ASSERT_TRUE(b_.EndFunction().ok());
  EXPECT_FALSE(b_.EndFunction().ok());
  EXPECT_FALSE(b_.Binary(proto::OP_ADD, n, n).ok()) << "a node of the callee";
  EXPECT_EQ(TypeName(n), "i32") << "which is still known";
  // A float is cast to the parameter's type.
  EXPECT_EQ(TypeName(*b_.Call(f, {F32(3.5)})), "i32");
  EXPECT_FALSE(b_.Call(f, {}).ok());
  EXPECT_FALSE(b_.Call(f.next(), {outside}).ok());
  EXPECT_FALSE(b_.Call(f, {Vec3()}).ok());
  const auto unit = Finish();
  ASSERT_EQ(unit.kernel().functions_size(), 1);
  const proto::Function& function = unit.kernel().functions(0);
  EXPECT_EQ(function.nodes(1).kind(), proto::PARAM);
  EXPECT_EQ(map_.functions(0).node_span_size(), function.nodes_size());
  for (const proto::Node& node : function.nodes()) {
    for (const uint32_t operand : node.operands()) {
      EXPECT_LT(operand, static_cast<uint32_t>(function.nodes_size()));
    }
  }
}

TEST_F(Builder, JoinsAddressesOfScalars) {
  const NodeNumber vector = *b_.Local(b_.types().GetTensor(proto::F32, {2}));
  const NodeNumber first = *b_.Element(vector, {I32(0)}), second = *b_.Global(x_, {I32(1)});
  const NodeNumber joined = *b_.Join({second, first, second, first}, {2, 2});
  EXPECT_TRUE(b_.IsAddress(joined));
  EXPECT_EQ(b_.TypeOf(joined), b_.types().GetTensor(proto::F32, {2, 2}));
  ASSERT_TRUE(b_.Store(*b_.Element(joined, {I32(1), I32(0)}), F32(1)).ok());
  EXPECT_FALSE(b_.Join({first, second}, {3}).ok());
  EXPECT_FALSE(b_.Join({}, {}).ok());
  EXPECT_FALSE(b_.Join({vector, vector}, {2}).ok());
  EXPECT_FALSE(b_.Join({first, *b_.Local(b_.ScalarType(proto::I32))}, {2}).ok());
  EXPECT_FALSE(b_.Join({first, F32(1)}, {2}).ok()) << "a value has no address";
}

TEST_F(Builder, FunctionsTakeReferencesAndStorages) {
  const TypeId i32 = b_.ScalarType(proto::I32);
  const TypeId vec3 = b_.types().GetTensor(proto::F32, {3});
  EXPECT_FALSE(b_.BeginFunction({{vec3, /*by_reference=*/true}}, {}).ok());
  EXPECT_FALSE(b_.BeginFunction({{TypeId(999)}}, {}).ok());
  EXPECT_FALSE(b_.BeginFunction({}, {TypeId()}).ok());
  const FunctionId f = *b_.BeginFunction({{i32, /*by_reference=*/true}, {vec3}}, {vec3, i32});
  EXPECT_FALSE(b_.Param(ParamId(0)).ok());
  EXPECT_FALSE(b_.Reference(ParamId(1)).ok());
  const NodeNumber at = *b_.Reference(ParamId(0));
  EXPECT_TRUE(b_.IsAddress(at));
  ASSERT_TRUE(b_.Atomic(proto::OP_ATOMIC_ADD, at, I32(1)).ok());
  // Storages are the kernel's; loops are serial, so that a break is legal.
  const NodeNumber x = *b_.Global(x_, {*b_.Load(at)});
  ASSERT_TRUE(b_.BeginRangeFor({I32(0), I32(9)}, {}).ok());
  ASSERT_TRUE(b_.Store(x, F32(1)).ok());
  ASSERT_TRUE(b_.Break().ok());
  ASSERT_TRUE(b_.End().ok());
  const NodeNumber print = b_.Print({x}, {});
  EXPECT_FALSE(print) << "an address is not a value";
  const NodeNumber printed = b_.Print({at, I32(1)}, {});
  EXPECT_FALSE(printed);
  const NodeNumber shown = b_.Print({I32(1)}, {});
  EXPECT_EQ(FunctionOfNode(shown), f);
  ASSERT_TRUE(b_.Return({*b_.Param(ParamId(1)), *b_.Load(at)}).ok());
  ASSERT_TRUE(b_.EndFunction().ok());

  const NodeNumber local = *b_.Local(i32);
  const NodeNumber call = *b_.Call(f, {local, Vec3()});
  EXPECT_EQ(TypeName(*b_.GetMember(call, 0)), "vec3 of f32");
  EXPECT_EQ(TypeName(*b_.GetMember(call, 1)), "i32");
  EXPECT_FALSE(b_.Call(f, {I32(1), Vec3()}).ok()) << "no address";
  EXPECT_FALSE(b_.Call(f, {*b_.Local(b_.ScalarType(proto::F32)), Vec3()}).ok()) << "another type";
  const FunctionId nothing = *b_.BeginFunction({}, {});
  ASSERT_TRUE(b_.EndFunction().ok());
  EXPECT_FALSE(b_.TypeOf(*b_.Call(nothing, {})));
  Finish();
  EXPECT_EQ(map_.formats().count(shown.number()), 1u);
}

TEST_F(Builder, FunctionsMustBeEnded) {
  ASSERT_TRUE(b_.BeginFunction({}, {}).ok());
  proto::CompileUnit unit;
  EXPECT_EQ(b_.Finish(&unit, &map_).code(), StatusCode::kFailedPrecondition);
}

TEST(BuilderTrees, IndicesFollowTheTree) {
  KernelBuilder b;
  proto::TreePart tree;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "nodes { kind: SNODE_ROOT cell_bytes: 128 } "
      "nodes { kind: SNODE_POINTER axes { axis: 0 extent: 4 } axes { axis: 1 extent: 4 } "
      "cell_bytes: 8 } nodes { kind: SNODE_DENSE parent: 1 axes { axis: 1 extent: 2 } "
      "cell_bytes: 4 }",
      &tree));
  proto::Storage storage;
  storage.mutable_tree()->set_tree(b.AddTree(tree));
  storage.mutable_tree()->set_node(1);
  storage.mutable_tree()->add_axes(0);
  storage.mutable_tree()->add_axes(1);
  const ParamId node = b.AddStorageParam(storage);
  storage.mutable_element()->set_scalar(proto::F32);
  storage.mutable_tree()->add_components()->set_node(2);
  const ParamId place = b.AddStorageParam(storage);
  EXPECT_EQ(b.NumIndices(node), 2);
  EXPECT_EQ(b.NumIndices(place), 2);
  const NodeNumber zero = b.ConstInt(0, proto::I32);
  EXPECT_TRUE(b.Store(*b.Global(place, {zero, zero}), zero).ok());
  proto::CompileUnit unit;
  proto::SourceMap map;
  ASSERT_TRUE(b.Finish(&unit, &map).ok());
  std::vector<proto::Diagnostic> diagnostics;
  const absl::Status status = CheckUnit(unit, &diagnostics).status();
  EXPECT_TRUE(status.ok()) << status;
}

// The Python front end needs about a microsecond per node, whatever the kernel's size.
TEST(BuilderSpeed, LongKernels) {
  KernelBuilder b;
  const ParamId x = b.AddStorageParam(Field());
  for (int i = 0; i < 20000; ++i) {
    const NodeNumber at = *b.Global(x, {b.ConstInt(i, proto::I32)});
    const NodeNumber sum = *b.Binary(proto::OP_ADD, *b.Load(at), b.ConstInt(1, proto::I32));
    ASSERT_TRUE(b.Store(at, sum).ok());
  }
  proto::CompileUnit unit;
  proto::SourceMap map;
  ASSERT_TRUE(b.Finish(&unit, &map).ok());
  EXPECT_EQ(unit.kernel().types_size(), 3);
}

}  // namespace
}  // namespace kiln
