// What instructions do: finds the handler of an opcode and the types of its operands.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_OPERATIONS_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_OPERATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/ptx_program.h"
#include "tests/support/fake_cuda/ptx_syntax.h"

namespace kiln::fake_cuda {

enum class Type {
  kNone,
  kPred,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kF16x2,
  kBf16,
  kBf16x2,
  kF32,
  kF64,
};

// 0 for predicates.
int BytesOf(Type type);
bool IsSigned(Type type);
// kNone if the word is no type. b8 to b64 are unsigned integers.
Type TypeNamed(const std::string& word);

// Instruction::flags of floating-point operations, beside others.
inline constexpr uint32_t kFlush = 1, kSaturate = 2, kRoundShift = 2, kRoundMask = 12;
enum Rounding : uint32_t { kNearest, kTowardZero, kDown, kUp };

struct Opcode {
  std::string name;
  std::vector<std::string> modifiers;
  bool Has(const char* modifier) const;
  std::vector<Type> Types() const;  // among the modifiers, in order
  uint32_t Flags() const;           // kFlush, kSaturate and the rounding
  Space MemorySpace() const;
};

// A handler, with the types in which it takes its operands. `run` is null: not supported.
struct Operation {
  Handler run = nullptr;
  Type d = Type::kNone;
  std::vector<Type> s;
  uint32_t flags = 0;
  Control control = Control::kNone;
};

// Each finds what it knows, without accesses to memory.
Operation FindInteger(const Opcode& opcode);
Operation FindFloat(const Opcode& opcode);
Operation FindCompare(const Opcode& opcode);  // setp, set, selp, slct, predicates
Operation FindConvert(const Opcode& opcode);
Operation FindWarpOperation(const Opcode& opcode);
// The first of them that knows it.
Operation FindOperation(const Opcode& opcode);

// Accesses: s[0] is the address, to which Instruction::offset is added, then values.
// Instruction::flags is the alignment of loads and stores.
Operation FindLoad(Type type, Space space);   // d <- [s0]
Operation FindStore(Type type, Space space);  // [s0] <- s1
Operation FindAtomic(const Opcode& opcode);

// Of the translator's own: copies, widens or narrows a register; reads the base of local memory.
Handler FindResize(Type from, int to_bytes);
Handler LocalAddress();            // d (u64) <- address of the frame's byte `offset`
Handler CombineHalves(int parts);  // d <- s[0], s[1], ... side by side; `flags` is a part's bytes
Handler TakePart();                // d <- part `offset` of s[0]; `flags` is its bytes

}  // namespace kiln::fake_cuda

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_OPERATIONS_H_
