#include "client_cpp/host/scalar_bytes.h"

namespace kiln {

static_assert(static_cast<uint32_t>(SlotScalar::kU1) == proto::U1 &&
              static_cast<uint32_t>(SlotScalar::kI8) == proto::I8 &&
              static_cast<uint32_t>(SlotScalar::kI64) == proto::I64 &&
              static_cast<uint32_t>(SlotScalar::kU8) == proto::U8 &&
              static_cast<uint32_t>(SlotScalar::kU64) == proto::U64 &&
              static_cast<uint32_t>(SlotScalar::kF16) == proto::F16 &&
              static_cast<uint32_t>(SlotScalar::kF64) == proto::F64 &&
              static_cast<uint32_t>(SlotScalar::kF64) == proto::Scalar_MAX);

double ScalarToDouble(Scalar scalar, const void* address) {
  return ReadDouble(SlotScalarOf(scalar), address);
}

int64_t ScalarToInt(Scalar scalar, const void* address) {
  return ReadInt(SlotScalarOf(scalar), address);
}

}  // namespace kiln
