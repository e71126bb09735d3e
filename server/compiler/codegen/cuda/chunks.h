// Chunks: iterations that follow each other along the innermost dimension of a loop, and that one
// thread runs one after the other. LLVM then joins their accesses to neighbouring elements, of
// which a device moves 16 bytes as fast as 4. Patches: chunks of as many rows that follow each
// other, which one thread runs row by row. An element that iterations of several rows read is then
// read once. Private to this folder.
//
// The iterations of a parallel loop have no order. Accesses of one iteration therefore need not
// wait for those of others, also where arrays overlap. Alias scopes of the iterations say so.
// Within an iteration, accesses keep the order that their memories ask for. LLVM thus gives what
// one iteration has read to another one that reads the same element, past what they store:
//   - If no iteration stores to what another one accesses, the scopes state the truth.
//   - If some do, the program leaves to chance whether a read finds what was there before a store
//     or after it. A read that is merged with an earlier one happens at the time of that one,
//     which is another order of the iterations' accesses: it finds what the element held then.
//   - An iteration that has stored to an element, or to what may be it, reads what it has stored:
//     the scopes say nothing of accesses of one iteration. A merged access is in the scopes of all
//     that it stands for, so it waits for the stores of each.
// Bodies have no atomics, whose old values tell in which order they came.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_CHUNKS_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_CHUNKS_H_

#include <tuple>
#include <utility>
#include <vector>

#include "llvm/ADT/SetVector.h"
#include "server/compiler/codegen/function_emitter.h"

namespace kiln::cuda {

class Chunks {
 public:
  // Of a task whose threads do not work together. Its chunks are of one iteration if accesses would
  // not be joined. That is so if the body is more than straight arithmetic between loads and stores
  // of neighbouring elements, or is long.
  explicit Chunks(ir::RangeTaskOp task);
  // Of a task that writes only what its blocks gather (histograms.h), draws no random numbers and
  // prints nothing. The accesses are those with which each iteration begins, and which may be made
  // ahead of all iterations of a chunk.
  static Chunks OfReads(ir::RangeTaskOp task);

  // Iterations of a chunk, a power of two. If there are several, a chunk begins where the index is
  // a multiple of that.
  int64_t length() const { return length_; }
  // The iterations of a chunk and the chunks of a patch, powers of two.
  struct Patch {
    int64_t length = 1, rows = 1;
  };
  // Its chunks are as long as the widest access. It has one row if the body is too long for more.
  Patch LargestPatch();
  // From now on, chunks are as long as those of the patch.
  void Take(const Patch& patch) { std::tie(length_, rows_) = std::pair(patch.length, patch.rows); }
  int64_t rows() const { return rows_; }  // of a patch
  // Emits an i1, the same for all threads: whether memory is aligned so that chunks pay.
  llvm::Value* EmitIsAligned(FunctionEmitter& f) const;
  // States the alignment and the scope of the accesses of iteration `number` of a chunk or, chunk
  // by chunk, of a patch. The iteration was emitted last, in code that runs only if EmitIsAligned's
  // value holds.
  void DescribeAccesses(FunctionEmitter& f, int64_t number);
  // Moves the stores of a patch, which has been emitted up to here, behind all its reads, unless
  // the body reads something after it has stored: that has to wait.
  void StoreLast(FunctionEmitter& f);

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
  int64_t rows_ = 1;
  int64_t widest_ = 1;  // iterations whose accesses are joined
  std::vector<Access> accesses_;
  llvm::SmallVector<ir::LoadOp> reads_;
  llvm::SmallSetVector<int64_t, 4> bases_;  // slots of addresses
  std::vector<Row> array_rows_;
  std::vector<llvm::StoreInst*> stores_;  // that have been described
  std::vector<Scope> scopes_;             // of the iterations of a chunk or patch
};

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_CHUNKS_H_
