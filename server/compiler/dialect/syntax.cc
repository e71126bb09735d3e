// Text of the ops whose blocks have named arguments: loops, ifs, tasks.
#include "mlir/IR/Builders.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln::ir {

using mlir::OpAsmParser;
using mlir::OpAsmPrinter;
using mlir::OperationState;
using mlir::ParseResult;
using Argument = OpAsmParser::Argument;
using Unresolved = OpAsmParser::UnresolvedOperand;
template <typename T>
using Vector = llvm::SmallVector<T, 4>;

// (%a = %init : f32, ...), the part after `carry`.
static ParseResult ParseCarried(OpAsmParser& parser, OperationState& result,
                                Vector<Argument>& arguments) {
  // Left out where a loop carries nothing, as most do after promotion.
  if (failed(parser.parseOptionalKeyword("carry"))) return mlir::success();
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
    // The inits are operands, the arguments belong to the region: the text shows both as pairs.
    Argument argument;
    Unresolved init;
    if (parser.parseArgument(argument) || parser.parseEqual() || parser.parseOperand(init) ||
        parser.parseColonType(argument.type) ||
        parser.resolveOperand(init, argument.type, result.operands)) {
      return mlir::failure();
    }
    arguments.push_back(argument);
    result.addTypes(argument.type);
    return mlir::success();
  });
}

static void PrintCarried(OpAsmPrinter& printer, mlir::ValueRange carried, mlir::ValueRange inits) {
  if (inits.empty()) return;
  printer << " carry (";
  llvm::interleaveComma(llvm::zip(carried, inits), printer, [&](auto pair) {
    printer << std::get<0>(pair) << " = " << std::get<1>(pair) << " : "
            << std::get<1>(pair).getType();
  });
  printer << ")";
}

static ParseResult ParseBody(OpAsmParser& parser, OperationState& result,
                             llvm::ArrayRef<Argument> arguments = {}) {
  return parser.parseRegion(*result.addRegion(), arguments);
}

static void PrintBody(OpAsmPrinter& printer, mlir::Region& region) {
  printer << " ";
  // The arguments are in the op's own text.
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

// The region where the text leaves it out: nothing but a yield.
static void AddEmpty(OpAsmParser& parser, OperationState& result, mlir::Region* region) {
  // The region is in no op yet, so the builder cannot take its context from it.
  mlir::OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(&region->emplaceBlock());
  builder.create<YieldOp>(result.location);
}

// --- for, loop -------------------------------------------------------------------

ParseResult ForOp::parse(OpAsmParser& parser, OperationState& result) {
  Argument index;
  Unresolved lower, upper;
  if (parser.parseArgument(index) || parser.parseEqual() || parser.parseOperand(lower) ||
      parser.parseKeyword("to") || parser.parseOperand(upper) ||
      parser.parseColonType(index.type) ||
      parser.resolveOperand(lower, index.type, result.operands) ||
      parser.resolveOperand(upper, index.type, result.operands)) {
    return mlir::failure();
  }
  // The index comes first among the block's arguments, the carried values after it.
  Vector<Argument> arguments = {index};
  if (ParseCarried(parser, result, arguments) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
    return mlir::failure();
  }
  return ParseBody(parser, result, arguments);
}

void ForOp::print(OpAsmPrinter& printer) {
  printer << " " << getIndex() << " = " << getLower() << " to " << getUpper() << " : "
          << getLower().getType();
  PrintCarried(printer, getCarried(), getInits());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  PrintBody(printer, getBodyRegion());
}

ParseResult LoopOp::parse(OpAsmParser& parser, OperationState& result) {
  Vector<Argument> arguments;
  if (ParseCarried(parser, result, arguments) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
    return mlir::failure();
  }
  return ParseBody(parser, result, arguments);
}

void LoopOp::print(OpAsmPrinter& printer) {
  PrintCarried(printer, getCarried(), getInits());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  PrintBody(printer, getBodyRegion());
}

llvm::SmallVector<mlir::Region*> ForOp::getLoopRegions() { return {&getBodyRegion()}; }
llvm::SmallVector<mlir::Region*> LoopOp::getLoopRegions() { return {&getBodyRegion()}; }

// --- function ---------------------------------------------------------------------

ParseResult FunctionOp::parse(OpAsmParser& parser, OperationState& result) {
  mlir::IntegerAttr number;
  Vector<Argument> arguments;
  Vector<mlir::Type> types;
  if (parser.parseAttribute(number, parser.getBuilder().getI64Type(), "number",
                            result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseOptionalArrowTypeList(types) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
    return mlir::failure();
  }
  // An attribute, since calls refer to functions by number and the op itself has no results.
  result.addAttribute("results", parser.getBuilder().getTypeArrayAttr(types));
  return ParseBody(parser, result, arguments);
}

void FunctionOp::print(OpAsmPrinter& printer) {
  printer << " " << getNumber() << " (";
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](mlir::BlockArgument a) { printer << a << " : " << a.getType(); });
  printer << ")";
  llvm::SmallVector<mlir::Type> types(getResults().getAsValueRange<mlir::TypeAttr>());
  printer.printOptionalArrowTypeList(types);
  // Without those that the text shows in its own way.
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"number", "results"});
  PrintBody(printer, getBodyRegion());
}

// --- parallel_for ----------------------------------------------------------------

// struct_for 2, where the loop or task has no bounds.
static mlir::OptionalParseResult ParseOver(OpAsmParser& parser, OperationState& result) {
  if (failed(parser.parseOptionalKeyword("struct_for"))) return std::nullopt;
  mlir::IntegerAttr over;
  return parser.parseAttribute(over, parser.getBuilder().getI64Type(), "over", result.attributes);
}

ParseResult ParallelForOp::parse(OpAsmParser& parser, OperationState& result) {
  Vector<Argument> indices;
  Vector<Unresolved> lowers, uppers;
  mlir::Type type;
  const auto kParen = OpAsmParser::Delimiter::Paren;
  if (parser.parseArgumentList(indices, kParen)) return mlir::failure();
  if (const auto over = ParseOver(parser, result); over.has_value()) {
    if (*over || parser.parseColonType(type) ||
        parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
      return mlir::failure();
    }
    for (Argument& index : indices) index.type = type;
    return ParseBody(parser, result, indices);
  }
  if (parser.parseEqual() || parser.parseOperandList(lowers, kParen) || parser.parseKeyword("to") ||
      parser.parseOperandList(uppers, kParen) || parser.parseColonType(type) ||
      parser.resolveOperands(lowers, type, result.operands) ||
      parser.resolveOperands(uppers, type, result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
    return mlir::failure();
  }
  if (lowers.size() != indices.size() || uppers.size() != indices.size()) {
    return parser.emitError(parser.getNameLoc(), "one lower and upper bound per index expected");
  }
  for (Argument& index : indices) index.type = type;
  return ParseBody(parser, result, indices);
}

void ParallelForOp::print(OpAsmPrinter& printer) {
  if (isSparse()) {
    printer << " (" << getBody().getArguments() << ") struct_for " << getOver().value_or(-1)
            << " : " << getBody().getArgument(0).getType();
    printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"over"});
    return PrintBody(printer, getBodyRegion());
  }
  printer << " (" << getBody().getArguments() << ") = (" << getLowers() << ") to (" << getUppers()
          << ") : ";
  if (getLowers().empty()) {
    // A loop without axes has no bound whose type could be printed; any type parses.
    printer << mlir::IntegerType::get(getContext(), 32);
  } else {
    printer << getLowers()[0].getType();
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  PrintBody(printer, getBodyRegion());
}

// --- if --------------------------------------------------------------------------

ParseResult IfOp::parse(OpAsmParser& parser, OperationState& result) {
  Unresolved condition;
  mlir::Type bit = parser.getBuilder().getI1Type();
  if (parser.parseOperand(condition) || parser.resolveOperand(condition, bit, result.operands) ||
      parser.parseOptionalArrowTypeList(result.types) || ParseBody(parser, result)) {
    return mlir::failure();
  }
  if (succeeded(parser.parseOptionalKeyword("else"))) {
    if (ParseBody(parser, result)) return mlir::failure();
  } else {
    AddEmpty(parser, result, result.addRegion());
  }
  return parser.parseOptionalAttrDict(result.attributes);
}

void IfOp::print(OpAsmPrinter& printer) {
  printer << " " << getCondition();
  printer.printOptionalArrowTypeList(getResultTypes());
  PrintBody(printer, getThenRegion());
  // Left out if it does nothing, and parsed as such (AddEmpty).
  auto only = llvm::dyn_cast<YieldOp>(getElseBlock().front());
  if (!only || !only.getValues().empty()) {
    printer << " else";
    PrintBody(printer, getElseRegion());
  }
  printer.printOptionalAttrDict((*this)->getAttrs());
}

// --- task.range_for ----------------------------------------------------------------

ParseResult RangeTaskOp::parse(OpAsmParser& parser, OperationState& result) {
  mlir::StringAttr name;
  const auto kParen = OpAsmParser::Delimiter::Paren;
  if (parser.parseAttribute(name, "task_name", result.attributes)) return mlir::failure();
  if (const auto over = ParseOver(parser, result); over.has_value()) {
    if (*over) return mlir::failure();
    AddEmpty(parser, result, result.addRegion());
  } else if (parser.parseKeyword("bounds") || ParseBody(parser, result)) {
    return mlir::failure();
  }
  if (parser.parseKeyword("body")) return mlir::failure();
  Vector<Argument> arguments, accumulators;
  if (parser.parseArgumentList(arguments, kParen, /*allowType=*/true) ||
      ParseBody(parser, result, arguments)) {
    return mlir::failure();
  }
  mlir::Region* finish = result.addRegion();
  Vector<mlir::Attribute> inits;
  if (succeeded(parser.parseOptionalKeyword("finish"))) {
    auto parse = [&]() -> ParseResult {
      mlir::TypedAttr init;
      if (parser.parseArgument(accumulators.emplace_back()) || parser.parseEqual() ||
          parser.parseAttribute(init)) {
        return mlir::failure();
      }
      accumulators.back().type = init.getType();
      inits.push_back(init);
      return mlir::success();
    };
    if (parser.parseCommaSeparatedList(kParen, parse) ||
        parser.parseRegion(*finish, accumulators)) {
      return mlir::failure();
    }
  } else {
    AddEmpty(parser, result, finish);
  }
  result.addAttribute("inits", parser.getBuilder().getArrayAttr(inits));
  return parser.parseOptionalAttrDictWithKeyword(result.attributes);
}

void RangeTaskOp::print(OpAsmPrinter& printer) {
  printer << " " << getTaskNameAttr();
  if (isSparse()) {
    printer << " struct_for " << getOver().value_or(-1);
  } else {
    printer << " bounds";
    PrintBody(printer, getBounds());
  }
  printer << " body (";
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](mlir::BlockArgument a) { printer << a << " : " << a.getType(); });
  printer << ")";
  PrintBody(printer, getBody());
  mlir::Block& finish = getFinish().front();
  if (finish.getNumArguments() != 0 || !llvm::isa<YieldOp>(finish.front())) {
    printer << " finish (";
    llvm::interleaveComma(llvm::zip(finish.getArguments(), getInits()), printer, [&](auto pair) {
      printer << std::get<0>(pair) << " = " << std::get<1>(pair);
    });
    printer << ")";
    PrintBody(printer, getFinish());
  }
  // Attributes that the text above contains already.
  Vector<llvm::StringRef> shown = {"task_name", "inits"};
  if (isSparse()) shown.push_back("over");
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), shown);
}

}  // namespace kiln::ir
