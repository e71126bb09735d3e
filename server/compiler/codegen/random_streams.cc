#include "server/compiler/codegen/random_streams.h"

#include "runtime/device_lib/device_lib.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln {
namespace {

using llvm::Value;

// KilnRandom, which the device library alone reads: memory for it, in words.
constexpr int64_t kWords = sizeof(KilnRandom) / 8;
static_assert(sizeof(KilnRandom) % 8 == 0 && alignof(KilnRandom) <= 8);

}  // namespace

Value* NewStream(FunctionEmitter& f) { return f.Alloca(f.builder().getInt64Ty(), kWords); }

void StartStream(FunctionEmitter& f, Value* stream, Value* launch, int task, Value* index) {
  llvm::IRBuilder<>& b = f.builder();
  CallLibrary(b, "kiln_random_start", b.getVoidTy(), {stream, launch, b.getInt64(task), index});
}

Value* DrawFrom(FunctionEmitter& f, Value* stream, llvm::Type* type) {
  llvm::IRBuilder<>& b = f.builder();
  const auto call = [&](const char* name, llvm::Type* result) {
    // Not CallPure: each call changes the stream (runtime/device_lib/device_lib.h).
    return CallLibrary(b, name, result, {stream});
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

// KilnRandom's words.
StreamState LoadStream(FunctionEmitter& f, Value* stream) {
  static_assert(offsetof(KilnRandom, counter) == 0 && offsetof(KilnRandom, key) == 8);
  llvm::IRBuilder<>& b = f.builder();
  llvm::Type* word = b.getInt64Ty();
  return {b.CreateLoad(word, stream),
          b.CreateLoad(word, b.CreateConstInBoundsGEP1_64(word, stream, 1))};
}

uint64_t IterationStep() { return KILN_RANDOM_ITERATION_STEP; }

// kiln_random_u64 and those that call it, in runtime/device_lib/device_lib.cc.
Value* DrawFrom(llvm::IRBuilder<>& b, StreamState* state, llvm::Type* type) {
  llvm::Type* words = state->counter->getType();
  const auto constant = [&](uint64_t value) { return llvm::ConstantInt::get(words, value); };
  const auto folded = [&](Value* z, uint64_t by) { return b.CreateXor(z, b.CreateLShr(z, by)); };
  const auto as = [&](llvm::Type* element) -> llvm::Type* {
    const auto* vector = llvm::dyn_cast<llvm::VectorType>(words);
    return vector == nullptr ? element : llvm::VectorType::get(element, vector->getElementCount());
  };
  state->counter = b.CreateAdd(state->counter, constant(KILN_RANDOM_NUMBER_STEP));
  Value* z = folded(state->counter, 30);
  z = b.CreateXor(b.CreateMul(z, constant(KILN_RANDOM_FACTOR_1)), state->key);
  z = b.CreateMul(folded(z, 27), constant(KILN_RANDOM_FACTOR_2));
  z = folded(z, 31);
  b.clearFastMathFlags();
  if (type->isFloatTy()) {
    Value* bits = b.CreateTrunc(b.CreateLShr(z, 40), as(b.getInt32Ty()));
    return b.CreateFMul(b.CreateSIToFP(bits, as(type)), llvm::ConstantFP::get(as(type), 0x1p-24));
  }
  if (type->isDoubleTy()) {
    return b.CreateFMul(b.CreateSIToFP(b.CreateLShr(z, 11), as(type)),
                        llvm::ConstantFP::get(as(type), 0x1p-53));
  }
  // The high bits are the better ones.
  return b.CreateTrunc(b.CreateLShr(z, 64 - type->getIntegerBitWidth()), as(type));
}

}  // namespace kiln
