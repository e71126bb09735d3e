// PTX in the form in which the emulator runs it. Plain data.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_PROGRAM_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_PROGRAM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kiln::ptx {

enum class Op : uint8_t {
  kAbs,
  kAdd,
  kAnd,
  kAtom,
  kBfe,
  kBfi,
  kBfind,
  kBra,
  kBrev,
  kCall,
  kClz,
  kCopysign,
  kCos,
  kCvt,
  kCvta,
  kDiv,
  kEx2,
  kExit,
  kFence,
  kFma,
  kLd,
  kLg2,
  kMad,
  kMax,
  kMin,
  kMov,
  kMul,
  kNeg,
  kNot,
  kOr,
  kPopc,
  kPrmt,
  kRcp,
  kRem,
  kRet,
  kRsqrt,
  kSelp,
  kSetp,
  kShf,
  kShl,
  kShr,
  kSin,
  kSqrt,
  kSt,
  kSub,
  kTestp,
  kTrap,
  kXor,
};

// The type of an operation: a kind of number and its bytes.
enum class Kind : uint8_t { kBits, kUnsigned, kSigned, kFloat, kPredicate };
struct Type {
  Kind kind = Kind::kBits;
  uint8_t bytes = 4;
};

enum class Space : uint8_t { kGeneric, kGlobal, kLocal, kParam, kConst, kShared };

enum class Special : uint8_t {
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
  kClock,
};

struct Operand {
  enum Form : uint8_t {
    kNone,
    kRegister,
    kNumber,     // immediate bits
    kSpecial,    // number: a Special
    kLocal,      // number: offset in the function's part of local memory
    kOwnParam,   // number: offset among the function's own parameters and result
    kCallParam,  // number: offset among those of the calls that it makes
    kGlobal,     // number: of Module::variables
  };
  Form form = kNone;
  int32_t reg = -1;    // also the base of an address
  int64_t number = 0;  // also the offset of an address
};

// The part of an operation's name after the first dot that is no type.
struct Modifiers {
  uint8_t compare = 0;  // setp: a Compare
  uint8_t combine = 0;  // setp: 0, or '&', '|', '^'
  char round = 0;       // integer rounding of cvt: 'n', 'z', 'm', 'p'; 0: none
  char direction = 0;   // of rounding floats: 'z', 'm', 'p'; 0: to nearest
  bool wide = false, high = false, saturate = false, flush = false, to = false, shift_left = false;
  bool clamp = false, nan = false;
  bool carry_in = false, carry_out = false;  // of integers
  uint8_t update = 0;                        // atom and red: an Update
  uint8_t vector = 1;
};

enum Compare : uint8_t {
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kEqu,
  kNeu,
  kLtu,
  kLeu,
  kGtu,
  kGeu,
  kNum,
  kNan
};
enum Update : uint8_t {
  kUpAdd,
  kUpAnd,
  kUpOr,
  kUpXor,
  kUpExch,
  kUpMin,
  kUpMax,
  kUpCas,
  kUpInc,
  kUpDec
};

struct Function;

struct Instruction {
  Op op = Op::kExit;
  Type type;    // of the result
  Type source;  // of the operands, where it differs: cvt, setp
  Space space = Space::kGeneric;
  Modifiers modifiers;
  int32_t predicate = -1;  // the register that must be true; -1: none
  bool negated = false;
  int32_t target = -1;  // bra: the number of an instruction
  Function* callee = nullptr;
  uint32_t line = 0;
  std::vector<Operand> to;    // registers
  std::vector<Operand> from;  // for atom and ld the address first, as for st
};

// A parameter or result: its place among those of its function or call.
struct Place {
  int64_t offset = 0, bytes = 0;
};

struct Function {
  std::string name;
  bool is_entry = false;
  std::vector<Instruction> code;
  std::vector<uint32_t> register_bytes;
  std::vector<Place> parameters;
  Place result;
  int64_t own_bytes = 0;   // of its parameters and result
  int64_t call_bytes = 0;  // of those of the calls that it makes
  int64_t local_bytes = 0;
  uint32_t most_threads = 0;  // of a block; 0: no limit
  // Calls: where each parameter and the result of an instruction is among `call_bytes`.
  std::map<size_t, std::vector<Place>> arguments;
};

struct Variable {
  std::string name;
  std::vector<uint8_t> bytes;
  uint64_t address = 0;  // once the module is loaded
};

struct Module {
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::vector<Variable> variables;
};

}  // namespace kiln::ptx

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_PROGRAM_H_
