#include "tests/support/fake_cuda/ptx_parser.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace kiln::ptx {
namespace {

struct Token {
  std::string_view text;
  uint32_t line;
};

// A mistake in the text, or something that the emulator does not have.
struct Problem {
  uint32_t line;
  std::string text;
};

bool IsWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_$%.", c);
}

std::vector<Token> Split(const std::string& text) {
  std::vector<Token> tokens;
  uint32_t line = 1;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\n') ++line;
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
    } else if (text.compare(at, 2, "//") == 0) {
      at = std::min(text.find('\n', at), text.size());
    } else if (IsWord(c)) {
      size_t end = at;
      while (end < text.size() && IsWord(text[end])) ++end;
      tokens.push_back({std::string_view(text).substr(at, end - at), line});
      at = end;
    } else if (c == '"') {
      const size_t end = std::min(text.find('"', at + 1), text.size() - 1) + 1;
      tokens.push_back({std::string_view(text).substr(at, end - at), line});
      at = end;
    } else {
      tokens.push_back({std::string_view(text).substr(at, 1), line});
      ++at;
    }
  }
  return tokens;
}

std::vector<std::string_view> Parts(std::string_view name) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('.', at), name.size());
    parts.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::optional<Type> TypeNamed(std::string_view name) {
  if (name == "pred") return Type{Kind::kPredicate, 1};
  if (name.size() < 2 || !std::isdigit(static_cast<unsigned char>(name[1]))) return {};
  const int bits = std::atoi(std::string(name.substr(1)).c_str());
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return {};
  const auto bytes = static_cast<uint8_t>(bits / 8);
  switch (name[0]) {
    case 'b':
      return Type{Kind::kBits, bytes};
    case 'u':
      return Type{Kind::kUnsigned, bytes};
    case 's':
      return Type{Kind::kSigned, bytes};
    case 'f':
      return Type{Kind::kFloat, bytes};
    default:
      return {};
  }
}

template <typename Value>
struct Row {
  std::string_view name;
  Value value;
};

template <typename Value, size_t n>
std::optional<Value> Named(const Row<Value> (&rows)[n], std::string_view name) {
  for (const Row<Value>& row : rows) {
    if (row.name == name) return row.value;
  }
  return {};
}

constexpr Row<Op> kOps[] = {
    {"abs", Op::kAbs},      {"add", Op::kAdd},     {"and", Op::kAnd},
    {"atom", Op::kAtom},    {"bfe", Op::kBfe},     {"bfi", Op::kBfi},
    {"bfind", Op::kBfind},  {"bra", Op::kBra},     {"brev", Op::kBrev},
    {"call", Op::kCall},    {"clz", Op::kClz},     {"copysign", Op::kCopysign},
    {"cos", Op::kCos},      {"cvt", Op::kCvt},     {"cvta", Op::kCvta},
    {"div", Op::kDiv},      {"ex2", Op::kEx2},     {"exit", Op::kExit},
    {"fence", Op::kFence},  {"fma", Op::kFma},     {"ld", Op::kLd},
    {"lg2", Op::kLg2},      {"mad", Op::kMad},     {"max", Op::kMax},
    {"membar", Op::kFence}, {"min", Op::kMin},     {"mov", Op::kMov},
    {"mul", Op::kMul},      {"neg", Op::kNeg},     {"not", Op::kNot},
    {"or", Op::kOr},        {"popc", Op::kPopc},   {"prmt", Op::kPrmt},
    {"rcp", Op::kRcp},      {"red", Op::kAtom},    {"rem", Op::kRem},
    {"ret", Op::kRet},      {"rsqrt", Op::kRsqrt}, {"selp", Op::kSelp},
    {"setp", Op::kSetp},    {"shf", Op::kShf},     {"shl", Op::kShl},
    {"shr", Op::kShr},      {"sin", Op::kSin},     {"sqrt", Op::kSqrt},
    {"st", Op::kSt},        {"sub", Op::kSub},     {"testp", Op::kTestp},
    {"trap", Op::kTrap},    {"xor", Op::kXor},
};
constexpr Row<Compare> kCompares[] = {
    {"eq", kEq},   {"ne", kNe},   {"lt", kLt},   {"le", kLe},   {"gt", kGt},   {"ge", kGe},
    {"lo", kLt},   {"ls", kLe},   {"hi", kGt},   {"hs", kGe},   {"equ", kEqu}, {"neu", kNeu},
    {"ltu", kLtu}, {"leu", kLeu}, {"gtu", kGtu}, {"geu", kGeu}, {"num", kNum}, {"nan", kNan},
};
constexpr Row<Update> kUpdates[] = {
    {"add", kUpAdd}, {"and", kUpAnd}, {"or", kUpOr},   {"xor", kUpXor}, {"exch", kUpExch},
    {"min", kUpMin}, {"max", kUpMax}, {"cas", kUpCas}, {"inc", kUpInc}, {"dec", kUpDec},
};
constexpr Row<Space> kSpaces[] = {
    {"global", Space::kGlobal}, {"local", Space::kLocal},   {"param", Space::kParam},
    {"const", Space::kConst},   {"shared", Space::kShared},
};
constexpr Row<Special> kSpecials[] = {
    {"%tid.x", Special::kTidX},       {"%tid.y", Special::kTidY},
    {"%tid.z", Special::kTidZ},       {"%ntid.x", Special::kNtidX},
    {"%ntid.y", Special::kNtidY},     {"%ntid.z", Special::kNtidZ},
    {"%ctaid.x", Special::kCtaidX},   {"%ctaid.y", Special::kCtaidY},
    {"%ctaid.z", Special::kCtaidZ},   {"%nctaid.x", Special::kNctaidX},
    {"%nctaid.y", Special::kNctaidY}, {"%nctaid.z", Special::kNctaidZ},
    {"%laneid", Special::kLaneId},    {"%clock64", Special::kClock},
};
// Parts of names that change nothing here: orders of memory, precision, hints. The emulator
// computes approximate functions exactly.
constexpr std::string_view kIgnored[] = {
    "lo",      "rn",      "approx",  "full", "uni",     "volatile", "nc",  "relaxed", "acquire",
    "release", "acq_rel", "sc",      "gpu",  "cta",     "sys",      "gl",  "L1",      "noftz",
    "proxy",   "weak",    "aligned", "sync", "unified", "L2",       "b4e", "param",
};

class Parser {
 public:
  explicit Parser(const std::string& text) : tokens_(Split(text)), module_(new Module) {}

  std::unique_ptr<Module> Run() {
    while (at_ < tokens_.size()) TopLevel();
    for (auto& [name, function] : module_->functions) {
      for (Instruction& i : function->code) {
        if (i.op == Op::kCall && i.callee->code.empty()) {
          throw Problem{i.line, "a call of " + i.callee->name + ", which is not defined"};
        }
      }
    }
    return std::move(module_);
  }

 private:
  struct Scope {
    Function* function = nullptr;
    std::map<std::string, int32_t> registers;
    std::map<std::string, Place> own;   // parameters and result
    std::map<std::string, Place> call;  // those of calls, as declared last
    std::map<std::string, int64_t> local;
    std::map<std::string, int32_t> labels;
    std::vector<std::pair<size_t, std::string>> jumps;
  };

  [[noreturn]] void Fail(const std::string& text) const {
    throw Problem{at_ < tokens_.size() ? tokens_[at_].line : tokens_.back().line, text};
  }
  std::string_view Peek() const { return at_ < tokens_.size() ? tokens_[at_].text : ""; }
  std::string_view Take() {
    if (at_ >= tokens_.size()) Fail("the text ends early");
    return tokens_[at_++].text;
  }
  bool Skip(std::string_view text) {
    if (Peek() != text) return false;
    ++at_;
    return true;
  }
  void Expect(std::string_view text) {
    if (!Skip(text))
      Fail("'" + std::string(text) + "' expected, not '" + std::string(Peek()) + "'");
  }
  int64_t TakeInteger() {
    const bool negative = Skip("-");
    const auto number =
        static_cast<int64_t>(std::strtoull(std::string(Take()).c_str(), nullptr, 0));
    return negative ? -number : number;
  }

  void TopLevel();
  void SkipLine() {
    const uint32_t line = tokens_[at_].line;
    while (at_ < tokens_.size() && tokens_[at_].line == line) ++at_;
  }
  void TakeFunction(bool is_entry);
  void TakeVariable();
  Place TakeParameter(std::string* name, int64_t* bytes);
  void TakeBody(Scope* scope);
  void TakeDeclaration(Scope* scope);
  void TakeInstruction(Scope* scope);
  void TakeName(std::string_view name, Instruction* out);
  void TakeCall(Scope* scope, Instruction* out);
  Operand TakeOperand(Scope* scope);
  std::vector<Operand> TakeOperands(Scope* scope);
  Operand Symbol(Scope* scope, const std::string& name);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::unique_ptr<Module> module_;
  std::map<std::string, size_t> variables_;
};

void Parser::TopLevel() {
  const std::string_view word = Peek();
  if (word == ".version" || word == ".target" || word == ".address_size" || word == ".file") {
    return SkipLine();
  }
  if (word == ".visible" || word == ".weak" || word == ".extern" || word == ".common") {
    ++at_;
  } else if (word == ".entry" || word == ".func") {
    ++at_;
    TakeFunction(word == ".entry");
  } else if (word == ".global" || word == ".const") {
    ++at_;
    TakeVariable();
  } else if (word == ".section") {
    while (!Skip("}")) ++at_;
  } else {
    Fail("the emulator does not know '" + std::string(word) + "' here");
  }
}

// .align 4 .b8 name[24] = {1, 2};
void Parser::TakeVariable() {
  Variable variable;
  Type type;
  while (Peek()[0] == '.') {
    const std::string_view word = Take().substr(1);
    if (word == "align") {
      TakeInteger();
    } else if (const auto found = TypeNamed(word)) {
      type = *found;
    }
  }
  variable.name = Take();
  int64_t count = 1;
  if (Skip("[")) {
    count = Peek() == "]" ? 0 : TakeInteger();
    Expect("]");
  }
  variable.bytes.resize(count * type.bytes);
  if (Skip("=")) {
    const bool several = Skip("{");
    size_t to = 0;
    do {
      const int64_t value = TakeInteger();
      if (to + type.bytes > variable.bytes.size()) Fail("too many values");
      std::memcpy(&variable.bytes[to], &value, type.bytes);
      to += type.bytes;
    } while (several && Skip(","));
    if (several) Expect("}");
  }
  Expect(";");
  variables_[variable.name] = module_->variables.size();
  module_->variables.push_back(std::move(variable));
}

// .param .align 8 .b8 name[64]
Place Parser::TakeParameter(std::string* name, int64_t* bytes) {
  int64_t align = 0;
  Type type;
  while (Peek()[0] == '.') {
    const std::string_view word = Take().substr(1);
    if (word == "align") {
      align = TakeInteger();
    } else if (const auto found = TypeNamed(word)) {
      type = *found;
    }
  }
  *name = Take();
  int64_t size = type.bytes;
  if (Skip("[")) {
    size *= TakeInteger();
    Expect("]");
  }
  align = std::max<int64_t>({align, type.bytes, 1});
  const int64_t offset = (*bytes + align - 1) / align * align;
  *bytes = offset + size;
  return {offset, size};
}

void Parser::TakeFunction(bool is_entry) {
  Scope scope;
  auto made = std::make_unique<Function>();
  made->is_entry = is_entry;
  std::string name;
  if (!is_entry && Skip("(")) {
    made->result = TakeParameter(&name, &made->own_bytes);
    scope.own[name] = made->result;
    Expect(")");
  }
  made->name = Take();
  if (Skip("(")) {
    while (!Skip(")")) {
      const Place place = TakeParameter(&name, &made->own_bytes);
      made->parameters.push_back(place);
      scope.own[name] = place;
      Skip(",");
    }
  }
  // A declaration first, and the definition later, are one function: calls refer to it.
  std::unique_ptr<Function>& known = module_->functions[made->name];
  if (known == nullptr) {
    known = std::move(made);
  } else {
    *known = std::move(*made);
  }
  scope.function = known.get();
  while (Peek() != "{" && Peek() != ";") {
    const std::string_view word = Take();
    if (word == ".maxntid" || word == ".reqntid") {
      uint32_t threads = 1;
      do threads *= static_cast<uint32_t>(TakeInteger());
      while (Skip(","));
      known->most_threads = threads;
    }
  }
  if (Skip(";")) return;
  Expect("{");
  TakeBody(&scope);
  Function& f = *scope.function;
  for (const auto& [instruction, label] : scope.jumps) {
    const auto found = scope.labels.find(label);
    if (found == scope.labels.end()) throw Problem{f.code[instruction].line, "no label " + label};
    f.code[instruction].target = found->second;
  }
  Instruction end;  // a body may end without one
  end.op = Op::kRet;
  f.code.push_back(end);
}

void Parser::TakeBody(Scope* scope) {
  while (!Skip("}")) {
    const std::string_view word = Peek();
    if (Skip("{")) {
      TakeBody(scope);  // of a call
    } else if (word == ".loc" || word == ".pragma") {
      SkipLine();
    } else if (word[0] == '.') {
      TakeDeclaration(scope);
    } else if (at_ + 1 < tokens_.size() && tokens_[at_ + 1].text == ":") {
      scope->labels[std::string(word)] = static_cast<int32_t>(scope->function->code.size());
      at_ += 2;
    } else {
      TakeInstruction(scope);
    }
  }
}

void Parser::TakeDeclaration(Scope* scope) {
  Function& f = *scope->function;
  const std::string_view word = Take();
  if (word == ".reg") {
    const std::optional<Type> type = TypeNamed(Take().substr(1));
    if (!type) Fail("a register's type expected");
    do {
      const std::string name(Take());
      if (Skip("<")) {
        const int64_t count = TakeInteger();
        Expect(">");
        for (int64_t n = 0; n < count; ++n) {
          scope->registers[name + std::to_string(n)] =
              static_cast<int32_t>(f.register_bytes.size());
          f.register_bytes.push_back(type->bytes);
        }
      } else {
        scope->registers[name] = static_cast<int32_t>(f.register_bytes.size());
        f.register_bytes.push_back(type->bytes);
      }
    } while (Skip(","));
  } else if (word == ".local") {
    std::string name;
    scope->local[name] = 0;
    const Place place = TakeParameter(&name, &f.local_bytes);
    scope->local[name] = place.offset;
  } else if (word == ".param") {
    std::string name;
    --at_;  // TakeParameter takes all words with a dot
    const Place place = TakeParameter(&name, &f.call_bytes);
    scope->call[name] = place;
  } else {
    Fail("the emulator does not know '" + std::string(word) + "' in functions");
  }
  Expect(";");
}

// The operation, its types and what modifies it.
void Parser::TakeName(std::string_view name, Instruction* out) {
  const std::vector<std::string_view> parts = Parts(name);
  const bool carries = parts[0] == "addc" || parts[0] == "subc" || parts[0] == "madc";
  const std::optional<Op> op = Named(kOps, parts[0].substr(0, carries ? 3 : parts[0].size()));
  if (!op) Fail("the emulator does not have '" + std::string(name) + "'");
  out->op = *op;
  Modifiers& m = out->modifiers;
  m.carry_in = carries;
  bool typed = false;
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string_view part = parts[i];
    if (const auto type = TypeNamed(part)) {
      (typed ? out->source : out->type) = *type;
      if (!typed) out->source = *type;
      typed = true;
    } else if (const auto compare = Named(kCompares, part);
               compare && (*op == Op::kSetp) && !m.compare) {
      m.compare = static_cast<uint8_t>(*compare + 1);
    } else if (const auto update = Named(kUpdates, part); update && *op == Op::kAtom) {
      m.update = *update;
    } else if (const auto space = Named(kSpaces, part)) {
      out->space = *space;
    } else if (*op == Op::kSetp && (part == "and" || part == "or" || part == "xor")) {
      m.combine = part == "and" ? '&' : part == "or" ? '|' : '^';
    } else if (part == "v2" || part == "v4") {
      m.vector = static_cast<uint8_t>(part[1] - '0');
    } else if (part == "wide") {
      m.wide = true;
    } else if (part == "hi") {
      m.high = true;
    } else if (part == "sat") {
      m.saturate = true;
    } else if (part == "ftz") {
      m.flush = true;
    } else if (part == "to") {
      m.to = true;
    } else if (part == "l") {
      m.shift_left = true;
    } else if (part == "clamp") {
      m.clamp = true;
    } else if (part == "cc") {
      m.carry_out = true;
    } else if (part == "NaN") {
      m.nan = true;
    } else if (part.size() == 3 && part[0] == 'r' && part[2] == 'i') {
      m.round = part[1];
    } else if (part == "rz" || part == "rm" || part == "rp") {
      m.direction = part[1];
    } else if (part == "finite" || part == "infinite" || part == "number" || part == "notanumber") {
      m.compare = static_cast<uint8_t>(part[0] == 'f'     ? 'f'
                                       : part[0] == 'i'   ? 'i'
                                       : part == "number" ? 'n'
                                                          : 'a');
    } else if (part == "wrap" || part == "r") {
    } else if (std::find(std::begin(kIgnored), std::end(kIgnored), part) == std::end(kIgnored)) {
      Fail("the emulator does not know '" + std::string(part) + "' of '" + std::string(name) + "'");
    }
  }
}

Operand Parser::Symbol(Scope* scope, const std::string& name) {
  Operand operand;
  if (const auto found = scope->registers.find(name); found != scope->registers.end()) {
    operand.form = Operand::kRegister;
    operand.reg = found->second;
  } else if (const auto special = Named(kSpecials, name)) {
    operand.form = Operand::kSpecial;
    operand.number = static_cast<int64_t>(*special);
  } else if (const auto own = scope->own.find(name); own != scope->own.end()) {
    operand.form = Operand::kOwnParam;
    operand.number = own->second.offset;
  } else if (const auto call = scope->call.find(name); call != scope->call.end()) {
    operand.form = Operand::kCallParam;
    operand.number = call->second.offset;
  } else if (const auto local = scope->local.find(name); local != scope->local.end()) {
    operand.form = Operand::kLocal;
    operand.number = local->second;
  } else if (const auto variable = variables_.find(name); variable != variables_.end()) {
    operand.form = Operand::kGlobal;
    operand.number = static_cast<int64_t>(variable->second) << 32;
  } else {
    Fail("nothing is called '" + name + "'");
  }
  return operand;
}

Operand Parser::TakeOperand(Scope* scope) {
  if (Skip("[")) {
    Operand address = TakeOperand(scope);
    if (Skip("+")) address.number += TakeInteger();
    Expect("]");
    return address;
  }
  Operand operand;
  const bool negative = Skip("-");
  const std::string text(Take());
  if (text.size() > 2 && text[0] == '0' &&
      (text[1] == 'f' || text[1] == 'F' || text[1] == 'd' || text[1] == 'D')) {
    operand.form = Operand::kNumber;
    operand.number = static_cast<int64_t>(std::strtoull(text.c_str() + 2, nullptr, 16));
  } else if (std::isdigit(static_cast<unsigned char>(text[0]))) {
    operand.form = Operand::kNumber;
    operand.number = static_cast<int64_t>(std::strtoull(text.c_str(), nullptr, 0));
    if (negative) operand.number = -operand.number;
  } else {
    operand = Symbol(scope, text);
  }
  return operand;
}

// One, or {several}, or a|b.
std::vector<Operand> Parser::TakeOperands(Scope* scope) {
  std::vector<Operand> operands;
  if (Skip("{")) {
    do operands.push_back(Peek() == "_" ? (Take(), Operand()) : TakeOperand(scope));
    while (Skip(","));
    Expect("}");
  } else {
    operands.push_back(TakeOperand(scope));
    if (Skip("|")) operands.push_back(TakeOperand(scope));
  }
  return operands;
}

// call.uni (retval0), f, (param0, param1);
void Parser::TakeCall(Scope* scope, Instruction* out) {
  std::vector<Place> places(1);  // the result's
  const auto take = [&] {
    const std::string name(Take());
    const auto found = scope->call.find(name);
    if (found == scope->call.end()) Fail("no parameter " + name);
    return found->second;
  };
  if (Skip("(")) {
    places[0] = take();
    Expect(")");
    Expect(",");
  }
  const std::string name(Take());
  const auto callee = module_->functions.find(name);
  if (callee == module_->functions.end()) Fail("the emulator has no calls of pointers: " + name);
  out->callee = callee->second.get();
  if (Skip(",")) {
    Expect("(");
    while (!Skip(")")) {
      places.push_back(take());
      Skip(",");
    }
  }
  scope->function->arguments[scope->function->code.size()] = places;
}

void Parser::TakeInstruction(Scope* scope) {
  Instruction out;
  out.line = tokens_[at_].line;
  if (Skip("@")) {
    out.negated = Skip("!");
    out.predicate = Symbol(scope, std::string(Take())).reg;
  }
  TakeName(Take(), &out);
  Function& f = *scope->function;
  if (out.op == Op::kBra) {
    scope->jumps.emplace_back(f.code.size(), std::string(Take()));
  } else if (out.op == Op::kCall) {
    TakeCall(scope, &out);
  } else if (Peek() != ";") {
    const bool has_result = out.op != Op::kSt && !(out.op == Op::kAtom && Peek() == "[");
    if (has_result) {
      out.to = TakeOperands(scope);
      if (Peek() != ";") Expect(",");
    }
    while (Peek() != ";") {
      for (const Operand& operand : TakeOperands(scope)) out.from.push_back(operand);
      if (!Skip(",")) break;
    }
  }
  Expect(";");
  f.code.push_back(std::move(out));
}

}  // namespace

std::unique_ptr<Module> Parse(const std::string& text, std::string* error) {
  try {
    return Parser(text).Run();
  } catch (const Problem& problem) {
    *error = "line " + std::to_string(problem.line) + ": " + problem.text;
    return nullptr;
  }
}

}  // namespace kiln::ptx
