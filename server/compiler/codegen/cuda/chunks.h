// Chunks: iterations that follow each other along the innermost dimension of a loop, and that one
// thread runs one after the other. LLVM then joins their accesses to neighbouring elements, of
// which a device moves 16 bytes as fast as 4. Private to this folder.
//
// The iterations of a parallel loop have no order, so accesses of one iteration of a chunk need not
// wait for those of others, also where arrays overlap: alias scopes of the iterations say so.
// Within an iteration, accesses keep the order that their memories ask for.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_CHUNKS_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_CHUNKS_H_

#include <vector>

#include "llvm/ADT/SetVector.h"
#include "server/compiler/codegen/function_emitter.h"

namespace kiln::cuda {

class Chunks {
 public:
  // Of a task whose threads do not work together. Its chunks are of one iteration if accesses
  // would not be joined: if the body is more than straight arithmetic between loads and stores of
  // neighbouring elements, or is long.
  explicit Chunks(ir::RangeTaskOp task);
  // Of a task that writes nothing but what its blocks gather (histograms.h), and draws no random
  // numbers: accesses are those that each iteration begins with, and that may be made ahead of all
  // iterations of a chunk.
  static Chunks OfReads(ir::RangeTaskOp task);

  // Iterations of a chunk, a power of two. If there are several, a chunk begins where the index is
  // a multiple of that.
  int64_t length() const { return length_; }
  // Emits an i1, the same for all threads: whether memory is aligned so that chunks pay.
  llvm::Value* EmitIsAligned(FunctionEmitter& f) const;
  // States the alignment and the scope of the accesses of iteration `number` of a chunk, which has
  // been emitted last, in code that runs only if EmitIsAligned's value holds.
  void DescribeAccesses(FunctionEmitter& f, int64_t number);

  // Of OfReads, the reads, and one of them in iteration `number` of a chunk, for the indices that
  // are mapped now.
  llvm::ArrayRef<ir::LoadOp> reads() const { return reads_; }
  llvm::Value* EmitRead(FunctionEmitter& f, ir::LoadOp read, int64_t number) const;

 private:
  // What an access of an iteration says of the other iterations' accesses.
  struct Scope {
    llvm::MDNode *own, *others;
  };
  struct Access {
    mlir::Value address;
    int64_t bytes;  // of an element
    int64_t place;  // in elements, of what the first iteration of a chunk accesses
  };
  // The number of elements in a slot, which a row of an array has.
  struct Row {
    int64_t slot, bytes;
    bool operator==(const Row& other) const { return slot == other.slot && bytes == other.bytes; }
  };

  Chunks() = default;
  void SetLength();
  llvm::Align AlignOf(const Access& access, int64_t number) const;
  bool Add(ir::GlobalOp address);
  bool AddNdarray(ir::GlobalOp address, ir::NdarrayAttr array, Access access);
  bool AddDense(ir::GlobalOp address, ir::DenseAttr dense, Access access);
  bool AddBody();
  void MakeScopes(llvm::LLVMContext& context);

  ir::RangeTaskOp task_;
  ir::KernelOp kernel_;
  int64_t length_ = 1;
  std::vector<Access> accesses_;
  llvm::SmallVector<ir::LoadOp> reads_;
  llvm::SmallSetVector<int64_t, 4> bases_;  // slots of addresses
  std::vector<Row> rows_;
  std::vector<Scope> scopes_;  // of the iterations of a chunk
};

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_CHUNKS_H_
