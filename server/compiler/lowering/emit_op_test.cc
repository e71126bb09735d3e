// Every op on every scalar, compiled and run, against plain C++.
#include "server/compiler/lowering/emit_op.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "common/language/op_table.h"
#include "common/language/type.h"
#include "mlir/IR/BuiltinOps.h"
#include "server/compiler/codegen/test_kernel.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/lowering/scalar_value.h"

namespace kiln {
namespace {

using mlir::Value;
using Half = _Float16;

template <typename T>
constexpr Scalar kScalarOf = proto::SCALAR_NONE;
template <>
constexpr Scalar kScalarOf<bool> = proto::U1;
template <>
constexpr Scalar kScalarOf<int8_t> = proto::I8;
template <>
constexpr Scalar kScalarOf<int16_t> = proto::I16;
template <>
constexpr Scalar kScalarOf<int32_t> = proto::I32;
template <>
constexpr Scalar kScalarOf<int64_t> = proto::I64;
template <>
constexpr Scalar kScalarOf<uint8_t> = proto::U8;
template <>
constexpr Scalar kScalarOf<uint16_t> = proto::U16;
template <>
constexpr Scalar kScalarOf<uint32_t> = proto::U32;
template <>
constexpr Scalar kScalarOf<uint64_t> = proto::U64;
template <>
constexpr Scalar kScalarOf<Half> = proto::F16;
template <>
constexpr Scalar kScalarOf<float> = proto::F32;
template <>
constexpr Scalar kScalarOf<double> = proto::F64;

template <typename T>
constexpr bool kIsFloat = std::is_floating_point_v<T> || std::is_same_v<T, Half>;

template <typename T>
uint64_t ToSlot(T value) {
  uint64_t slot = 0;
  std::memcpy(&slot, &value, sizeof(T));
  return slot;
}
template <typename T>
T FromSlot(uint64_t slot) {
  T value;
  std::memcpy(&value, &slot, sizeof(T));
  return value;
}

// Makes a kernel whose results are what `emit` makes of the arguments x and y.
class KernelMaker {
 public:
  using Emit = std::function<std::vector<Value>(mlir::OpBuilder&, mlir::Location, Value, Value)>;

  static std::unique_ptr<TestKernel> Make(Scalar scalar, bool fast_math, const Emit& emit) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    context.loadDialect<ir::KilnDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
    mlir::OpBuilder b(&context);
    const mlir::Location loc = b.getUnknownLoc();
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
    b.setInsertionPointToEnd(module->getBody());
    mlir::OperationState state(loc, ir::KernelOp::getOperationName());
    state.addAttribute("sym_name", b.getStringAttr("k"));
    state.addAttribute("storages", b.getArrayAttr({}));
    state.addAttribute("results", b.getTypeArrayAttr({}));
    state.addRegion()->emplaceBlock();
    auto kernel = llvm::cast<ir::KernelOp>(b.create(state));
    b.setInsertionPointToEnd(&kernel.getBody().front());
    mlir::OperationState task_state(loc, ir::SerialTaskOp::getOperationName());
    task_state.addAttribute("task_name", b.getStringAttr("t"));
    task_state.addRegion()->emplaceBlock();
    auto task = llvm::cast<ir::SerialTaskOp>(b.create(task_state));
    b.create<ir::ReturnOp>(loc);
    b.setInsertionPointToEnd(&task.getBody().front());
    const mlir::Type type = ValueType(&context, scalar);
    const auto argument = [&](int64_t slot) -> Value {
      return b.create<ir::ArgumentOp>(loc, type, slot);
    };
    int64_t slot = 0;
    const Value x = argument(0), y = argument(1);
    for (const Value result : emit(b, loc, x, y)) {
      b.create<ir::ResultOp>(loc, slot++, result);
    }
    b.create<ir::ReturnOp>(loc);
    std::string text;
    llvm::raw_string_ostream out(text);
    kernel->print(out);
    TestKernel::Options options;
    options.fast_math = fast_math;
    options.opt_level = 1;
    auto compiled = TestKernel::Compile(text, options);
    EXPECT_TRUE(compiled.ok()) << compiled.status() << "\n" << text;
    return compiled.ok() ? *std::move(compiled) : nullptr;
  }
};

// --- What C++ says ----------------------------------------------------------------

using Wide = __int128;
using Bits = unsigned __int128;  // whose products and shifts wrap

template <typename T>
std::optional<Wide> Integer(proto::Op op, T x, T y) {
  const int bits = kScalarOf<T> == proto::U1 ? 1 : 8 * sizeof(T);
  const Wide a = x, b = y;
  // Of a shift: narrow integers are shifted in 32 bits, bools by nothing.
  const int count = static_cast<int>(b & (bits == 1 ? 0 : std::max(bits, 32) - 1));
  using U = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;
  const auto floor_div = [](Wide n, Wide d) { return n / d - (n % d != 0 && (n < 0) != (d < 0)); };
  switch (op) {
    case proto::OP_NEG:
      return -a;
    case proto::OP_ABS:
      return a < 0 ? -a : a;
    case proto::OP_BIT_NOT:
      return ~a;
    case proto::OP_LOGICAL_NOT:
      return a == 0;
    case proto::OP_POPCNT:
      return __builtin_popcountll(static_cast<U>(x));
    case proto::OP_CLZ:
      return x == 0 ? bits : __builtin_clzll(static_cast<U>(x)) - (64 - bits);
    case proto::OP_ISNAN:
    case proto::OP_ISINF:
      return 0;
    case proto::OP_ADD:
      return a + b;
    case proto::OP_SUB:
      return a - b;
    case proto::OP_MUL:
      return static_cast<Wide>(Bits(a) * Bits(b));
    case proto::OP_FLOORDIV:
      return b == 0 ? 0 : floor_div(a, b);
    case proto::OP_MOD:
      return b == 0 ? 0 : a - b * floor_div(a, b);
    case proto::OP_RAW_DIV:
      return b == 0 ? 0 : a / b;
    case proto::OP_RAW_MOD:
      return b == 0 ? 0 : a % b;
    case proto::OP_POW: {
      if (bits == 1) return std::nullopt;
      U result = 1, base = static_cast<U>(x);
      for (Wide n = b < 0 ? -b : b; n > 0; n >>= 1, base = static_cast<U>(base * uint64_t{base})) {
        if (n & 1) result = static_cast<U>(result * uint64_t{base});
      }
      return result;
    }
    case proto::OP_MIN:
      return std::min(a, b);
    case proto::OP_MAX:
      return std::max(a, b);
    case proto::OP_SHL:
      return static_cast<Wide>(Bits(a) << count);
    case proto::OP_SHR:
      return a >> count;
    case proto::OP_BIT_SHR:
      return Bits{static_cast<U>(x)} >> count;
    case proto::OP_BIT_AND:
      return a & b;
    case proto::OP_BIT_OR:
      return a | b;
    case proto::OP_BIT_XOR:
      return a ^ b;
    case proto::OP_LOGICAL_AND:
      return a != 0 && b != 0;
    case proto::OP_LOGICAL_OR:
      return a != 0 || b != 0;
    case proto::OP_LT:
      return a < b;
    case proto::OP_LE:
      return a <= b;
    case proto::OP_GT:
      return a > b;
    case proto::OP_GE:
      return a >= b;
    case proto::OP_EQ:
      return a == b;
    case proto::OP_NE:
      return a != b;
    default:
      return std::nullopt;
  }
}

std::optional<double> Float(proto::Op op, double x, double y) {
  int exponent;
  switch (op) {
    case proto::OP_NEG:
      return -x;
    case proto::OP_ABS:
      return std::fabs(x);
    case proto::OP_SQRT:
      return std::sqrt(x);
    case proto::OP_RSQRT:
      return 1 / std::sqrt(x);
    case proto::OP_SIN:
      return std::sin(x);
    case proto::OP_COS:
      return std::cos(x);
    case proto::OP_TAN:
      return std::tan(x);
    case proto::OP_ASIN:
      return std::asin(x);
    case proto::OP_ACOS:
      return std::acos(x);
    case proto::OP_TANH:
      return std::tanh(x);
    case proto::OP_EXP:
      return std::exp(x);
    case proto::OP_LOG:
      return std::log(x);
    case proto::OP_FLOOR:
      return std::floor(x);
    case proto::OP_CEIL:
      return std::ceil(x);
    case proto::OP_ROUND:
      return std::round(x);
    case proto::OP_FREXP_MANTISSA:
      return std::frexp(x, &exponent);
    case proto::OP_FREXP_EXPONENT:
      exponent = 0;
      if (std::isfinite(x)) std::frexp(x, &exponent);
      return exponent;
    case proto::OP_LOGICAL_NOT:
      return x == 0;
    case proto::OP_ISNAN:
      return std::isnan(x);
    case proto::OP_ISINF:
      return std::isinf(x);
    case proto::OP_ADD:
      return x + y;
    case proto::OP_SUB:
      return x - y;
    case proto::OP_MUL:
      return x * y;
    case proto::OP_TRUEDIV:
    case proto::OP_RAW_DIV:
      return x / y;
    case proto::OP_FLOORDIV:
      return std::floor(x / y);
    case proto::OP_MOD:
      return x - y * std::floor(x / y);
    case proto::OP_RAW_MOD:
      return std::fmod(x, y);
    case proto::OP_POW:
      return std::pow(x, y);
    case proto::OP_ATAN2:
      return std::atan2(x, y);
    case proto::OP_MIN:
      return std::fmin(x, y);
    case proto::OP_MAX:
      return std::fmax(x, y);
    case proto::OP_LOGICAL_AND:
      return x != 0 && y != 0;
    case proto::OP_LOGICAL_OR:
      return x != 0 || y != 0;
    case proto::OP_LT:
      return x < y;
    case proto::OP_LE:
      return x <= y;
    case proto::OP_GT:
      return x > y;
    case proto::OP_GE:
      return x >= y;
    case proto::OP_EQ:
      return x == y;
    case proto::OP_NE:
      return x != y;
    default:
      return std::nullopt;
  }
}

// --- The comparison ----------------------------------------------------------------

template <typename T>
std::vector<T> Samples() {
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (kIsFloat<T>) {
    return {T(0), T(1), T(-1), T(0.5), T(-2.5), T(3.25), T(7), T(-9.75), T(0.001), T(100)};
  } else {
    using L = std::numeric_limits<T>;
    std::vector<T> samples = {T(0), T(1), T(2), T(3), T(7), T(10), T(64), T(100)};
    samples.insert(samples.end(), {L::max(), L::min(), T(L::max() - 1), T(L::min() + 1)});
    if (L::is_signed) samples.insert(samples.end(), {T(-1), T(-2), T(-7), T(-100)});
    return samples;
  }
}

bool Applies(const OpInfo& op, Scalar scalar) {
  const int kind = IsFloat(scalar)       ? proto::OPERAND_FLOAT
                   : scalar == proto::U1 ? proto::OPERAND_BOOL
                                         : proto::OPERAND_INT;
  if ((op.operands & kind) == 0 || op.op == proto::OP_MATMUL) return false;
  // These get floats from the type rules.
  return IsFloat(scalar) || op.result != proto::RESULT_FLOAT;
}

bool IsRow(const OpInfo& op) {
  return op.family == proto::FAMILY_UNARY || op.family == proto::FAMILY_BINARY ||
         op.family == proto::FAMILY_COMPARE;
}

bool GivesInt32(const OpInfo& op) { return op.result == proto::RESULT_INT32; }
bool GivesBool(const OpInfo& op) {
  return op.result == proto::RESULT_BOOL || op.result == proto::RESULT_TRUTH;
}

template <typename T>
void CheckResult(const OpInfo& op, T x, T y, uint64_t slot, bool fast_math) {
  SCOPED_TRACE(testing::Message() << op.spelling << " of " << ScalarName(kScalarOf<T>) << " "
                                  << double(x) << ", " << double(y) << (fast_math ? " fast" : ""));
  if constexpr (!kIsFloat<T>) {
    const std::optional<Wide> expected = Integer<T>(op.op, x, y);
    if (!expected) return;
    if (GivesBool(op)) {
      EXPECT_EQ(slot, static_cast<uint64_t>(*expected != 0));
    } else if (GivesInt32(op)) {
      EXPECT_EQ(FromSlot<int32_t>(slot), static_cast<int32_t>(*expected));
    } else if (std::is_same_v<T, bool>) {
      EXPECT_EQ(slot, static_cast<uint64_t>(*expected & 1));
    } else {
      EXPECT_EQ(FromSlot<T>(slot), static_cast<T>(*expected));
    }
  } else {
    const std::optional<double> expected = Float(op.op, x, y);
    if (!expected) return;
    if (GivesBool(op)) {
      EXPECT_EQ(slot, static_cast<uint64_t>(*expected));
      return;
    }
    if (GivesInt32(op)) {
      EXPECT_EQ(FromSlot<int32_t>(slot), static_cast<int32_t>(*expected));
      return;
    }
    const double actual = FromSlot<T>(slot);
    const double rounded = static_cast<T>(*expected);
    if (!std::isfinite(rounded)) {
      if (fast_math) return;
      EXPECT_TRUE(actual == rounded || (std::isnan(actual) && std::isnan(rounded))) << actual;
      return;
    }
    const double epsilon = sizeof(T) == 2 ? 1e-3 : sizeof(T) == 4 ? 3e-7 : 1e-15;
    // A remainder near its divisor may round to either end.
    const double scale =
        std::max({std::fabs(rounded),
                  op.op == proto::OP_MOD || op.op == proto::OP_RAW_MOD || op.op == proto::OP_TAN
                      ? std::fabs(double(y)) + std::fabs(double(x))
                      : 0.0,
                  1e-3});
    EXPECT_NEAR(actual, rounded, 4 * epsilon * scale);
  }
}

template <typename T>
void CheckOps(bool fast_math) {
  const Scalar scalar = kScalarOf<T>;
  std::vector<const OpInfo*> rows;
  for (int i = 0; i < 128; ++i) {
    const OpInfo* op = FindOp(i);
    if (op != nullptr && IsRow(*op) && Applies(*op, scalar)) rows.push_back(op);
  }
  EmitOptions options;
  options.fast_math = fast_math;
  auto kernel = KernelMaker::Make(
      scalar, fast_math, [&](mlir::OpBuilder& b, mlir::Location loc, Value x, Value y) {
        std::vector<Value> results;
        for (const OpInfo* op : rows) {
          results.push_back(op->arity == 1 ? EmitUnary(b, loc, op->op, scalar, x, options)
                                           : EmitBinary(b, loc, op->op, scalar, x, y, options));
        }
        return results;
      });
  ASSERT_NE(kernel, nullptr);
  ASSERT_LE(rows.size(), 64u);
  for (const T x : Samples<T>()) {
    for (const T y : Samples<T>()) {
      kernel->Run({ToSlot(x), ToSlot(y)});
      for (size_t i = 0; i < rows.size(); ++i) {
        CheckResult<T>(*rows[i], x, y, kernel->result(static_cast<int>(i)), fast_math);
      }
    }
  }
}

template <typename T>
class EmitOpTest : public testing::Test {};
// gtest wants a typeinfo, which _Float16 has not.
template <typename T>
struct Of {
  using Type = T;
};
using Scalars =
    testing::Types<Of<bool>, Of<int8_t>, Of<int16_t>, Of<int32_t>, Of<int64_t>, Of<uint8_t>,
                   Of<uint16_t>, Of<uint32_t>, Of<uint64_t>, Of<Half>, Of<float>, Of<double>>;
TYPED_TEST_SUITE(EmitOpTest, Scalars);

TYPED_TEST(EmitOpTest, PreciseAsInCpp) { CheckOps<typename TypeParam::Type>(/*fast_math=*/false); }
TYPED_TEST(EmitOpTest, FastAsInCpp) { CheckOps<typename TypeParam::Type>(/*fast_math=*/true); }

// Division, remainder and power by constants take other ways than by values.
TYPED_TEST(EmitOpTest, ConstantOperands) {
  using T = typename TypeParam::Type;
  const Scalar scalar = kScalarOf<T>;
  if (scalar == proto::U1 || scalar == proto::F16) return;
  const proto::Op ops[] = {proto::OP_FLOORDIV, proto::OP_MOD, proto::OP_RAW_DIV, proto::OP_RAW_MOD,
                           proto::OP_POW,      proto::OP_SHL, proto::OP_SHR,     proto::OP_BIT_SHR};
  for (const T y : {T(0), T(1), T(3), T(8), T(-3), T(-1), T(5)}) {
    auto kernel = KernelMaker::Make(scalar, true,
                                    [&](mlir::OpBuilder& b, mlir::Location loc, Value x, Value) {
                                      std::vector<Value> results;
                                      for (const proto::Op op : ops) {
                                        if (!Applies(*FindOp(op), scalar)) continue;
                                        const Value c = EmitConstant(b, loc, scalar, ToSlot(y));
                                        results.push_back(EmitBinary(b, loc, op, scalar, x, c, {}));
                                      }
                                      return results;
                                    });
    ASSERT_NE(kernel, nullptr);
    for (const T x : Samples<T>()) {
      kernel->Run({ToSlot(x)});
      int slot = 0;
      for (const proto::Op op : ops) {
        if (Applies(*FindOp(op), scalar)) {
          CheckResult<T>(*FindOp(op), x, y, kernel->result(slot++), true);
        }
      }
    }
  }
}

constexpr Scalar kAllScalars[] = {proto::U1,  proto::I8,  proto::I16, proto::I32,
                                  proto::I64, proto::U8,  proto::U16, proto::U32,
                                  proto::U64, proto::F16, proto::F32, proto::F64};

template <typename From>
std::unique_ptr<TestKernel> Casts(bool fast_math) {
  EmitOptions options;
  options.fast_math = fast_math;
  return KernelMaker::Make(kScalarOf<From>, fast_math,
                           [&](mlir::OpBuilder& b, mlir::Location loc, Value x, Value) {
                             std::vector<Value> results;
                             for (const Scalar to : kAllScalars) {
                               results.push_back(EmitCast(b, loc, kScalarOf<From>, to, x, options));
                             }
                             return results;
                           });
}

int At(Scalar to) {
  return static_cast<int>(std::find(std::begin(kAllScalars), std::end(kAllScalars), to) -
                          std::begin(kAllScalars));
}

TYPED_TEST(EmitOpTest, CastsOfWhatFits) {
  using T = typename TypeParam::Type;
  for (const bool fast_math : {false, true}) {
    auto kernel = Casts<T>(fast_math);
    ASSERT_NE(kernel, nullptr);
    for (const T x : Samples<T>()) {
      SCOPED_TRACE(testing::Message() << ScalarName(kScalarOf<T>) << " " << double(x));
      kernel->Run({ToSlot(x)});
      EXPECT_EQ(kernel->result(At(proto::U1)), x != T(0));
      EXPECT_EQ(FromSlot<double>(kernel->result(At(proto::F64))), static_cast<double>(x));
      EXPECT_EQ(FromSlot<float>(kernel->result(At(proto::F32))), static_cast<float>(x));
      const Wide whole = static_cast<Wide>(x);
      EXPECT_EQ(FromSlot<int8_t>(kernel->result(At(proto::I8))), static_cast<int8_t>(whole));
      EXPECT_EQ(FromSlot<uint8_t>(kernel->result(At(proto::U8))), static_cast<uint8_t>(whole));
      EXPECT_EQ(FromSlot<uint16_t>(kernel->result(At(proto::U16))), static_cast<uint16_t>(whole));
      EXPECT_EQ(FromSlot<int32_t>(kernel->result(At(proto::I32))), static_cast<int32_t>(whole));
      EXPECT_EQ(FromSlot<uint32_t>(kernel->result(At(proto::U32))), static_cast<uint32_t>(whole));
      EXPECT_EQ(FromSlot<int64_t>(kernel->result(At(proto::I64))), static_cast<int64_t>(whole));
      EXPECT_EQ(FromSlot<uint64_t>(kernel->result(At(proto::U64))), static_cast<uint64_t>(whole));
    }
  }
}

TEST(EmitCast, FloatsThatDoNotFit) {
  for (const bool fast_math : {false, true}) {
    auto kernel = Casts<float>(fast_math);
    ASSERT_NE(kernel, nullptr);
    const auto cast = [&](float x, Scalar to) {
      kernel->Run({ToSlot(x)});
      return kernel->result(At(to));
    };
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const float x : {nan, 1e30f, -1e30f}) {
      for (const Scalar to : {proto::I8, proto::I16, proto::U8, proto::U16}) {
        EXPECT_EQ(cast(x, to), 0u) << ScalarName(to) << " " << x;
      }
      EXPECT_EQ(FromSlot<int32_t>(cast(x, proto::I32)), INT32_MIN) << x;
      EXPECT_EQ(FromSlot<int64_t>(cast(x, proto::I64)), INT64_MIN) << x;
      EXPECT_EQ(cast(x, proto::U32), uint64_t{1} << 31) << x;
      EXPECT_EQ(cast(x, proto::U64), uint64_t{1} << 63) << x;
      EXPECT_EQ(cast(x, proto::U1), 1u) << x;
    }
    EXPECT_EQ(cast(-1.0f, proto::U8), 255u);
    EXPECT_EQ(cast(256.0f, proto::U8), 0u);
    EXPECT_EQ(cast(300.7f, proto::U8), 44u);
    EXPECT_EQ(cast(3e9f, proto::U8), 0u);
    EXPECT_EQ(cast(-1.0f, proto::U32), 4294967295u);
    EXPECT_EQ(cast(-1.0f, proto::U64), ~uint64_t{0});
    EXPECT_EQ(cast(3e9f, proto::U32), 3000000000u);
    EXPECT_EQ(cast(1e19f, proto::U64), static_cast<uint64_t>(1e19f));
    EXPECT_EQ(FromSlot<int32_t>(cast(2147483520.0f, proto::I32)), 2147483520);
    EXPECT_EQ(FromSlot<int32_t>(cast(2147483648.0f, proto::I32)), INT32_MIN);
  }
}

TEST(EmitOp, NanAndInfinity) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<proto::Op> unary = {proto::OP_ISNAN, proto::OP_ISINF, proto::OP_FREXP_EXPONENT};
  for (const bool fast_math : {false, true}) {
    EmitOptions options;
    options.fast_math = fast_math;
    auto kernel = KernelMaker::Make(
        proto::F64, fast_math, [&](mlir::OpBuilder& b, mlir::Location loc, Value x, Value y) {
          const Value sum = EmitBinary(b, loc, proto::OP_ADD, proto::F64, x, y, options);
          std::vector<Value> results;
          for (const proto::Op op : unary) {
            results.push_back(EmitUnary(b, loc, op, proto::F64, sum, options));
          }
          results.push_back(EmitBinary(b, loc, proto::OP_NE, proto::F64, sum, sum, options));
          results.push_back(EmitBinary(b, loc, proto::OP_MAX, proto::F64, x, y, options));
          return results;
        });
    ASSERT_NE(kernel, nullptr);
    const auto run = [&](double x, double y) { kernel->Run({ToSlot(x), ToSlot(y)}); };
    run(nan, 1);
    EXPECT_EQ(kernel->result(0), 1u);
    EXPECT_EQ(kernel->result(1), 0u);
    EXPECT_EQ(kernel->result(3), 1u);
    EXPECT_EQ(FromSlot<double>(kernel->result(4)), 1.0);
    run(1, nan);
    EXPECT_EQ(FromSlot<double>(kernel->result(4)), 1.0);
    run(inf, -inf);
    EXPECT_EQ(kernel->result(0), 1u);
    run(inf, 1);
    EXPECT_EQ(kernel->result(0), 0u);
    EXPECT_EQ(kernel->result(1), 1u);
    EXPECT_EQ(kernel->result(2), 0u);
    run(5e-324, 0);
    EXPECT_EQ(FromSlot<int32_t>(kernel->result(2)), -1073);
  }
}

TEST(EmitOp, SelectsAndBits) {
  auto kernel = KernelMaker::Make(
      proto::F32, true, [&](mlir::OpBuilder& b, mlir::Location loc, Value x, Value y) {
        const Value less = EmitBinary(b, loc, proto::OP_LT, proto::F32, x, y, {});
        return std::vector<Value>{EmitTernary(b, loc, proto::OP_SELECT, proto::F32, less, x, y, {}),
                                  EmitBitCast(b, loc, proto::F32, proto::U32, x)};
      });
  ASSERT_NE(kernel, nullptr);
  kernel->Run({ToSlot(1.5f), ToSlot(2.5f)});
  EXPECT_EQ(FromSlot<float>(kernel->result(0)), 1.5f);
  EXPECT_EQ(kernel->result(1), 0x3fc00000u);
}

}  // namespace
}  // namespace kiln
