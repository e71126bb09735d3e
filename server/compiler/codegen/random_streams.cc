#include "server/compiler/codegen/random_streams.h"

#include "runtime/device_lib/device_lib.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln {
namespace {

using llvm::Value;

// KilnRandom, which the device library alone reads: memory for it, in words.
constexpr int64_t kWords = sizeof(KilnRandom) / 8;
static_assert(sizeof(KilnRandom) % 8 == 0 && alignof(KilnRandom) <= 8);

// Calls a function of the device library that changes a stream (runtime/device_lib/device_lib.h).
// Not CallPure: each call changes the stream.
Value* Call(FunctionEmitter& f, const char* name, llvm::Type* result,
            llvm::ArrayRef<Value*> operands) {
  llvm::SmallVector<llvm::Type*> types;
  for (Value* operand : operands) types.push_back(operand->getType());
  return f.builder().CreateCall(
      f.module()->getOrInsertFunction(name, llvm::FunctionType::get(result, types, false)),
      operands);
}

}  // namespace

Value* NewStream(FunctionEmitter& f) { return f.Alloca(f.builder().getInt64Ty(), kWords); }

void StartStream(FunctionEmitter& f, Value* stream, Value* launch, int task, Value* index) {
  llvm::IRBuilder<>& b = f.builder();
  Call(f, "kiln_random_start", b.getVoidTy(), {stream, launch, b.getInt64(task), index});
}

Value* DrawFrom(FunctionEmitter& f, Value* stream, llvm::Type* type) {
  llvm::IRBuilder<>& b = f.builder();
  const auto call = [&](const char* name, llvm::Type* result) {
    return Call(f, name, result, {stream});
  };
  if (type->isFloatTy()) return call("kiln_random_f32", type);
  if (type->isDoubleTy()) return call("kiln_random_f64", type);
  if (type->isHalfTy()) {
    // Rounding to half may reach 1: keep the bits that a half holds.
    Value* bits = b.CreateLShr(call("kiln_random_u32", b.getInt32Ty()), 21);
    Value* number = b.CreateFMul(b.CreateUIToFP(bits, b.getFloatTy()),
                                 llvm::ConstantFP::get(b.getFloatTy(), 0x1p-11));
    return b.CreateFPTrunc(number, type);
  }
  if (type->isIntegerTy(64)) return call("kiln_random_u64", type);
  // The high bits are the better ones.
  Value* word = call("kiln_random_u32", b.getInt32Ty());
  const unsigned bits = type->getIntegerBitWidth();
  return b.CreateTrunc(b.CreateLShr(word, 32 - bits), type);
}

}  // namespace kiln
