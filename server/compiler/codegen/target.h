// What differs between kinds of targets in the code of a kernel, and on the way from LLVM IR to
// what an entry holds. The rest of this folder is the same for all kinds and asks its Target.
//
// cpu/ and cuda/ implement it. Another one is a folder beside them, a case in MakeTarget and a row
// in CompiledTargets (common/artifact/target.h).
#ifndef KILN_SERVER_COMPILER_CODEGEN_TARGET_H_
#define KILN_SERVER_COMPILER_CODEGEN_TARGET_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/artifact/target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

// No header of MLIR or protobuf, and of LLVM only small ones: few files that include this one need
// more.
namespace llvm {
class DataLayout;
class Function;
class IRBuilderBase;
class Module;
class Type;
class Value;
}  // namespace llvm

namespace mlir {
class Operation;
}

namespace kiln {

class FunctionEmitter;
struct KernelState;
namespace proto {
class Task;
}
namespace ir {
class RangeTaskOp;
enum class AtomicKind : uint32_t;
}  // namespace ir

namespace codegen {

// What a launch passes to its tasks: pointers.
enum class LaunchField {
  kArguments,    // slots (common/unit/argument_layout.h)
  kResults,      // slots
  kTemporaries,  // zeroed bytes
  kFailed,       // u32: not 0 once the launch has failed
};

// What a task tells the client while it runs.
enum class Report { kPrint, kFail };

// The names of the functions that tasks call (kiln.function) begin with this.
inline constexpr char kFunctionPrefix[] = "function_";
// Metadata of vectorised loops whose vectors go past the caches. Such a loop stores to one address
// after the other, and the first one has this alignment.
inline constexpr char kStreamLoop[] = "kiln.stream";
inline constexpr int64_t kStreamAlignment = 64;
// Attribute of functions with loops over rows of which much is left over behind the last vector.
inline constexpr char kRaggedRows[] = "kiln-ragged-rows";
// Attribute of functions with so many lanes that SLP, which compares their accesses in pairs, would
// take most of the time. Lanes are vectors already.
inline constexpr char kManyLanes[] = "kiln-many-lanes";
// Attribute of functions whose vectors LLVM is to store by masks (cpu/vectorise.h).
inline constexpr char kMaskedStores[] = "kiln-masked-stores";

struct Options {
  uint32_t glibc = 0;     // Target.glibc
  int level = 3;          // of optimisation, 0 to 3
  bool fast_math = true;  // math functions may be wrong by up to 4 ulp
};

// Functions that emit code do so at the end of the builder's block, and may add blocks. A Target
// serves many kernels, one at a time: it is not thread-safe.
class Target {
 public:
  virtual ~Target() = default;

  // --- LLVM's names for the target
  virtual const char* triple() const = 0;
  virtual const llvm::DataLayout& data_layout() const = 0;

  // --- Entry form
  // An empty function that the runtime starts, for a task or a part of one. Its first parameter
  // leads to what the launch passes. The kernel's own functions hand it on as it is.
  virtual llvm::Function* NewTaskFunction(KernelState* state, const std::string& name) const = 0;
  // A pointer that the launch passes. `f` may ask often: it gets the same value.
  virtual llvm::Value* LaunchFieldIn(FunctionEmitter& f, LaunchField field) const = 0;

  // --- Iteration: how threads share the iterations of a task
  // Both emit the functions of a task and describe them in `task`, whose symbol is set. `number` is
  // the task's among those of the kernel.
  virtual void EmitRangeTask(KernelState* state, ir::RangeTaskOp op, int number,
                             proto::Task* task) const = 0;
  // Over the active cells of a sparse SNode.
  virtual void EmitStructTask(KernelState* state, ir::RangeTaskOp op, int number,
                              proto::Task* task) const = 0;

  // Whether the runtime may start the task and those that follow it as one. Starting such a task
  // costs more than what its threads could save.
  virtual bool Joins(const KernelState& /*state*/, mlir::Operation& /*task*/) const {
    return false;
  }
  // Makes one entry of the functions of such tasks, and describes it in the first of `tasks`; the
  // others are `joined`. Their reports have numbers from that of the first task on
  // (KernelState::part).
  virtual void EmitJoined(KernelState* /*state*/, llvm::ArrayRef<proto::Task*> /*tasks*/) const {}

  // Whether threads are the vectors, so that LLVM has nothing to vectorise in a thread's serial
  // loops. Their indices then count in 64 bits: code of addresses needs no conversions, which LLVM
  // would else repeat for each access.
  virtual bool HasThreadsForLanes() const { return false; }

  // --- Storage classes
  // Memory of the calling thread for `count` values. `entry` is in the function's first block.
  virtual llvm::Value* AllocateLocal(llvm::IRBuilderBase& entry, llvm::Type* type,
                                     int64_t count) const = 0;

  // Memory of a block of threads for `count` values, a pointer. Null: the target has no blocks.
  virtual llvm::Value* AllocateShared(KernelState* /*state*/, llvm::Type* /*type*/,
                                      int64_t /*count*/) const {
    return nullptr;
  }

  // --- Threads of a GPU
  // Emits a row of kSimtOps (common/language/simt_ops.h) by its name, and sets `result` if it has
  // one. False: the target has no such operation.
  virtual bool EmitSimt(FunctionEmitter& /*f*/, llvm::StringRef /*name*/,
                        llvm::ArrayRef<llvm::Value*> /*operands*/, llvm::Value** /*result*/) const {
    return false;
  }

  // --- Atomics
  // Updates the scalar at `pointer` by one instruction or a few, and returns what was there. Null:
  // the target has none for this kind and type, and the caller emits a loop of
  // compare-and-exchange. atomics.h has the kinds in LLVM's terms.
  virtual llvm::Value* EmitAtomic(llvm::IRBuilderBase& b, ir::AtomicKind kind, llvm::Value* pointer,
                                  llvm::Value* value) const = 0;
  // Whether one update of an aligned 8-byte word is cheaper than two additions to the f32 in it.
  virtual bool AddsFloatsInPairs() const = 0;

  // --- Math library
  // The value of an arith or math operation for which this target has code of its own. These are at
  // least the functions for which LLVM has no code on some targets (sin, pow). Null: the common
  // code serves. The builder has the operation's fast-math flags.
  virtual llvm::Value* EmitScalar(llvm::IRBuilderBase& b, mlir::Operation& op,
                                  llvm::ArrayRef<llvm::Value*> operands) const = 0;

  // Whether EmitScalar's code for a function of the math library is a few instructions, which take
  // vectors as well, and no call.
  virtual bool IsInline(mlir::Operation& /*op*/) const { return false; }

  // --- Lanes: iterations that one thread runs in lockstep, in vectors (lane_emitter.h)
  struct Lanes {
    int64_t count = 0;       // elements of 4 bytes in a vector; 0: one iteration at a time
    bool has_masks = false;  // registers for masks
  };
  virtual Lanes lanes() const { return {}; }
  // Loads of vectors' elements at `offsets`, i64 in bytes, behind `pointer`, where `mask` is set,
  // and zeros elsewhere. Null: loads one by one are faster, or the target has nothing else.
  virtual llvm::Value* EmitGather(llvm::IRBuilderBase& b, llvm::Type* element, llvm::Value* pointer,
                                  llvm::Value* offsets, llvm::Value* mask) const {
    return nullptr;
  }
  // The same for stores, in the order of lanes.
  virtual llvm::Value* EmitScatter(llvm::IRBuilderBase& b, llvm::Value* value, llvm::Value* pointer,
                                   llvm::Value* offsets, llvm::Value* mask) const {
    return nullptr;
  }
  // The function for vectors of `lanes` f32 or f64 that does what C's function `name` does for one
  // number. `name` is that for doubles. Empty: there is none.
  virtual std::string VectorFunction(const std::string& name, bool is_f64, int64_t lanes) const {
    return "";
  }

  // --- Reports
  // Hands `count` 8-byte `values`, of node `node`, to the client. After kFail the caller's code
  // ends the iteration.
  virtual void EmitReport(FunctionEmitter& f, Report report, int64_t node, int64_t count,
                          llvm::Value* values) const = 0;

  // --- Trees
  // Whether a plain load sees what other threads have stored earlier. If not, containers of trees
  // in which the task activates cells are read by loads that do.
  virtual bool LoadsSeeOtherThreads() const = 0;
  // Makes cell number `cell` of a container inactive. What else trees need is in the device
  // library.
  virtual void EmitDeactivate(FunctionEmitter& f, llvm::Value* node, llvm::Value* container,
                              llvm::Value* cell) const = 0;

  // --- Tapes: a stack of bytes of each thread
  // So many new ones, a multiple of 8, or null if there is no room. The last ones. Removes the last
  // ones.
  virtual llvm::Value* EmitTapePush(FunctionEmitter& f, llvm::Value* bytes) const = 0;
  virtual llvm::Value* EmitTapeTop(FunctionEmitter& f, llvm::Value* bytes) const = 0;
  virtual void EmitTapePop(FunctionEmitter& f, llvm::Value* bytes) const = 0;

  // --- Random numbers: each iteration that draws has a stream of its own
  // Memory of the calling thread for a stream: a pointer, since functions take it as one.
  virtual llvm::Value* NewRandomStream(FunctionEmitter& f) const = 0;
  // Starts the stream of iteration `index` of the kernel's task number `task`.
  virtual void StartRandom(FunctionEmitter& f, llvm::Value* stream, int task,
                           llvm::Value* index) const = 0;
  // The next number: floats in [0, 1), integers of all bits.
  virtual llvm::Value* EmitRandom(FunctionEmitter& f, llvm::Value* stream,
                                  llvm::Type* type) const = 0;

  // --- From LLVM IR to what an entry holds, in this order
  // Links the functions that `module` calls of the device library, and optimises. Only names in
  // `exported` stay visible.
  virtual absl::Status Optimize(llvm::Module& module, llvm::ArrayRef<std::string> exported) = 0;
  // What Link takes. May change `module`.
  virtual absl::StatusOr<llvm::SmallVector<char, 0>> EmitObject(llvm::Module& module) = 0;
  // The same as text, for people to read.
  virtual absl::StatusOr<std::string> EmitAssembly(const llvm::Module& module) = 0;

  struct Linked {
    std::string payload;
    std::map<std::string, std::string> needs;  // ArtifactInfo.needs
  };
  virtual absl::StatusOr<Linked> Link(llvm::ArrayRef<char> object) = 0;
};

// Sets LLVM up for `target`. Unimplemented: this compiler makes no code for it.
absl::StatusOr<std::unique_ptr<Target>> MakeTarget(kiln::Target target, const Options& options);

}  // namespace codegen
}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_TARGET_H_
