// PTX as the executor runs it: functions of compact instructions with resolved operands.
//
// A register holds its value for the 32 lanes of a warp side by side; a predicate is one mask of
// 32 bits. An operand is an offset from one of three bases, whose number is in its lowest bits.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_PROGRAM_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_PROGRAM_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kiln::fake_cuda {

class Warp;
struct Instruction;
using Handler = void (*)(Warp&, const Instruction&);

inline constexpr int kLanes = 32;
inline constexpr int kFrameBase = 0, kConstantBase = 1, kSpecialBase = 2, kBases = 3;
inline constexpr int32_t kNoOperand = -1;

// Generic addresses of shared, local and parameter memory begin at these. No host or device
// pointer is as large.
inline constexpr uint64_t kSharedWindow = 0x00a0'0000'0000'0000;
inline constexpr uint64_t kLocalWindow = 0x00b0'0000'0000'0000;
inline constexpr uint64_t kParamWindow = 0x00c0'0000'0000'0000;
inline constexpr uint64_t kWindowBytes = 0x0001'0000'0000'0000;
// Function pointers: this and the function's number.
inline constexpr uint64_t kFunctionWindow = 0x00d0'0000'0000'0000;

// Special registers, in the order of their places behind kSpecialBase.
enum Special {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kNwarpId,
  kSmId,
  kNsmId,
  kGridId,
  kLaneMaskEq,
  kLaneMaskLt,
  kLaneMaskLe,
  kLaneMaskGt,
  kLaneMaskGe,
  kDynamicShared,
  kTotalShared,
  kSpecials,
};

enum class Control : uint8_t {
  kNone,
  kBranch,
  kTable,  // brx.idx
  kCall,
  kReturn,
  kExit,
  kTrap,
  kBarrier,   // of the block
  kConverge,  // runs once all lanes that s[0] names are here
  kYield,     // others of the warp go on first
};

struct Instruction {
  Handler run = nullptr;
  int32_t d = kNoOperand, d2 = kNoOperand;
  int32_t s[4] = {kNoOperand, kNoOperand, kNoOperand, kNoOperand};
  int32_t guard = kNoOperand;
  bool guard_negated = false;
  bool is_ordered = false;  // a volatile or relaxed access
  Control control = Control::kNone;
  uint32_t line = 0;   // of the PTX
  int32_t target = 0;  // place in the code, or of a table or call in its list
  uint32_t flags = 0;  // of the handler
  int64_t offset = 0;  // of addresses
};

struct Span {
  uint64_t offset, bytes;
};

struct Call {
  int function;                          // -1: s[0] holds its address
  std::vector<Span> arguments, results;  // in the caller's local memory
};

struct Function {
  std::string name;
  bool entry = false, defined = false;
  std::vector<Instruction> code;
  std::vector<uint64_t> constants;  // behind kConstantBase
  std::vector<std::vector<int32_t>> tables;
  std::vector<Call> calls;
  uint64_t frame_bytes = 0;      // of registers
  uint64_t local_bytes = 0;      // of one lane
  std::vector<Span> parameters;  // an entry's in the buffer of a launch, else in local memory
  std::vector<Span> results;
  uint64_t parameter_bytes = 0;
  uint32_t required[3] = {0, 0, 0};
  uint32_t most_threads = 0;
  int registers = 0;
};

struct Global {
  std::string name;
  uint64_t address, bytes;
};

struct Program {
  int64_t number = 0;  // of the modules of the process, from 1
  std::vector<Function> functions;
  std::vector<Global> globals;
  uint64_t shared_bytes = 0;  // of variables of fixed size; those of the launch follow
};

}  // namespace kiln::fake_cuda

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_PROGRAM_H_
