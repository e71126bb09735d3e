#include "tests/support/fake_cuda/ptx_translator.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "tests/support/fake_cuda/operations.h"
#include "tests/support/fake_cuda/warp.h"

namespace kiln::fake_cuda {
namespace {

uint64_t AlignUp(uint64_t value, uint64_t align) {
  return align <= 1 ? value : (value + align - 1) / align * align;
}

struct Symbol {
  enum Kind { kAddress, kShared, kFunction };
  Kind kind;
  uint64_t value;
};

using Symbols = std::map<std::string, Symbol>;

int SpecialNamed(const std::string& name) {
  static const char* const kNames[kSpecials] = {
      "%tid.x",           "%tid.y",       "%tid.z",       "%ntid.x",
      "%ntid.y",          "%ntid.z",      "%ctaid.x",     "%ctaid.y",
      "%ctaid.z",         "%nctaid.x",    "%nctaid.y",    "%nctaid.z",
      "%laneid",          "%warpid",      "%nwarpid",     "%smid",
      "%nsmid",           "%gridid",      "%lanemask_eq", "%lanemask_lt",
      "%lanemask_le",     "%lanemask_gt", "%lanemask_ge", "%dynamic_smem_size",
      "%total_smem_size",
  };
  for (int n = 0; n < kSpecials; ++n) {
    if (name == kNames[n]) return n;
  }
  return -1;
}

void ReadClock(Warp& warp, const Instruction& in) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto value =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  EachLane(warp.exec, [&](int lane) { warp.At<uint64_t>(in.d)[lane] = value; });
}

class FunctionTranslator {
 public:
  FunctionTranslator(const PtxFunction& source, const Symbols& symbols,
                     const std::vector<uint64_t>& shared, const Program& program, Function* out)
      : source_(source), symbols_(symbols), shared_(shared), program_(program), out_(out) {}

  bool Run(std::string* error) {
    PlaceRegisters();
    std::vector<int> places;
    for (const PtxStatement& statement : source_.body) {
      places.push_back(static_cast<int>(out_->code.size()));
      statement_ = &statement;
      Translate(statement);
      if (error_.empty()) continue;
      *error = "line " + std::to_string(statement.line) + ": " + error_ + " (" + statement.opcode;
      for (const std::string& word : statement.modifiers) *error += "." + word;
      *error += ")";
      return false;
    }
    places.push_back(static_cast<int>(out_->code.size()));
    Instruction end;
    end.control = Control::kReturn;
    end.line = source_.body.empty() ? source_.line : source_.body.back().line;
    out_->code.push_back(end);
    for (Instruction& in : out_->code) {
      if (in.control == Control::kBranch) in.target = places[in.target];
    }
    // The first load of a loop of compare-and-swaps need not be ordered: a wrong value costs a
    // turn.
    for (const size_t load : loads_) {
      Instruction& in = out_->code[load];
      in.is_ordered |= swapped_.count({in.s[0], in.offset}) != 0;
    }
    for (auto& table : out_->tables) {
      for (int32_t& target : table) target = places[target];
    }
    return true;
  }

  // Places parameters and other variables in local memory. A function's callers need this first.
  static void PlaceVariables(const PtxFunction& source, Function* out,
                             std::vector<uint64_t>* offsets) {
    uint64_t parameters = 0;
    offsets->assign(source.variables.size(), 0);
    const auto is_parameter = [&](size_t n) {
      return std::count(source.parameters.begin(), source.parameters.end(), static_cast<int>(n));
    };
    for (size_t n = 0; n < source.variables.size(); ++n) {
      const PtxVariable& variable = source.variables[n];
      if (variable.space == Space::kShared) continue;
      uint64_t& bytes = source.entry && is_parameter(n) != 0 ? parameters : out->local_bytes;
      bytes = AlignUp(bytes, variable.align);
      (*offsets)[n] = bytes;
      bytes += variable.bytes;
    }
    out->local_bytes = AlignUp(out->local_bytes, 16);
    out->parameter_bytes = parameters;
    const auto spans = [&](const std::vector<int>& list, std::vector<Span>* to) {
      for (const int n : list) to->push_back({(*offsets)[n], source.variables[n].bytes});
    };
    spans(source.parameters, &out->parameters);
    spans(source.results, &out->results);
  }

  std::vector<uint64_t> offsets;  // of variables

 private:
  void Fail(const std::string& what) {
    if (error_.empty()) error_ = what;
  }

  int32_t NewRegister(int bytes) {
    const uint64_t at = out_->frame_bytes;
    out_->frame_bytes += AlignUp(bytes == 0 ? 4 : bytes * kLanes, 64);
    return static_cast<int32_t>(at) | kFrameBase;
  }

  void PlaceRegisters() {
    for (const std::string& name : source_.registers) {
      const Type type = TypeNamed(name);
      types_.push_back(type);
      places_.push_back(NewRegister(BytesOf(type)));
    }
    carry_ = NewRegister(0);
    out_->registers = static_cast<int>(std::min<size_t>(255, source_.registers.size()));
  }

  // Zeros of the same width share a place, as other equal constants do.
  int32_t Constant(uint64_t bits, int bytes) {
    if (bytes < 8) bits &= bytes == 0 ? 0xffffffff : (uint64_t{1} << (8 * bytes)) - 1;
    const auto key = std::make_pair(bits, bytes);
    const auto found = constants_.find(key);
    if (found != constants_.end()) return found->second;
    const size_t at = out_->constants.size() * 8;
    std::vector<uint64_t> lanes(bytes == 0 ? 1 : bytes * kLanes / 8);
    auto* to = reinterpret_cast<uint8_t*>(lanes.data());
    if (bytes == 0) std::memcpy(to, &bits, 4);
    for (int lane = 0; lane < kLanes && bytes != 0; ++lane) {
      std::memcpy(to + lane * bytes, &bits, bytes);
    }
    out_->constants.insert(out_->constants.end(), lanes.begin(), lanes.end());
    return constants_[key] = static_cast<int32_t>(at) | kConstantBase;
  }

  Instruction& Emit(Handler run) {
    Instruction in;
    in.run = run;
    in.line = statement_->line;
    if (statement_->guard >= 0) {
      in.guard = places_[statement_->guard];
      in.guard_negated = statement_->guard_negated;
    }
    out_->code.push_back(in);
    return out_->code.back();
  }

  int32_t Resize(int32_t from, Type from_type, int to_bytes) {
    const int32_t to = NewRegister(to_bytes);
    Instruction& in = Emit(FindResize(from_type, to_bytes));
    in.s[0] = from;
    in.d = to;
    return to;
  }

  static Type Bits(int bytes, bool is_signed = false) {
    switch (bytes) {
      case 1:
        return is_signed ? Type::kS8 : Type::kU8;
      case 2:
        return is_signed ? Type::kS16 : Type::kU16;
      case 4:
        return is_signed ? Type::kS32 : Type::kU32;
      default:
        return is_signed ? Type::kS64 : Type::kU64;
    }
  }

  bool InParameterBuffer(int variable) const {
    return source_.entry &&
           std::count(source_.parameters.begin(), source_.parameters.end(), variable) != 0;
  }

  // The address of a variable or symbol, in its own space.
  int32_t AddressOf(const PtxOperand& operand, int bytes) {
    if (operand.kind == PtxOperand::kVariable) {
      const PtxVariable& variable = source_.variables[operand.index];
      if (variable.space == Space::kShared) {
        return Constant(shared_[operand.index] + operand.offset, bytes);
      }
      const uint64_t offset = offsets[operand.index] + operand.offset;
      if (InParameterBuffer(operand.index)) return Constant(offset, bytes);
      const int32_t to = NewRegister(8);
      Instruction& in = Emit(LocalAddress());
      in.d = to;
      in.offset = static_cast<int64_t>(offset);
      return bytes == 8 ? to : Resize(to, Type::kU64, bytes);
    }
    const auto found = symbols_.find(operand.name);
    if (found == symbols_.end()) {
      Fail("'" + operand.name + "' is not declared");
      return kNoOperand;
    }
    return Constant(found->second.value + operand.offset, bytes);
  }

  int32_t Source(const PtxOperand& operand, Type type) {
    const int bytes = BytesOf(type);
    switch (operand.kind) {
      case PtxOperand::kRegister:
        return SourceRegister(operand, type);
      case PtxOperand::kInteger:
        if (type == Type::kPred) return Constant(operand.bits != 0 ? ~0u : 0, 0);
        return Constant(operand.bits, bytes);
      case PtxOperand::kFloat32:
        if (bytes != 4) Fail("a float of the wrong size");
        return Constant(operand.bits, bytes);
      case PtxOperand::kFloat64:
        if (bytes == 4) {
          double value;
          std::memcpy(&value, &operand.bits, 8);
          const auto narrow = static_cast<float>(value);
          uint32_t bits;
          std::memcpy(&bits, &narrow, 4);
          return Constant(bits, 4);
        }
        if (bytes != 8) Fail("a float of the wrong size");
        return Constant(operand.bits, bytes);
      case PtxOperand::kSymbol:
        return SourceSymbol(operand, bytes);
      case PtxOperand::kVariable:
        return AddressOf(operand, bytes);
      default:
        Fail("an operand is missing");
        return kNoOperand;
    }
  }

  int32_t SourceRegister(const PtxOperand& operand, Type type) {
    const int32_t at = places_[operand.index];
    const Type have = types_[operand.index];
    if ((type == Type::kPred) != (have == Type::kPred)) {
      Fail("'" + operand.name + "' has the wrong type");
      return at;
    }
    if (type == Type::kPred) {
      if (!operand.negated) return at;
      const int32_t to = NewRegister(0);
      Instruction& in = Emit(FindInteger({"not", {"pred"}}).run);
      in.s[0] = at;
      in.d = to;
      return to;
    }
    if (BytesOf(have) == BytesOf(type)) return at;
    return Resize(at, Bits(BytesOf(have), IsSigned(type)), BytesOf(type));
  }

  int32_t SourceSymbol(const PtxOperand& operand, int bytes) {
    const std::string& name = operand.name;
    if (name == "WARP_SZ") return Constant(kLanes, bytes);
    if (name == "%clock" || name == "%clock64" || name == "%globaltimer" ||
        name == "%globaltimer_lo") {
      const int32_t to = NewRegister(8);
      Emit(ReadClock).d = to;
      return bytes == 8 ? to : Resize(to, Type::kU64, bytes);
    }
    const int special = SpecialNamed(name);
    if (special >= 0) {
      const int32_t at = special * kLanes * 4 | kSpecialBase;
      return bytes == 4 ? at : Resize(at, Type::kU32, bytes);
    }
    return AddressOf(operand, bytes);
  }

  // Where an instruction stores a result of `type`; *narrow is what Finish must widen.
  int32_t Destination(const PtxOperand& operand, Type type) {
    const int bytes = BytesOf(type);
    if (operand.kind == PtxOperand::kSink) return NewRegister(bytes);
    if (operand.kind != PtxOperand::kRegister) {
      Fail("the result is no register");
      return kNoOperand;
    }
    const Type have = types_[operand.index];
    if ((type == Type::kPred) != (have == Type::kPred)) Fail("the result has the wrong type");
    if (BytesOf(have) == bytes) return places_[operand.index];
    const int32_t at = NewRegister(bytes);
    widen_.push_back({at, Bits(bytes, IsSigned(type)), places_[operand.index], BytesOf(have)});
    return at;
  }

  void Finish() {
    for (const Widening& w : widen_) {
      Instruction& in = Emit(FindResize(w.type, w.bytes));
      in.s[0] = w.from;
      in.d = w.to;
    }
    widen_.clear();
  }

  void Translate(const PtxStatement& statement) {
    const Opcode opcode{statement.opcode, statement.modifiers};
    const std::string& name = statement.opcode;
    if (name == "ld" || name == "ldu") return LoadOrStore(opcode, true);
    if (name == "st") return LoadOrStore(opcode, false);
    if (name == "atom" || name == "red") return Atomic(opcode);
    if (name == "bra") return Branch(statement);
    if (name == "brx") return BranchByTable(statement);
    if (name == "call") return CallFunction(statement);
    if (name == "ret") return ControlOnly(Control::kReturn);
    if (name == "exit") return ControlOnly(Control::kExit);
    if (name == "trap" || name == "brkpt") return ControlOnly(Control::kTrap);
    if (name == "cvta") return ConvertAddress(opcode);
    if (name == "isspacep") return IsSpace(opcode);
    if (name == "barrier" || (name == "bar" && !opcode.Has("warp"))) return BlockBarrier(opcode);
    if (name == "prefetch" || name == "prefetchu" || name == "discard" || name == "pragma") return;
    if (name == "mov" && !statement.operands.empty() && MoveVector(opcode)) return;
    Ordinary(opcode);
  }

  void ControlOnly(Control control) { Emit(nullptr).control = control; }

  void Ordinary(const Opcode& opcode) {
    const Operation op = FindOperation(opcode);
    if (op.run == nullptr) return Fail("the emulator does not support this instruction");
    std::vector<PtxOperand> operands = statement_->operands;
    size_t next = op.d == Type::kNone ? 0 : 1;
    // Lanes that wait for each other name theirs last; handlers take the mask first.
    if (op.control == Control::kConverge && operands.size() > next + 1) {
      std::rotate(operands.begin() + static_cast<std::ptrdiff_t>(next), operands.end() - 1,
                  operands.end());
    }
    if (operands.size() != next + op.s.size()) {
      if (opcode.name == "nanosleep" || opcode.name == "fence" || opcode.name == "membar") return;
      return Fail("expected " + std::to_string(next + op.s.size()) + " operands");
    }
    int32_t sources[4] = {kNoOperand, kNoOperand, kNoOperand, kNoOperand};
    uint32_t flags = op.flags;
    for (size_t n = 0; n < op.s.size(); ++n) sources[n] = Source(operands[next + n], op.s[n]);
    int32_t d = kNoOperand, d2 = kNoOperand;
    if (next == 1) {
      const PtxOperand& result = operands[0];
      d = Destination(result, op.d);
      if (!result.elements.empty() && result.kind != PtxOperand::kVector) {
        d2 = Destination(result.elements[0], Type::kPred);
      }
      if (opcode.Has("cc") || opcode.name == "addc" || opcode.name == "subc" ||
          opcode.name == "madc") {
        d2 = carry_;
      }
    }
    if (!error_.empty()) return;
    Instruction& in = Emit(op.run);
    in.control = op.control;
    in.d = d;
    in.d2 = d2;
    in.flags = flags;
    std::copy(std::begin(sources), std::end(sources), in.s);
    Finish();
  }

  // The space of an access, and its address as the base and Instruction::offset.
  Space Address(const PtxOperand& operand, Space space, int32_t* base, int64_t* offset) {
    PtxOperand address = operand;
    *offset = 0;
    if (space == Space::kParam) {
      const bool in_buffer =
          operand.kind == PtxOperand::kVariable ? InParameterBuffer(operand.index) : source_.entry;
      space = in_buffer ? Space::kParam : Space::kLocal;
    }
    if (operand.kind == PtxOperand::kRegister || operand.kind == PtxOperand::kInteger) {
      std::swap(*offset, address.offset);
    }
    *base = Source(address, Type::kU64);
    if (space == Space::kGeneric && operand.kind == PtxOperand::kVariable) {
      const Space declared = source_.variables[operand.index].space;
      return declared == Space::kParam && !InParameterBuffer(operand.index) ? Space::kLocal
                                                                            : declared;
    }
    return space;
  }

  void LoadOrStore(const Opcode& opcode, bool load) {
    const std::vector<Type> types = opcode.Types();
    const std::vector<PtxOperand>& operands = statement_->operands;
    if (types.size() != 1 || operands.size() != 2) return Fail("unexpected operands");
    const PtxOperand& at = operands[load ? 1 : 0];
    PtxOperand value = operands[load ? 0 : 1];
    std::vector<PtxOperand> parts{value};
    if (value.kind == PtxOperand::kVector) parts = value.elements;
    int32_t base = kNoOperand;
    int64_t offset = 0;
    const Space space = Address(at, opcode.MemorySpace(), &base, &offset);
    const Operation op = load ? FindLoad(types[0], space) : FindStore(types[0], space);
    if (op.run == nullptr) return Fail("the emulator does not support this access");
    const auto bytes = static_cast<int64_t>(op.flags);
    const auto align = static_cast<uint32_t>(bytes * static_cast<int64_t>(parts.size()));
    // The first loaded part must not overwrite the address.
    if (load && parts.size() > 1) base = Copy(base);
    const bool is_ordered = opcode.Has("volatile") || opcode.Has("relaxed") ||
                            opcode.Has("acquire") || opcode.Has("release");
    for (size_t n = 0; n < parts.size() && error_.empty(); ++n) {
      const int32_t operand = load ? Destination(parts[n], types[0]) : Source(parts[n], types[0]);
      Instruction& in = Emit(op.run);
      in.s[0] = base;
      (load ? in.d : in.s[1]) = operand;
      in.offset = offset + static_cast<int64_t>(n) * bytes;
      in.flags = n == 0 ? align : static_cast<uint32_t>(bytes);
      in.is_ordered = is_ordered;
      if (load) loads_.push_back(out_->code.size() - 1);
      Finish();
    }
  }

  int32_t Copy(int32_t from) {
    const int32_t to = NewRegister(8);
    Instruction& in = Emit(FindInteger({"mov", {"u64"}}).run);
    in.s[0] = from;
    in.d = to;
    return to;
  }

  void Atomic(const Opcode& opcode) {
    const Operation op = FindAtomic(opcode);
    const std::vector<PtxOperand>& operands = statement_->operands;
    const size_t next = opcode.name == "atom" ? 1 : 0;
    if (op.run == nullptr) return Fail("the emulator does not support this atomic");
    if (operands.size() != next + op.s.size()) return Fail("unexpected operands");
    int32_t base = kNoOperand;
    int64_t offset = 0;
    Address(operands[next], opcode.MemorySpace(), &base, &offset);
    int32_t sources[4] = {base, kNoOperand, kNoOperand, kNoOperand};
    for (size_t n = 1; n < op.s.size(); ++n) sources[n] = Source(operands[next + n], op.s[n]);
    const int32_t d = next == 1 ? Destination(operands[0], op.d) : kNoOperand;
    Instruction& in = Emit(op.run);
    in.d = d;
    in.offset = offset;
    std::copy(std::begin(sources), std::end(sources), in.s);
    if (opcode.Has("cas")) swapped_.insert({base, offset});
    Finish();
  }

  int Target(const std::string& label) {
    const auto found = source_.labels.find(label);
    if (found == source_.labels.end()) {
      Fail("there is no label '" + label + "'");
      return 0;
    }
    return found->second;
  }

  void Branch(const PtxStatement& statement) {
    if (statement.operands.size() != 1) return Fail("unexpected operands");
    const int target = Target(statement.operands[0].name);
    Instruction& in = Emit(nullptr);
    in.control = Control::kBranch;
    in.target = target;
  }

  void BranchByTable(const PtxStatement& statement) {
    if (statement.operands.size() != 2) return Fail("unexpected operands");
    const auto found = source_.tables.find(statement.operands[1].name);
    if (found == source_.tables.end()) return Fail("there is no such table of labels");
    const int32_t index = Source(statement.operands[0], Type::kU32);
    std::vector<int32_t> table;
    for (const std::string& label : found->second) table.push_back(Target(label));
    Instruction& in = Emit(nullptr);
    in.control = Control::kTable;
    in.s[0] = index;
    in.target = static_cast<int32_t>(out_->tables.size());
    out_->tables.push_back(std::move(table));
  }

  std::vector<Span> Spans(const PtxOperand& list) {
    std::vector<Span> spans;
    for (const PtxOperand& operand : list.elements) {
      if (operand.kind != PtxOperand::kVariable) {
        Fail("an argument that is no .param variable");
      } else {
        spans.push_back({offsets[operand.index], source_.variables[operand.index].bytes});
      }
    }
    return spans;
  }

  void CallFunction(const PtxStatement& statement) {
    const std::vector<PtxOperand>& operands = statement.operands;
    Call call{-1, {}, {}};
    size_t next = 0;
    if (next < operands.size() && operands[next].kind == PtxOperand::kVector) {
      call.results = Spans(operands[next++]);
    }
    if (next >= operands.size()) return Fail("a call of nothing");
    const PtxOperand& callee = operands[next++];
    if (next < operands.size() && operands[next].kind == PtxOperand::kVector) {
      call.arguments = Spans(operands[next]);
    }
    int32_t pointer = kNoOperand;
    if (callee.kind == PtxOperand::kRegister) {
      pointer = Source(callee, Type::kU64);
    } else {
      const auto found = symbols_.find(callee.name);
      if (found == symbols_.end() || found->second.kind != Symbol::kFunction) {
        return Fail("there is no function '" + callee.name + "'");
      }
      call.function = static_cast<int>(found->second.value - kFunctionWindow);
      if (!program_.functions[call.function].defined) {
        return Fail("function '" + callee.name + "' is declared but not defined");
      }
    }
    Instruction& in = Emit(nullptr);
    in.control = Control::kCall;
    in.s[0] = pointer;
    in.target = static_cast<int32_t>(out_->calls.size());
    out_->calls.push_back(std::move(call));
  }

  void ConvertAddress(const Opcode& opcode) {
    if (statement_->operands.size() != 2) return Fail("unexpected operands");
    uint64_t window = 0;
    const Space space = opcode.MemorySpace();
    if (space == Space::kShared) window = kSharedWindow;
    if (space == Space::kLocal) window = kLocalWindow;
    if (space == Space::kParam) window = source_.entry ? kParamWindow : kLocalWindow;
    const int32_t from = Source(statement_->operands[1], Type::kU64);
    const int32_t to = Destination(statement_->operands[0], Type::kU64);
    const bool back = opcode.Has("to");
    const int32_t by = Constant(back ? 0 - window : window, 8);
    Instruction& in = Emit(FindInteger({"add", {"u64"}}).run);
    in.s[0] = from;
    in.s[1] = by;
    in.d = to;
    Finish();
  }

  void IsSpace(const Opcode& opcode) {
    if (statement_->operands.size() != 2) return Fail("unexpected operands");
    const Space space = opcode.MemorySpace();
    const int32_t from = Source(statement_->operands[1], Type::kU64);
    const int32_t to = Destination(statement_->operands[0], Type::kPred);
    const int32_t high = NewRegister(8);
    Instruction& shift = Emit(FindInteger({"shr", {"u64"}}).run);
    shift.s[0] = from;
    shift.s[1] = Constant(48, 4);
    shift.d = high;
    const bool other = space == Space::kGlobal || space == Space::kConst;
    const uint64_t window = space == Space::kShared  ? kSharedWindow
                            : space == Space::kLocal ? kLocalWindow
                            : space == Space::kParam ? kParamWindow
                                                     : kSharedWindow;
    const Operation compare = FindCompare({"setp", {other ? "lt" : "eq", "u64"}});
    const int32_t by = Constant(window >> 48, 8);
    Instruction& in = Emit(compare.run);
    in.flags = compare.flags;
    in.s[0] = high;
    in.s[1] = by;
    in.d = to;
  }

  void BlockBarrier(const Opcode& opcode) {
    const std::vector<PtxOperand>& operands = statement_->operands;
    const bool reduces = opcode.Has("red");
    size_t next = reduces ? 1 : 0;
    size_t end = operands.size();
    int32_t vote = kNoOperand, result = kNoOperand;
    uint32_t flags = 0;
    if (reduces) {
      if (operands.size() < 3) return Fail("unexpected operands");
      vote = Source(operands[--end], Type::kPred);
      flags = opcode.Has("popc") ? 0 : opcode.Has("and") ? 1 : 2;
      result = Destination(operands[0], flags == 0 ? Type::kU32 : Type::kPred);
    }
    if (opcode.Has("arrive")) flags |= 16;
    if (next >= end || end - next > 2) return Fail("unexpected operands");
    const int32_t number = Source(operands[next], Type::kU32);
    const int32_t count =
        next + 1 < end ? Source(operands[next + 1], Type::kU32) : int32_t{kNoOperand};
    Instruction& in = Emit(nullptr);
    in.control = Control::kBarrier;
    in.s[0] = number;
    in.s[1] = count;
    in.s[2] = vote;
    in.d = result;
    in.flags = flags;
  }

  // mov.b64 %rd, {%r1, %r2} and mov.b64 {%r1, %r2}, %rd. False: a mov of another kind.
  bool MoveVector(const Opcode& opcode) {
    const std::vector<PtxOperand>& operands = statement_->operands;
    const std::vector<Type> types = opcode.Types();
    if (operands.size() != 2 || types.size() != 1) return false;
    const int whole = BytesOf(types[0]);
    if (operands[1].kind == PtxOperand::kVector) {
      const auto parts = static_cast<int>(operands[1].elements.size());
      if (parts != 2 && parts != 4) return false;
      int32_t sources[4] = {kNoOperand, kNoOperand, kNoOperand, kNoOperand};
      for (int n = 0; n < parts; ++n) {
        sources[n] = Source(operands[1].elements[n], Bits(whole / parts));
      }
      const int32_t d = Destination(operands[0], types[0]);
      Instruction& in = Emit(CombineHalves(parts));
      std::copy(std::begin(sources), std::end(sources), in.s);
      in.d = d;
      in.flags = static_cast<uint32_t>(whole / parts);
      Finish();
      return true;
    }
    if (operands[0].kind != PtxOperand::kVector) return false;
    const auto parts = static_cast<int>(operands[0].elements.size());
    const int32_t from = Source(operands[1], types[0]);
    for (int n = 0; n < parts; ++n) {
      if (operands[0].elements[n].kind == PtxOperand::kSink) continue;
      const int32_t d = Destination(operands[0].elements[n], Bits(whole / parts));
      Instruction& in = Emit(TakePart());
      in.s[0] = from;
      in.d = d;
      in.d2 = whole;
      in.offset = n;
      in.flags = static_cast<uint32_t>(whole / parts);
      Finish();
    }
    return true;
  }

  struct Widening {
    int32_t from;
    Type type;
    int32_t to;
    int bytes;
  };

  const PtxFunction& source_;
  const Symbols& symbols_;
  const std::vector<uint64_t>& shared_;  // places of shared variables
  const Program& program_;
  Function* out_;
  const PtxStatement* statement_ = nullptr;
  std::string error_;
  std::vector<int32_t> places_;  // of registers
  std::vector<Type> types_;
  int32_t carry_ = 0;
  std::map<std::pair<uint64_t, int>, int32_t> constants_;
  std::vector<size_t> loads_;                      // places in the code
  std::set<std::pair<int32_t, int64_t>> swapped_;  // addresses of compare-and-swaps
  std::vector<Widening> widen_;
};

class Translator {
 public:
  Translator(const PtxModule& module, const PlaceVariable& place, Program* program,
             std::string* error)
      : module_(module), place_(place), program_(program), error_(error) {}

  bool Run() {
    DeclareFunctions();
    PlaceShared();
    if (!PlaceGlobals()) return false;
    std::vector<std::vector<uint64_t>> offsets(module_.functions.size());
    for (size_t n = 0; n < module_.functions.size(); ++n) {
      FunctionTranslator::PlaceVariables(module_.functions[n], &program_->functions[n],
                                         &offsets[n]);
    }
    for (size_t n = 0; n < module_.functions.size(); ++n) {
      if (!module_.functions[n].defined) continue;
      FunctionTranslator translator(module_.functions[n], symbols_, shared_[n], *program_,
                                    &program_->functions[n]);
      translator.offsets = std::move(offsets[n]);
      if (!translator.Run(error_)) return false;
    }
    return true;
  }

 private:
  void DeclareFunctions() {
    for (size_t n = 0; n < module_.functions.size(); ++n) {
      const PtxFunction& source = module_.functions[n];
      Function function;
      function.name = source.name;
      function.entry = source.entry;
      function.defined = source.defined;
      std::copy(std::begin(source.required), std::end(source.required), function.required);
      function.most_threads = source.most_threads;
      program_->functions.push_back(std::move(function));
      symbols_[source.name] = {Symbol::kFunction, kFunctionWindow + n};
    }
  }

  // Variables of a fixed size come first, so that the launch's share begins where they end.
  void PlaceShared() {
    uint64_t& bytes = program_->shared_bytes;
    const auto place = [&](const PtxVariable& variable) {
      bytes = AlignUp(bytes, variable.align);
      bytes += variable.bytes;
      return bytes - variable.bytes;
    };
    shared_.resize(module_.functions.size());
    for (size_t n = 0; n < module_.functions.size(); ++n) {
      for (const PtxVariable& variable : module_.functions[n].variables) {
        shared_[n].push_back(variable.space == Space::kShared ? place(variable) : 0);
      }
    }
    for (const PtxVariable& variable : module_.variables) {
      if (variable.space != Space::kShared || variable.bytes == 0) continue;
      symbols_[variable.name] = {Symbol::kShared, place(variable)};
    }
    bytes = AlignUp(bytes, 16);
    for (const PtxVariable& variable : module_.variables) {
      if (variable.space != Space::kShared || variable.bytes != 0) continue;
      symbols_[variable.name] = {Symbol::kShared, bytes};
    }
  }

  bool PlaceGlobals() {
    std::vector<std::pair<const PtxVariable*, uint8_t*>> placed;
    for (const PtxVariable& variable : module_.variables) {
      if (variable.space == Space::kShared) continue;
      uint64_t address = 0;
      uint8_t* host = nullptr;
      if (variable.external) return Fail("the external variable '" + variable.name + "'");
      if (!place_(variable, &address, &host)) return Fail("no memory for " + variable.name);
      std::memcpy(host, variable.initial.data(), variable.initial.size());
      symbols_[variable.name] = {Symbol::kAddress, address};
      program_->globals.push_back({variable.name, address, variable.bytes});
      placed.emplace_back(&variable, host);
    }
    for (const auto& [variable, host] : placed) {
      for (const PtxAddress& word : variable->addresses) {
        const auto found = symbols_.find(word.symbol);
        if (found == symbols_.end()) return Fail("'" + word.symbol + "' is not declared");
        const uint64_t value = found->second.value + word.offset;
        std::memcpy(host + word.at, &value, word.bytes);
      }
    }
    return true;
  }

  bool Fail(const std::string& what) {
    *error_ = "line 1: " + what;
    return false;
  }

  const PtxModule& module_;
  const PlaceVariable& place_;
  Program* program_;
  std::string* error_;
  Symbols symbols_;
  std::vector<std::vector<uint64_t>> shared_;  // by function and variable
};

}  // namespace

bool TranslatePtx(const PtxModule& module, const PlaceVariable& place, Program* program,
                  std::string* error) {
  return Translator(module, place, program, error).Run();
}

}  // namespace kiln::fake_cuda
