// Streams of random numbers, by the device library: the same numbers on all targets. Private to
// this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_RANDOM_STREAMS_H_
#define KILN_SERVER_COMPILER_CODEGEN_RANDOM_STREAMS_H_

#include "server/compiler/codegen/function_emitter.h"

namespace kiln {

// codegen::Target's NewRandomStream, StartRandom (of the launch whose number is `launch`, an i64)
// and EmitRandom.
llvm::Value* NewStream(FunctionEmitter& f);
void StartStream(FunctionEmitter& f, llvm::Value* stream, llvm::Value* launch, int task,
                 llvm::Value* index);
llvm::Value* DrawFrom(FunctionEmitter& f, llvm::Value* stream, llvm::Type* type);

// The same with the streams of several iterations: their states are vectors, or scalars for one.
struct StreamState {
  llvm::Value *counter, *key;  // i64
};
StreamState LoadStream(FunctionEmitter& f, llvm::Value* stream);
// By so much the counters of two neighbouring iterations differ.
uint64_t IterationStep();
// The next numbers; `type` is one of them. Moves the counters on. Requires: no f16.
llvm::Value* DrawFrom(llvm::IRBuilder<>& b, StreamState* state, llvm::Type* type);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_RANDOM_STREAMS_H_
