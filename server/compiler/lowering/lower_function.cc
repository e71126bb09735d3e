// Functions of a kernel, and calls of them.
//
// Arguments are passed in pieces, a large tensor as the address of the caller's array; so
// are results, but for large tensors: the caller makes their arrays and passes where they
// are, after all arguments.
#include "server/compiler/lowering/lowering.h"

namespace kiln {

namespace {

// The scalars and tensors of the results, in order.
void ForEachResult(const proto::Function& function, const TypeTable& types,
                   llvm::function_ref<void(const Type&)> visit) {
  for (const uint32_t type : function.returns()) ForEachTensor(types, type, visit);
}

llvm::SmallVector<mlir::Type> ResultTypes(const proto::Function& function, const TypeTable& types,
                                          mlir::MLIRContext* context) {
  llvm::SmallVector<mlir::Type> results;
  ForEachResult(function, types, [&](const Type& type) {
    if (!IsLarge(type)) results.append(type.NumElements(), ValueType(context, type.scalar));
  });
  return results;
}

// What a function's block takes.
llvm::SmallVector<mlir::Type> ArgumentTypes(const proto::Function& function, const TypeTable& types,
                                            mlir::MLIRContext* context) {
  llvm::SmallVector<mlir::Type> arguments;
  const auto address = [&](const Type& type) {
    return ir::AddrType::get(context, ValueType(context, type.scalar));
  };
  for (const proto::Param& param : function.params()) {
    const bool by_reference = param.kind() == proto::Param::PARAM_REFERENCE;
    ForEachTensor(types, param.type(), [&](const Type& type) {
      if (by_reference || IsLarge(type)) {
        arguments.push_back(address(type));
      } else {
        arguments.append(type.NumElements(), ValueType(context, type.scalar));
      }
    });
  }
  ForEachResult(function, types, [&](const Type& type) {
    if (IsLarge(type)) arguments.push_back(address(type));
  });
  return arguments;
}

}  // namespace

void LowerFunction(const proto::CompileUnit& unit, uint32_t number, const TypeTable& types,
                   const ArgumentLayout& layout, const LoweredStorages& storages,
                   const std::vector<uint32_t>& nodes, mlir::OpBuilder builder,
                   std::vector<proto::Diagnostic>* diagnostics) {
  const proto::Function& function = FunctionAt(unit, number);
  mlir::MLIRContext* context = builder.getContext();
  mlir::Location loc = builder.getUnknownLoc();
  const auto results = ResultTypes(function, types, context);
  auto op = builder.create<ir::FunctionOp>(loc, number - 1, builder.getTypeArrayAttr(results));
  mlir::Block& body = op.getBodyRegion().emplaceBlock();
  for (mlir::Type type : ArgumentTypes(function, types, context)) body.addArgument(type, loc);
  Lowering(unit, number, types, layout, storages, mlir::OpBuilder::atBlockEnd(&body), diagnostics)
      .LowerFunction(nodes);
}

void Lowering::LowerFunction(const std::vector<uint32_t>& nodes) {
  mlir::Block& body = *b_.getInsertionBlock();
  const mlir::Block::BlockArgListType given = body.getArguments();
  size_t next = 0;
  for (const proto::Param& param : function_.params()) {
    Scalars& pieces = arguments_.emplace_back();
    for (uint64_t i = NumPieces(param.type()); i > 0; --i) pieces.push_back(given[next++]);
  }
  for (; next < given.size(); ++next) result_arrays_.push_back(given[next]);
  FindDynamicLocals(nodes);
  if (function_.blocks_size() > 0) FindDeferred(0);
  if (function_.blocks_size() > 0) LowerBlock(0);
  if (Terminated()) return;
  // Control may reach the end of a function with results: then they are zero.
  Scalars zeros;
  auto array = result_arrays_.begin();
  ForEachResult(function_, types_, [&](const Type& type) {
    if (IsLarge(type)) {
      b_.create<ir::ZeroOp>(loc_, type.NumElements(), *array++);
    } else {
      zeros.append(type.NumElements(), EmitConstant(b_, loc_, type.scalar, 0));
    }
  });
  b_.create<ir::ReturnOp>(loc_, zeros);
}

void Lowering::ReturnFromFunction(const Node& node) {
  Scalars values;
  auto array = result_arrays_.begin();
  for (int i = 0; i < node.operands_size(); ++i) {
    const Scalars& pieces = Operand(node, i);
    auto piece = pieces.begin();
    ForEachTensor(types_, function_.nodes(node.operands(i)).type(), [&](const Type& type) {
      if (!IsLarge(type)) {
        values.append(piece, piece + type.NumElements());
        piece += type.NumElements();
        return;
      }
      mlir::Value from = *piece++, to = *array++;
      Repeat(type.NumElements(), [&](const Index& at) {
        b_.create<ir::StoreOp>(loc_, LoadFrom(from, at), ElementOf(to, at));
      });
    });
  }
  b_.create<ir::ReturnOp>(loc_, values);
}

Place Lowering::Reference(const Node& node) {
  roots_.push_back(std::make_unique<Root>());
  Root* root = roots_.back().get();
  root->scalars = &ScalarsOf(node.type());
  root->cells.assign(1, arguments_[node.index()][0]);
  return {root, 0, 1, {}};
}

// The address of a scalar; where it is one of several nodes' cells, chosen at run time, or some
// bits of a word, of a copy that is written back.
mlir::Value Lowering::ReferenceTo(const Place& place, llvm::SmallVectorImpl<Copy>* copies) {
  const bool has_address =
      !IsScattered(place) && place.root->word == nullptr && place.root->parts.empty();
  if (has_address) return AddressOf(place, 0);
  const Scalar scalar = (*place.root->scalars)[place.first];
  mlir::Value local = b_.create<ir::LocalOp>(loc_, ir::AddrType::get(context_, TypeOf(scalar)));
  b_.create<ir::StoreOp>(loc_, LoadAt(place, {}, scalar), local);
  copies->push_back({&place, local});
  return local;
}

Scalars Lowering::Call(const Node& node) {
  const proto::Function& callee = unit_.kernel().functions(static_cast<int>(node.index()));
  Scalars arguments;
  llvm::SmallVector<Copy> copies;
  for (int i = 0; i < callee.params_size(); ++i) {
    if (callee.params(i).kind() == proto::Param::PARAM_REFERENCE) {
      arguments.push_back(ReferenceTo(places_[node.operands(i)], &copies));
    } else {
      arguments.append(Operand(node, i));
    }
  }
  Scalars arrays;
  ForEachResult(callee, types_, [&](const Type& type) {
    if (IsLarge(type)) arrays.push_back(NewArray(type.scalar, type.NumElements()));
  });
  arguments.append(arrays);
  auto call =
      b_.create<ir::CallOp>(loc_, ResultTypes(callee, types_, context_), node.index(), arguments);
  for (const Copy& copy : copies) {
    mlir::Type type = llvm::cast<ir::AddrType>(copy.local.getType()).getPointee();
    StoreAt(*copy.place, {}, b_.create<ir::LoadOp>(loc_, type, copy.local));
  }
  Scalars pieces;
  auto scalar = call.getResults().begin();
  auto array = arrays.begin();
  ForEachResult(callee, types_, [&](const Type& type) {
    if (IsLarge(type)) {
      pieces.push_back(*array++);
    } else {
      for (uint64_t i = type.NumElements(); i > 0; --i) pieces.push_back(*scalar++);
    }
  });
  return pieces;
}

}  // namespace kiln
