#include "tests/support/fake_cuda/ptx_parser.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace kiln::fake_cuda {
namespace {

struct Token {
  enum Kind { kWord, kNumber, kFloat32, kFloat64, kText, kMark, kEnd };
  Kind kind = kEnd;
  std::string text;
  uint64_t bits = 0;
  int line = 0;
};

bool InWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

// Splits the text into tokens. Words contain their dots, and "::" as in "ld.shared::cta".
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> All() {
    std::vector<Token> tokens;
    do {
      tokens.push_back(Next());
    } while (tokens.back().kind != Token::kEnd);
    return tokens;
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void SkipBlanks() {
    while (Peek() != '\0') {
      if (Peek() == '\n') ++line_;
      if (std::isspace(static_cast<unsigned char>(Peek())) != 0) {
        ++at_;
      } else if (Peek() == '/' && Peek(1) == '/') {
        while (Peek() != '\0' && Peek() != '\n') ++at_;
      } else if (Peek() == '/' && Peek(1) == '*') {
        for (at_ += 2; Peek() != '\0' && (Peek() != '*' || Peek(1) != '/'); ++at_) {
          if (Peek() == '\n') ++line_;
        }
        at_ += 2;
      } else {
        return;
      }
    }
  }

  Token Next() {
    SkipBlanks();
    Token token;
    token.line = line_;
    const char c = Peek();
    if (c == '\0') return token;
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      Number(&token);
    } else if (c == '"') {
      token.kind = Token::kText;
      for (++at_; Peek() != '\0' && Peek() != '"'; ++at_) token.text += Peek();
      ++at_;
    } else if (InWord(c)) {
      token.kind = Token::kWord;
      while (InWord(Peek()) || (Peek() == ':' && Peek(1) == ':')) {
        if (Peek() == ':') token.text += text_[at_++];
        token.text += text_[at_++];
      }
    } else {
      token.kind = Token::kMark;
      token.text = text_[at_++];
    }
    return token;
  }

  void Number(Token* token) {
    token->kind = Token::kNumber;
    const size_t start = at_;
    while (std::isalnum(static_cast<unsigned char>(Peek())) != 0 || Peek() == '.' ||
           ((Peek() == '-' || Peek() == '+') && IsDecimalExponent(start))) {
      ++at_;
    }
    token->text = text_.substr(start, at_ - start);
    const std::string& text = token->text;
    const char kind = text.size() > 1 && text[0] == '0' ? text[1] : '\0';
    if (kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D') {
      token->kind = kind == 'f' || kind == 'F' ? Token::kFloat32 : Token::kFloat64;
      token->bits = std::strtoull(text.c_str() + 2, nullptr, 16);
    } else if (kind == 'b' || kind == 'B') {
      token->bits = std::strtoull(text.c_str() + 2, nullptr, 2);
    } else if (text.find('.') != std::string::npos ||
               (kind != 'x' && kind != 'X' && text.find_first_of("eE") != std::string::npos)) {
      token->kind = Token::kFloat64;
      const double value = std::strtod(text.c_str(), nullptr);
      std::memcpy(&token->bits, &value, sizeof(value));
    } else {
      token->bits = std::strtoull(text.c_str(), nullptr, 0);
    }
  }

  bool IsDecimalExponent(size_t start) const {
    const char before = text_[at_ - 1];
    return (before == 'e' || before == 'E') && Peek(0) != '\0' && text_[start] != '0';
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

std::vector<std::string> SplitAtDots(const std::string& word) {
  std::vector<std::string> parts(1);
  for (const char c : word) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

int BytesOfType(const std::string& type) {
  if (type == "pred") return 1;
  const size_t digit = type.find_first_of("0123456789");
  const int bits = digit == std::string::npos ? 0 : std::atoi(type.c_str() + digit);
  const int bytes = bits / 8;
  return type.find("x2") != std::string::npos && bytes < 4 ? bytes * 2 : bytes;
}

class Parser {
 public:
  Parser(std::vector<Token> tokens, PtxModule* module)
      : tokens_(std::move(tokens)), module_(module) {}

  bool Run(std::string* error) {
    while (error_.empty() && Here().kind != Token::kEnd) TopLevel();
    if (error_.empty()) return true;
    *error = error_;
    return false;
  }

 private:
  const Token& Here() const { return tokens_[at_]; }
  Token Take() {
    Token token = tokens_[at_];
    if (token.kind != Token::kEnd) ++at_;
    return token;
  }
  bool Is(const char* text) const { return Here().kind != Token::kText && Here().text == text; }
  bool Accept(const char* text) {
    if (!Is(text)) return false;
    ++at_;
    return true;
  }
  void Fail(const std::string& what) {
    if (error_.empty()) error_ = "line " + std::to_string(Here().line) + ": " + what;
    at_ = tokens_.size() - 1;  // at the end, so every loop ends
  }
  void Expect(const char* text) {
    if (!Accept(text)) Fail(std::string("expected '") + text + "' before '" + Here().text + "'");
  }
  void SkipLine() {
    for (const int line = Here().line; Here().kind != Token::kEnd && Here().line == line;) ++at_;
  }

  void TopLevel() {
    bool external = false;
    while (Is(".visible") || Is(".extern") || Is(".weak") || Is(".common")) {
      external = Take().text == ".extern";
    }
    if (Is(".version") || Is(".target") || Is(".address_size") || Is(".file") || Is(".loc")) {
      SkipLine();
    } else if (Accept(".section")) {
      while (Here().kind != Token::kEnd && !Is("{")) ++at_;
      while (Here().kind != Token::kEnd && !Accept("}")) ++at_;
    } else if (Accept(".pragma")) {
      ++at_;
      Expect(";");
    } else if (Is(".func") || Is(".entry")) {
      Function();
    } else if (Is(".global") || Is(".const") || Is(".shared")) {
      for (PtxVariable& variable : Variables(/*function=*/nullptr)) {
        variable.external = external;
        module_->variables.push_back(std::move(variable));
      }
    } else {
      Fail("unknown declaration '" + Here().text + "'");
    }
  }

  // .SPACE [.align N] [.v2] .TYPE name[size] [= initialiser], name2 ... ;   or one parameter
  std::vector<PtxVariable> Variables(PtxFunction* function, bool parameter = false) {
    std::vector<PtxVariable> variables;
    PtxVariable model;
    const std::string space = Take().text;
    model.space = space == ".const"    ? Space::kConst
                  : space == ".shared" ? Space::kShared
                  : space == ".local"  ? Space::kLocal
                  : space == ".param"  ? Space::kParam
                                       : Space::kGlobal;
    int element = 0, vector = 1;
    while (Here().kind == Token::kWord && Here().text[0] == '.') {
      const std::string word = Take().text.substr(1);
      if (word == "align") {
        model.align = Take().bits;
      } else if (word == "v2" || word == "v4") {
        vector = word[1] - '0';
      } else if (word == "ptr" || word == "global" || word == "const" || word == "shared" ||
                 word == "local" || word == "attribute" || word == "managed") {
        if (word == "attribute") Fail(".attribute is not supported");
      } else {
        element = BytesOfType(word);
        if (element == 0) Fail("unknown type '." + word + "'");
      }
    }
    model.bytes = static_cast<uint64_t>(element) * vector;
    if (model.align < model.bytes && model.bytes <= 16) model.align = model.bytes;
    do {
      PtxVariable variable = model;
      variable.name = Take().text;
      ArraySize(&variable);
      if (Accept("=")) Initialiser(&variable, element);
      if (variable.initial.size() > variable.bytes) variable.bytes = variable.initial.size();
      if (function != nullptr && variable.initial.empty() == false) {
        Fail("an initialiser in a function");
      }
      variables.push_back(std::move(variable));
    } while (!parameter && Accept(","));
    if (!parameter) Expect(";");
    return variables;
  }

  void ArraySize(PtxVariable* variable) {
    if (Accept("<")) {  // .param .b32 p<4>: not emitted
      Fail("a parametrised name");
    }
    while (Accept("[")) {
      if (Accept("]")) {
        variable->bytes = 0;  // of the launch, or of the initialiser
        continue;
      }
      variable->bytes *= Take().bits;
      Expect("]");
    }
  }

  void Initialiser(PtxVariable* variable, int element) {
    if (Accept("{")) {
      while (error_.empty() && !Accept("}")) {
        Initialiser(variable, element);
        Accept(",");
      }
      return;
    }
    const size_t at = variable->initial.size();
    variable->initial.resize(at + element);
    uint64_t bits = 0;
    if (Here().kind == Token::kWord) {
      // mask(symbol) selects bytes: 0xFF(symbol). LLVM emits it for packed aggregates.
      const bool generic = Accept("generic");
      if (generic) Expect("(");
      PtxAddress address{at, Take().text, 0, element};
      if (generic) Expect(")");
      if (Accept("+")) {
        address.offset = static_cast<int64_t>(Take().bits);
      } else if (Accept("-")) {
        address.offset = -static_cast<int64_t>(Take().bits);
      }
      variable->addresses.push_back(std::move(address));
      return;
    }
    const bool negative = Accept("-");
    const Token number = Take();
    if (number.kind != Token::kNumber && number.kind != Token::kFloat32 &&
        number.kind != Token::kFloat64) {
      Fail("expected a number before '" + number.text + "'");
      return;
    }
    if (Is("(")) Fail("an initialiser with a mask of an address");
    bits = negative ? -number.bits : number.bits;
    std::memcpy(variable->initial.data() + at, &bits, element < 8 ? element : 8);
  }

  void Function() {
    PtxFunction function;
    function.entry = Take().text == ".entry";
    function.line = Here().line;
    scopes_.assign(1, {});
    if (Is("(")) function.results = Parameters(&function);
    function.name = Take().text;
    if (Is("(")) function.parameters = Parameters(&function);
    while (Here().kind == Token::kWord && Here().text[0] == '.') Directive(&function);
    if (Accept("{")) {
      function.defined = true;
      Body(&function);
    } else {
      Expect(";");
    }
    for (PtxFunction& known : module_->functions) {
      if (known.name != function.name) continue;
      if (function.defined) known = std::move(function);
      return;
    }
    module_->functions.push_back(std::move(function));
  }

  std::vector<int> Parameters(PtxFunction* function) {
    std::vector<int> parameters;
    Expect("(");
    while (error_.empty() && !Accept(")")) {
      if (Is(".reg")) {
        Fail("parameters in registers");
        break;
      }
      for (PtxVariable& variable : Variables(function, /*parameter=*/true)) {
        parameters.push_back(Declare(function, std::move(variable)));
      }
      Accept(",");
    }
    return parameters;
  }

  int Declare(PtxFunction* function, PtxVariable variable) {
    const int index = static_cast<int>(function->variables.size());
    PtxOperand operand;
    operand.kind = PtxOperand::kVariable;
    operand.index = index;
    operand.name = variable.name;
    scopes_.back()[variable.name] = operand;
    function->variables.push_back(std::move(variable));
    return index;
  }

  void Directive(PtxFunction* function) {
    const std::string word = Take().text;
    uint32_t values[3] = {1, 1, 1};
    for (int n = 0; n < 3 && Here().kind == Token::kNumber; ++n) {
      values[n] = static_cast<uint32_t>(Take().bits);
      if (!Accept(",")) break;
    }
    if (word == ".reqntid") std::memcpy(function->required, values, sizeof(values));
    if (word == ".maxntid") function->most_threads = values[0] * values[1] * values[2];
    if (word == ".pragma") {
      ++at_;
      Expect(";");
    }
  }

  void Body(PtxFunction* function) {
    scopes_.emplace_back();
    const size_t depth = scopes_.size();
    while (error_.empty()) {
      if (Accept("}")) {
        scopes_.pop_back();
        if (scopes_.size() < depth) return;
      } else if (Accept("{")) {
        scopes_.emplace_back();
      } else if (Here().kind == Token::kEnd) {
        Fail("the text ends within a function");
      } else {
        BodyItem(function);
      }
    }
  }

  void BodyItem(PtxFunction* function) {
    if (Is(".reg")) {
      Registers(function);
    } else if (Is(".local") || Is(".shared") || Is(".param")) {
      for (PtxVariable& variable : Variables(function)) Declare(function, std::move(variable));
    } else if (Is(".loc")) {
      SkipLine();
    } else if (Accept(".pragma")) {
      ++at_;
      Expect(";");
    } else if (Is(".callprototype") || Is(".branchtargets")) {
      Fail("a table without a label");
    } else if (Here().kind == Token::kWord && tokens_[at_ + 1].text == ":") {
      Label(function);
    } else {
      Statement(function);
    }
  }

  void Label(PtxFunction* function) {
    const std::string name = Take().text;
    ++at_;
    if (Accept(".branchtargets")) {
      std::vector<std::string>& table = function->tables[name];
      do {
        table.push_back(Take().text);
      } while (Accept(","));
      Expect(";");
    } else if (Accept(".callprototype")) {
      while (Here().kind != Token::kEnd && !Accept(";")) ++at_;
    } else {
      function->labels[name] = static_cast<int>(function->body.size());
    }
  }

  void Registers(PtxFunction* function) {
    ++at_;
    const std::string type = Take().text.substr(1);
    if (type == "v2" || type == "v4") Fail("registers of vectors");
    do {
      const std::string name = Take().text;
      if (Accept("<")) {
        const uint64_t count = Take().bits;
        Expect(">");
        for (uint64_t n = 0; n < count; ++n) AddRegister(function, name + std::to_string(n), type);
      } else {
        AddRegister(function, name, type);
      }
    } while (Accept(","));
    Expect(";");
  }

  void AddRegister(PtxFunction* function, const std::string& name, const std::string& type) {
    PtxOperand operand;
    operand.kind = PtxOperand::kRegister;
    operand.index = static_cast<int>(function->registers.size());
    operand.name = name;
    function->registers.push_back(type);
    scopes_.back()[name] = std::move(operand);
  }

  void Statement(PtxFunction* function) {
    PtxStatement statement;
    statement.line = Here().line;
    if (Accept("@")) {
      statement.guard_negated = Accept("!");
      const PtxOperand guard = Name(Take().text);
      if (guard.kind != PtxOperand::kRegister) Fail("a guard that is no register: " + guard.name);
      statement.guard = guard.index;
    }
    if (Here().kind != Token::kWord) Fail("expected an instruction before '" + Here().text + "'");
    statement.modifiers = SplitAtDots(Take().text);
    statement.opcode = statement.modifiers.front();
    statement.modifiers.erase(statement.modifiers.begin());
    while (error_.empty() && !Accept(";")) {
      statement.operands.push_back(Operand());
      if (!Is(";")) Expect(",");
    }
    function->body.push_back(std::move(statement));
  }

  PtxOperand Name(const std::string& name) const {
    for (size_t n = scopes_.size(); n-- > 0;) {
      const auto found = scopes_[n].find(name);
      if (found != scopes_[n].end()) return found->second;
    }
    PtxOperand operand;
    operand.kind = name == "_" ? PtxOperand::kSink : PtxOperand::kSymbol;
    operand.name = name;
    return operand;
  }

  PtxOperand List(const char* end) {
    PtxOperand list;
    list.kind = PtxOperand::kVector;
    while (error_.empty() && !Accept(end)) {
      list.elements.push_back(Operand());
      Accept(",");
    }
    return list;
  }

  PtxOperand Operand() {
    if (Accept("{")) return List("}");
    if (Accept("(")) return List(")");
    if (Accept("[")) {
      PtxOperand operand = Operand();
      Expect("]");
      operand.address = true;
      return operand;
    }
    if (Accept("!")) {
      PtxOperand operand = Operand();
      operand.negated = true;
      return operand;
    }
    const bool negative = Accept("-");
    const Token token = Take();
    PtxOperand operand;
    switch (token.kind) {
      case Token::kNumber:
        operand.kind = PtxOperand::kInteger;
        operand.bits = negative ? -token.bits : token.bits;
        return operand;
      case Token::kFloat32:
      case Token::kFloat64:
        operand.kind = token.kind == Token::kFloat32 ? PtxOperand::kFloat32 : PtxOperand::kFloat64;
        operand.bits = token.bits;
        if (negative) operand.bits ^= token.kind == Token::kFloat32 ? 1u << 31 : 1ull << 63;
        return operand;
      case Token::kWord:
        break;
      default:
        Fail("unexpected '" + token.text + "'");
        return operand;
    }
    operand = Name(token.text);
    if (Accept("|")) {
      operand.elements.push_back(Operand());
    } else if (Is("+") || Is("-")) {
      const bool minus = Take().text == "-";
      const bool second = Accept("-");  // [%r1+-4]
      const int64_t offset = static_cast<int64_t>(Take().bits);
      operand.offset = minus != second ? -offset : offset;
    }
    return operand;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  PtxModule* module_;
  std::string error_;
  std::vector<std::map<std::string, PtxOperand>> scopes_;  // of the function being parsed
};

}  // namespace

bool ParsePtx(std::string_view text, PtxModule* module, std::string* error) {
  return Parser(Lexer(text).All(), module).Run(error);
}

}  // namespace kiln::fake_cuda
