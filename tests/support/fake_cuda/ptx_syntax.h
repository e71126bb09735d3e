// PTX as a tree: what ptx_parser.h makes of a text, and ptx_translator.h makes programs of.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_SYNTAX_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_SYNTAX_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kiln::fake_cuda {

enum class Space { kGeneric, kGlobal, kConst, kShared, kLocal, kParam };

struct PtxOperand {
  enum Kind { kRegister, kInteger, kFloat32, kFloat64, kSymbol, kVariable, kVector, kSink };
  Kind kind = kSink;
  int index = 0;                     // of a register or variable of the function
  uint64_t bits = 0;                 // of a number
  std::string name;                  // of a symbol; special registers are symbols, too
  int64_t offset = 0;                // [base+offset]
  bool negated = false;              // !%p
  bool address = false;              // in brackets
  std::vector<PtxOperand> elements;  // of {a, b}, of a list of a call; of a|b the second
};

struct PtxStatement {
  int line = 0;
  int guard = -1;  // a register
  bool guard_negated = false;
  std::string opcode;
  std::vector<std::string> modifiers;
  std::vector<PtxOperand> operands;
};

// A word of an initialiser that is an address.
struct PtxAddress {
  uint64_t at;  // offset in the variable
  std::string symbol;
  int64_t offset;
  int bytes;
};

struct PtxVariable {
  std::string name;
  Space space = Space::kGlobal;
  uint64_t bytes = 0, align = 1;
  bool external = false;
  std::vector<uint8_t> initial;  // shorter than `bytes`: the rest is zeros
  std::vector<PtxAddress> addresses;
};

struct PtxFunction {
  std::string name;
  int line = 0;
  bool entry = false, defined = false;
  std::vector<int> results, parameters;  // variables
  std::vector<std::string> registers;    // their types: "b32", "pred"
  std::vector<PtxVariable> variables;    // .param, .local and .shared
  std::vector<PtxStatement> body;
  std::map<std::string, int> labels;                       // index of the next statement
  std::map<std::string, std::vector<std::string>> tables;  // .branchtargets
  uint32_t required[3] = {0, 0, 0};                        // .reqntid
  uint32_t most_threads = 0;                               // .maxntid
};

struct PtxModule {
  std::vector<PtxVariable> variables;
  std::vector<PtxFunction> functions;  // declarations without a definition, too
};

}  // namespace kiln::fake_cuda

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_SYNTAX_H_
