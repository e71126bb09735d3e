#include "libkiln/arguments.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "libkiln/failure.h"
#include "libkiln/signature.h"
#include "runtime/device.h"
#include "runtime/number_format.h"
#include "runtime/scalar.h"
#include "runtime/slot.h"

namespace kiln::capi {
namespace {

// DLPack's codes.
constexpr uint8_t kSignedCode = 0, kUnsignedCode = 1, kFloatCode = 2, kBoolCode = 6;
constexpr int32_t kCpuDevice = 1, kCudaDevice = 2, kPinnedMemory = 3;

const char* NameOf(uint32_t kind) {
  switch (kind) {
    case KILN_ARG_INT:
    case KILN_ARG_UINT:
      return "an integer";
    case KILN_ARG_FLOAT:
      return "a float";
    case KILN_ARG_NUMBERS:
    case KILN_ARG_ARGS:
      return "numbers";
    case KILN_ARG_ARRAY:
      return "an array";
    default:
      return "something else";
  }
}

kiln_status Refuse(const Wanted& wanted, const std::string& got) {
  const std::string takes = wanted.is_array ? "an array of " + TextOf(wanted.value) + " with " +
                                                  std::to_string(wanted.rank) + " axes"
                                            : TextOf(wanted.value);
  return Fail(KILN_INVALID_ARGUMENT, std::string(wanted.of) + " '" + wanted.owner +
                                         "', argument '" + wanted.name + "' takes " + takes +
                                         ", got " + got);
}

uint8_t CodeOf(ScalarFacts::Kind kind) {
  switch (kind) {
    case ScalarFacts::kBool:
      return kBoolCode;
    case ScalarFacts::kSigned:
      return kSignedCode;
    case ScalarFacts::kUnsigned:
      return kUnsignedCode;
    case ScalarFacts::kFloat:
      return kFloatCode;
  }
  return 255;
}

// Whether an integer scalar holds the number; floats and bool hold all.
bool Holds(const ScalarFacts& facts, bool is_negative, uint64_t magnitude) {
  if (facts.kind == ScalarFacts::kFloat || facts.kind == ScalarFacts::kBool) return true;
  const uint32_t bits = facts.bytes * 8;
  if (facts.kind == ScalarFacts::kUnsigned) {
    return !is_negative && (bits == 64 || magnitude >> bits == 0);
  }
  const uint64_t least = uint64_t{1} << (bits - 1);  // the magnitude of the lowest number
  return is_negative ? magnitude <= least : magnitude < least;
}

kiln_status PackInt(const Wanted& wanted, uint32_t scalar, int64_t value, uint64_t* slot) {
  const uint64_t magnitude =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (!Holds(*FindScalar(scalar), value < 0, magnitude)) {
    return Refuse(wanted, std::to_string(value));
  }
  *slot = SlotOf(scalar, value);
  return KILN_OK;
}

kiln_status PackUint(const Wanted& wanted, uint32_t scalar, uint64_t value, uint64_t* slot) {
  if (!Holds(*FindScalar(scalar), false, value)) return Refuse(wanted, std::to_string(value));
  *slot = SlotOf(scalar, value);
  return KILN_OK;
}

kiln_status PackFloat(const Wanted& wanted, uint32_t scalar, double value, uint64_t* slot) {
  // A fraction would be lost without a word; a whole number may be an integer's by mistake, too.
  if (FindScalar(scalar)->kind != ScalarFacts::kFloat) {
    return Refuse(wanted, "the float " + std::to_string(value));
  }
  *slot = SlotOf(scalar, value);
  return KILN_OK;
}

// One of `dtype` at `at`.
kiln_status PackNumber(const Wanted& wanted, uint32_t scalar, uint32_t dtype, const uint8_t* at,
                       uint64_t* slot) {
  if (dtype == scalar) {  // the usual case: the bytes as they are
    *slot = 0;
    std::memcpy(slot, at, ScalarBytesOf(scalar));
    return KILN_OK;
  }
  const ScalarFacts& facts = *FindScalar(dtype);
  if (facts.kind == ScalarFacts::kFloat) {
    return PackFloat(wanted, scalar, ReadDouble(static_cast<SlotScalar>(dtype), at), slot);
  }
  const int64_t value = ReadInt(static_cast<SlotScalar>(dtype), at);
  if (facts.kind == ScalarFacts::kUnsigned) {
    return PackUint(wanted, scalar, static_cast<uint64_t>(value), slot);
  }
  return PackInt(wanted, scalar, value, slot);
}

kiln_status PackNumbers(const Wanted& wanted, const kiln_arg& arg, uint64_t* slots) {
  if (arg.count != wanted.value.count) {
    return Refuse(wanted, std::to_string(arg.count) + " numbers");
  }
  if (arg.value.numbers == nullptr) return Refuse(wanted, "NULL");
  const uint32_t bytes = ScalarBytesOf(arg.dtype);
  if (bytes == 0) return Refuse(wanted, "numbers of dtype " + std::to_string(arg.dtype));
  const auto* at = static_cast<const uint8_t*>(arg.value.numbers);
  for (uint32_t i = 0; i < wanted.value.count; ++i, at += bytes) {
    const kiln_status packed =
        PackNumber(wanted, wanted.value.ScalarAt(i), arg.dtype, at, &slots[i]);
    if (packed != KILN_OK) return packed;
  }
  return KILN_OK;
}

// A number of any of the three kinds.
kiln_status PackScalar(const Wanted& wanted, uint32_t scalar, const kiln_arg& arg, uint64_t* slot) {
  switch (arg.kind) {
    case KILN_ARG_INT:
      return PackInt(wanted, scalar, arg.value.i, slot);
    case KILN_ARG_UINT:
      return PackUint(wanted, scalar, arg.value.u, slot);
    case KILN_ARG_FLOAT:
      return PackFloat(wanted, scalar, arg.value.f, slot);
    default:
      return Refuse(wanted, NameOf(arg.kind));
  }
}

kiln_status PackArgs(const Wanted& wanted, const kiln_arg& arg, uint64_t* slots) {
  if (arg.count != wanted.value.count) {
    return Refuse(wanted, std::to_string(arg.count) + " numbers");
  }
  if (arg.value.args == nullptr) return Refuse(wanted, "NULL");
  for (uint32_t i = 0; i < wanted.value.count; ++i) {
    const kiln_status packed =
        PackScalar(wanted, wanted.value.ScalarAt(i), arg.value.args[i], &slots[i]);
    if (packed != KILN_OK) return packed;
  }
  return KILN_OK;
}

std::string ShapeText(const kiln_array& array) {
  std::string text = "(";
  for (int32_t i = 0; i < array.ndim; ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(array.shape[i]);
  }
  return text + ")";
}

// C order, where the strides of axes with one element do not matter.
bool IsContiguous(const kiln_array& array) {
  if (array.strides == nullptr) return true;
  int64_t expected = 1;
  for (int32_t i = array.ndim; i-- > 0;) {
    if (array.shape[i] != 1 && array.strides[i] != expected) return false;
    expected *= array.shape[i];
  }
  return true;
}

kiln_status CheckDevice(const Wanted& wanted, const kiln_array& array) {
  const int32_t type = array.device_type;
  if (type == kCpuDevice) return KILN_OK;
  const std::string got = "an array on device " + std::to_string(type);
  if (wanted.device == nullptr) return Refuse(wanted, got + "; this module runs on the CPU (1)");
  if (type == kCudaDevice || type == kPinnedMemory) return KILN_OK;
  return Refuse(wanted, got + "; this module runs on CUDA (2), and copies arrays of the CPU (1)");
}

kiln_status PackArray(const Wanted& wanted, const kiln_array* given, uint64_t* slots) {
  if (given == nullptr) return Refuse(wanted, "NULL");
  const kiln_array& array = *given;
  const ScalarFacts& facts = *FindScalar(wanted.value.scalar);
  if (array.code != CodeOf(facts.kind) || array.bits != facts.bytes * 8 || array.lanes != 1) {
    // DLPack before 1.0 has no code for bool.
    const bool is_bool = facts.kind == ScalarFacts::kBool && array.code == kUnsignedCode &&
                         array.bits == 8 && array.lanes == 1;
    if (!is_bool) {
      static const char* const kNames[] = {"signed ", "unsigned ", "float "};
      const std::string kind = array.code < 3 ? kNames[array.code] : "";
      return Refuse(wanted, "an array of " + kind + std::to_string(array.bits) +
                                "-bit numbers (DLPack code " + std::to_string(array.code) + ", " +
                                std::to_string(array.lanes) + " lanes)");
    }
  }
  if (const kiln_status usable = CheckDevice(wanted, array); usable != KILN_OK) return usable;
  const size_t axes = wanted.rank + wanted.value.shape.size();
  if (array.ndim < 0 || static_cast<size_t>(array.ndim) != axes) {
    return Refuse(wanted, "an array of " + std::to_string(array.ndim) + " axes");
  }
  if (axes > 0 && array.shape == nullptr) return Refuse(wanted, "an array without a shape");
  uint64_t count = 1;
  for (size_t i = 0; i < axes; ++i) {
    if (array.shape[i] < 0) return Refuse(wanted, "the shape " + ShapeText(array));
    if (array.shape[i] > std::numeric_limits<int32_t>::max()) {
      return Refuse(wanted, "the shape " + ShapeText(array) + ", but indices are 32-bit integers");
    }
    count *= static_cast<uint64_t>(array.shape[i]);
    if (i >= wanted.rank &&
        static_cast<uint64_t>(array.shape[i]) != wanted.value.shape[i - wanted.rank]) {
      return Refuse(wanted, "the shape " + ShapeText(array) + ", whose last axes do not fit");
    }
  }
  if (!IsContiguous(array)) {
    return Refuse(wanted, "an array with strides that are not C order; copy it first");
  }
  const uint64_t address = reinterpret_cast<uint64_t>(array.data) + array.byte_offset;
  if (array.data == nullptr && count != 0) return Refuse(wanted, "an array without data");
  if (address % facts.bytes != 0) return Refuse(wanted, "an array at a misaligned address");
  if (array.device_type == kCudaDevice) {
    const Result<std::unique_ptr<Buffer>> found = wanted.device->Borrow(
        reinterpret_cast<uint8_t*>(address), count * facts.bytes, /*has_mirror=*/false);
    if (!found.ok()) return Refuse(wanted, "an array that it cannot use: " + found.error().text);
  }
  slots[0] = address;
  for (uint32_t i = 0; i < wanted.rank; ++i) slots[1 + i] = static_cast<uint64_t>(array.shape[i]);
  return KILN_OK;
}

}  // namespace

kiln_status PackArg(const Wanted& wanted, const kiln_arg& arg, uint64_t* slots) {
  if (wanted.is_array) {
    if (arg.kind == KILN_ARG_ARRAY) return PackArray(wanted, arg.value.array, slots);
    return Refuse(wanted, NameOf(arg.kind));
  }
  if (arg.kind == KILN_ARG_NUMBERS) return PackNumbers(wanted, arg, slots);
  if (arg.kind == KILN_ARG_ARGS) return PackArgs(wanted, arg, slots);
  const bool is_scalar = wanted.value.scalar != 0 && wanted.value.shape.empty();
  if (!is_scalar) return Refuse(wanted, NameOf(arg.kind));
  return PackScalar(wanted, wanted.value.scalar, arg, slots);
}

}  // namespace kiln::capi
