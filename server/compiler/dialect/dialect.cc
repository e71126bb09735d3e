#include "server/compiler/dialect/dialect.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

namespace kiln::ir {

static mlir::FailureOr<SNodeKind> ParseSNodeKind(mlir::AsmParser& parser) {
  llvm::StringRef name;
  const llvm::SMLoc at = parser.getCurrentLocation();
  if (parser.parseKeyword(&name)) return mlir::failure();
  const SNodeFacts* facts = FindSNodeKind(std::string_view(name));
  if (facts != nullptr && facts->is_level()) return facts->kind;
  return parser.emitError(at, "'") << name << "' is not a kind of SNode that a tree has";
}

}  // namespace kiln::ir

#include "server/compiler/dialect/dialect.cc.inc"
#include "server/compiler/dialect/effects.h"
#include "server/compiler/dialect/enums.cc.inc"
#define GET_TYPEDEF_CLASSES
#include "server/compiler/dialect/types.cc.inc"
#define GET_ATTRDEF_CLASSES
#include "server/compiler/dialect/attributes.cc.inc"
#define GET_OP_CLASSES
#include "server/compiler/dialect/ops.cc.inc"

mlir::arith::FastMathFlags kiln::ir::FloatFlags(bool fast_math) {
  using mlir::arith::FastMathFlags;
  if (!fast_math) return FastMathFlags::none;
  return FastMathFlags::reassoc | FastMathFlags::nsz | FastMathFlags::arcp |
         FastMathFlags::contract | FastMathFlags::afn;
}

uint32_t kiln::ir::NodeOf(mlir::Location location) {
  auto position = location->findInstanceOf<mlir::FileLineColLoc>();
  return position ? position.getLine() : 0;
}

void kiln::ir::KilnDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "server/compiler/dialect/types.cc.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "server/compiler/dialect/attributes.cc.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "server/compiler/dialect/ops.cc.inc"
      >();
}
