// The runtime's facts about compiled code: a plain copy of proto::ArtifactInfo
// (proto/artifact.proto explains the fields), without the fields that only caches and people read.
#ifndef KILN_RUNTIME_KERNEL_INFO_H_
#define KILN_RUNTIME_KERNEL_INFO_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/artifact/target.h"

namespace kiln {

// The numbers of proto::TaskKind.
enum class TaskKind {
  kNone = 0,
  kSerial = 1,
  kRange = 2,
  kStruct = 3,
  kListgen = 5,
  kGc = 6,
};

// A field that a task adds to and does not otherwise use (proto::Scatter).
struct ScatterInfo {
  // The numbers of proto::Scatter::Number.
  enum class Number { kNone = 0, kI8 = 1, kI16 = 2, kI32 = 3, kI64 = 4, kF32 = 5, kF64 = 6 };
  uint32_t slot = 0;         // of the argument that is its address
  uint64_t bytes = 0;        // times the extent, if there is one
  uint32_t extent_slot = 0;  // of the argument that is its outermost extent; 0: none
  Number number = Number::kNone;
};

struct TaskInfo {
  TaskKind kind = TaskKind::kNone;
  std::string symbol;         // KilnTask (runtime/abi.h)
  std::string bounds_symbol;  // KilnBounds; range tasks without constant bounds
  bool constant_bounds = false;
  int64_t begin = 0, end = 0;
  uint32_t max_threads = 0;  // 0: as many as the launch allows
  uint32_t cost = 0;         // rough nanoseconds per iteration
  std::string alone_symbol;  // the same task without atomics; empty: none
  uint32_t tree = 0;         // struct, listgen and gc tasks: the tree and its node
  uint32_t node = 0;
  bool slices = false;
  uint64_t iterations = 0;     // struct tasks: per element of the list
  std::string finish_symbol;   // combines partial results; empty: none
  uint32_t partial_bytes = 0;  // of one piece
  uint64_t grain = 0;          // the least number of iterations per piece
  uint32_t block_dim = 0;      // threads of a block, on CUDA
  // On CUDA: the least iterations of a thread (0: one), and the most blocks, as a multiple of those
  // that run at once (0: any). Then, about how many iterations there are: so many times the
  // arguments in the slots.
  uint32_t items_per_thread = 0;
  uint32_t waves = 0;
  uint64_t length_factor = 0;  // 0: unknown
  std::vector<uint32_t> length_slots;
  bool recurses = false;  // on CUDA: functions call themselves
  bool joined = false;    // on CUDA: the last task before that is not joined runs this one, too
  // Not empty: threads may run alone_symbol at once, each with copies of these fields.
  std::vector<ScatterInfo> scatters;
};

// One 8-byte slot of the argument buffer (common/unit/argument_layout.h).
struct ArgumentSlot {
  // The numbers of proto::ArgumentSlot::Kind.
  enum class Kind { kValue = 0, kBase = 1, kExtent = 2, kTree = 3 };
  Kind kind = Kind::kValue;
  uint32_t param = 0;
  uint32_t element = 0;
  uint32_t scalar = 0;  // SlotScalar of a value
};

// Libraries and the versions of their symbols, such as {"libmvec.so.1", "GLIBC_2.35"}.
using LibraryVersions = std::vector<std::pair<std::string, std::string>>;

// Names of kernels, in errors of what they have started.
using NamesInErrors = std::shared_ptr<const std::vector<std::string>>;

struct KernelInfo {
  // Of the kernel, for messages: of the first one with this code, which may be that of another
  // program.
  std::string name;
  Target target;
  LibraryVersions needs;  // or newer
  uint64_t runtime_abi = 0;
  std::vector<TaskInfo> tasks;
  std::vector<ArgumentSlot> arguments;
  std::vector<uint32_t> results;  // SlotScalar of each result slot
  uint32_t temporary_bytes = 0;   // zeroed before each launch
  bool draws = false;             // random numbers
  bool tapes = false;             // of threads, on CUDA
  bool has_effects = false;       // prints
  bool can_fail = false;          // asserts
};

}  // namespace kiln

#endif  // KILN_RUNTIME_KERNEL_INFO_H_
