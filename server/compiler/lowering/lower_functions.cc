#include "server/compiler/lowering/lower_functions.h"

#include "server/compiler/lowering/addresses.h"
#include "server/compiler/lowering/arrays.h"
#include "server/compiler/lowering/large_tensors.h"
#include "server/compiler/lowering/lower_block.h"
#include "server/compiler/lowering/lower_memory.h"
#include "server/compiler/lowering/lower_places.h"
#include "server/compiler/lowering/pieces.h"

namespace kiln {

namespace {

// Calls `visit` with the scalars and tensors of the results, in order.
void ForEachResult(const proto::Function& function, const TypeTable& types,
                   llvm::function_ref<void(const Type&)> visit) {
  for (TypeId type : ReturnTypesOf(function)) ForEachTensor(types, type, visit);
}

llvm::SmallVector<mlir::Type> ResultTypes(const proto::Function& function, const TypeTable& types,
                                          mlir::MLIRContext* context) {
  llvm::SmallVector<mlir::Type> results;
  ForEachResult(function, types, [&](const Type& type) {
    if (!IsLarge(type)) results.append(type.NumElements(), ValueType(context, type.scalar));
  });
  return results;
}

// The types of the arguments of a function's block.
llvm::SmallVector<mlir::Type> ArgumentTypes(const proto::Function& function, const TypeTable& types,
                                            mlir::MLIRContext* context) {
  llvm::SmallVector<mlir::Type> arguments;
  const auto address = [&](const Type& type) {
    return ir::AddrType::get(context, ValueType(context, type.scalar));
  };
  for (const proto::Param& param : function.params()) {
    const bool by_reference = param.kind() == proto::Param::PARAM_REFERENCE;
    ForEachTensor(types, TypeOfParam(param), [&](const Type& type) {
      // Large tensors stay in memory: thousands of arguments would take LLVM minutes.
      if (by_reference || IsLarge(type)) {
        arguments.push_back(address(type));
      } else {
        arguments.append(type.NumElements(), ValueType(context, type.scalar));
      }
    });
  }
  ForEachResult(function, types, [&](const Type& type) {
    // The caller's arrays for large results, after all parameters.
    if (IsLarge(type)) arguments.push_back(address(type));
  });
  return arguments;
}

// Assigns the block's arguments to parameters and result arrays, in the order of ArgumentTypes.
void TakeArguments(LoweringContext& c) {
  const mlir::Block::BlockArgListType given = c.b.getInsertionBlock()->getArguments();
  size_t next = 0;
  for (const proto::Param& param : c.function.params()) {
    Scalars pieces;
    for (uint64_t i = NumPieces(c.types, TypeOfParam(param)); i > 0; --i) {
      pieces.push_back(given[next++]);
    }
    c.arguments.Add(std::move(pieces));
  }
  for (; next < given.size(); ++next) c.result_arrays.push_back(given[next]);
}

// Control may reach the end of a function that has results. The results are zeros then, so that
// code which the user believes unreachable has a defined result.
void ReturnZeros(LoweringContext& c) {
  Scalars zeros;
  const auto* array = c.result_arrays.begin();
  ForEachResult(c.function, c.types, [&](const Type& type) {
    if (IsLarge(type)) {
      c.Create<ir::ZeroOp>(type.NumElements(), *array++);
    } else {
      zeros.append(type.NumElements(), EmitConstant(c.b, c.loc, type.scalar, 0));
    }
  });
  c.Create<ir::ReturnOp>(zeros);
}

// A copy of a scalar that is passed by reference but has no address: one of several nodes' cells,
// bits of a word, a part of a join. The call writes it back.
struct Copy {
  const Place* place;
  mlir::Value local;
};

mlir::Value ReferenceTo(LoweringContext& c, const Place& place,
                        llvm::SmallVectorImpl<Copy>* copies) {
  const Root& root = *place.root;
  if (!IsScattered(c, place) && !root.InWord() && !root.IsJoin()) return AddressOf(c, place);
  const Scalar scalar = (*root.scalars)[place.first];
  mlir::Value local = c.Create<ir::LocalOp>(c.AddressTypeOf(scalar));
  c.Create<ir::StoreOp>(LoadAt(c, place, {}, scalar), local);
  copies->push_back({&place, local});
  return local;
}

void WriteBack(LoweringContext& c, const Copy& copy) {
  mlir::Type type = llvm::cast<ir::AddrType>(copy.local.getType()).getPointee();
  StoreAt(c, *copy.place, {}, c.Create<ir::LoadOp>(type, copy.local));
}

}  // namespace

void LowerFunction(const UnitLowering& in, FunctionId id, mlir::OpBuilder builder) {
  const proto::Function& function = FunctionAt(in.unit.kernel(), id);
  const TypeTable& types = in.checked.types;
  mlir::MLIRContext* context = builder.getContext();
  mlir::Location loc = builder.getUnknownLoc();
  auto op = builder.create<ir::FunctionOp>(
      loc, PositionOf(id), builder.getTypeArrayAttr(ResultTypes(function, types, context)));
  mlir::Block& body = op.getBodyRegion().emplaceBlock();
  for (mlir::Type type : ArgumentTypes(function, types, context)) body.addArgument(type, loc);
  LoweringContext c(in, id, mlir::OpBuilder::atBlockEnd(&body));
  TakeArguments(c);
  FindDynamicLocals(c, in.checked.nodes[id]);
  if (function.blocks_size() > 0) LowerBlock(c, kFunctionBody);
  if (!c.Terminated()) ReturnZeros(c);
}

void ReturnFromFunction(LoweringContext& c, ReturnNode node) {
  Scalars values;
  const auto* array = c.result_arrays.begin();
  for (NodeId id : node.values()) {
    const Scalars& pieces = c.tensors->Value(id);
    const auto* piece = pieces.begin();
    ForEachTensor(c.types, c.TypeIdOf(id), [&](const Type& type) {
      if (!IsLarge(type)) {
        values.append(piece, piece + type.NumElements());
        piece += type.NumElements();
        return;
      }
      // The caller's array: the function's own does not outlive it.
      mlir::Value from = *piece++, to = *array++;
      Repeat(c, type.NumElements(), [&](const Index& at) {
        mlir::Value address = ElementOf(c, to, at);
        c.Create<ir::StoreOp>(LoadFrom(c, from, at), address);
      });
    });
  }
  c.Create<ir::ReturnOp>(values);
}

void Lower(LoweringContext& c, ReferenceNode node) {
  Root* root = c.NewRoot(node.type());
  // A reference is the address of one scalar, made by the caller.
  root->cells.assign(1, c.arguments[node.param()][0]);
  c.places[node.id()] = {root, 0, 1, {}};
}

Scalars Lower(LoweringContext& c, CallNode node) {
  const proto::Function& callee = FunctionAt(c.unit.kernel(), node.function());
  Scalars arguments;
  llvm::SmallVector<Copy> copies;
  for (int i = 0; i < callee.params_size(); ++i) {
    const NodeId given = node.arguments()[i];
    if (callee.params(i).kind() == proto::Param::PARAM_REFERENCE) {
      arguments.push_back(ReferenceTo(c, c.places[given], &copies));
    } else {
      arguments.append(c.tensors->Value(given));
    }
  }
  Scalars arrays;
  ForEachResult(callee, c.types, [&](const Type& type) {
    if (IsLarge(type)) arrays.push_back(NewArray(c, type.scalar, type.NumElements()));
  });
  arguments.append(arrays);
  auto call = c.Create<ir::CallOp>(ResultTypes(callee, c.types, c.b.getContext()),
                                   PositionOf(node.function()), arguments);
  // In order: of two references to one scalar, the last one's value stays.
  for (const Copy& copy : copies) WriteBack(c, copy);
  Scalars pieces;
  auto scalar = call.getResults().begin();
  const auto* array = arrays.begin();
  ForEachResult(callee, c.types, [&](const Type& type) {
    if (IsLarge(type)) {
      pieces.push_back(*array++);
    } else {
      for (uint64_t i = type.NumElements(); i > 0; --i) pieces.push_back(*scalar++);
    }
  });
  return pieces;
}

}  // namespace kiln
